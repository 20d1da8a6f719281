"""Assertions on what was enqueued (contract, 11.2)."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any, Final, TypeAlias

from attrs import Attribute, field, frozen

from workspec.jobs.vocabulary import Envelope
from workstore.testing.envelopes import Jobs, stored_envelopes

__all__ = ["Expected", "Findings", "Jobs", "assert_enqueued", "find_enqueued"]

_LISTED_MAX: Final = 20
_SHOWN_MAX: Final = 200
_LINE: Final = ("id", "kind", "queue", "partition_key", "scheduled_at_ms", "payload")
_MATCHERS: Final = ("kind", "queue", "payload", "scheduled_at_ms", "partition_key")

_Validator: TypeAlias = Callable[[Any, "Attribute[Any]", Any], None]


def _is_of(kind: type) -> _Validator:
    """Of this very kind; True is no integer here, though it is one for Python."""

    def check(_: object, matcher: Attribute[Any], value: object) -> None:
        if not isinstance(value, kind) or (kind is int and isinstance(value, bool)):
            raise TypeError(_wrong_type(matcher.name, kind, value))

    return check


def _is_of_if_given(kind: type) -> _Validator:
    check = _is_of(kind)

    def check_given(expected: object, matcher: Attribute[Any], value: object) -> None:
        if value is not None:
            check(expected, matcher, value)

    return check_given


def _is_not_negative(_: object, matcher: Attribute[Any], value: int | None) -> None:
    if value is not None and value < 0:
        raise ValueError(f"{matcher.name} must be at least 0, not {value}")


def _wrong_type(name: str, kind: type, value: object) -> str:
    text = f"{name} must be {kind.__name__}, not {type(value).__name__}"
    if kind is bytes and isinstance(value, str):
        return f"{text}: encode it, as in {name}={value[:_SHOWN_MAX]!r}.encode()"
    return text


@frozen
class Expected:
    """A description of jobs; None asks nothing. Each matcher is compared with the *stored* value: the queue ``default``
    where none was given, the due time that the store has set, the payload after a replacement (JOB-AST-01).

    Without ``count`` at least one job must match; with it exactly so many, also 0 (JOB-AST-02).

    Raises:
        TypeError: a matcher of a wrong type. It would match nothing, and so pass where the count is 0.
        ValueError: a negative count.
    """

    kind: str = field(validator=_is_of(str))
    queue: str | None = field(default=None, kw_only=True, validator=_is_of_if_given(str))
    payload: bytes | None = field(default=None, kw_only=True, validator=_is_of_if_given(bytes))
    scheduled_at_ms: int | None = field(default=None, kw_only=True, validator=_is_of_if_given(int))
    partition_key: str | None = field(default=None, kw_only=True, validator=_is_of_if_given(str))
    count: int | None = field(default=None, kw_only=True, validator=[_is_of_if_given(int), _is_not_negative])


@frozen
class Findings:
    """What was found. It is true exactly if the expectation holds, so that neither ``assert find_enqueued(...)`` nor a
    count of 0 can deceive.

    Attributes:
        matches: the jobs that match, by id, whether or not the expectation holds.
        failure: why it does not hold (JOB-AST-04); None if it does.
    """

    matches: tuple[Envelope, ...]
    failure: str | None

    def __bool__(self) -> bool:
        return self.failure is None


def find_enqueued(jobs: Jobs, expected: Expected) -> Findings:
    """Look for jobs, and raise nothing where they are not found. Every row present counts, whatever its state;
    removed rows do not. Implements JOB-AST-01..05.

    Raises:
        TypeError: there is nothing to find jobs in, or nothing that says what to find.
    """
    if not isinstance(expected, Expected):
        raise _nothing_expected(expected)
    stored = stored_envelopes(jobs)
    matches = tuple(one for one in stored if not _differences(expected, one))
    holds = len(matches) == expected.count if expected.count is not None else bool(matches)
    return Findings(matches, None if holds else _failure(expected, len(matches), stored))


def assert_enqueued(jobs: Jobs, expected: Expected) -> list[Envelope]:
    """The jobs that match, by id. Implements JOB-AST-01..05.

    Raises:
        AssertionError: the expectation does not hold; its text says what there is instead.
        TypeError: there is nothing to find jobs in, or nothing that says what to find.
    """
    __tracebackhide__ = True  # pytest then shows the line of the test that asserted.
    findings = find_enqueued(jobs, expected)
    if findings.failure is not None:
        raise AssertionError(findings.failure)
    return list(findings.matches)


def _nothing_expected(value: object) -> TypeError:
    example = f"Expected({value[:_SHOWN_MAX]!r})" if isinstance(value, str) else 'Expected("mail")'
    return TypeError(f"what is expected must be an Expected, not a {type(value).__name__}: pass {example}")


def _given(expected: Expected) -> Iterator[tuple[str, object]]:
    for name in _MATCHERS:
        wanted = getattr(expected, name)
        if wanted is not None:
            yield name, wanted


def _differences(expected: Expected, stored: Envelope) -> list[str]:
    return [name for name, wanted in _given(expected) if getattr(stored, name) != wanted]


# --- the text of a failure


def _failure(expected: Expected, matching: int, stored: Sequence[Envelope]) -> str:
    """The nearest jobs come first, each with what it differs in: of many jobs, those explain the failure."""
    asked = ", ".join(f"{name}={_shown(wanted)}" for name, wanted in _given(expected))
    head = f"expected {_number(expected.count)} with {asked}; {matching} of {_jobs(len(stored), 'stored job')} match"
    if not stored:
        return (
            f"{head}: the store is empty. Nothing was enqueued, or all of it was removed "
            "(a job with retention_ms 0 goes when it succeeds)"
        )
    nearest = sorted(stored, key=lambda one: (len(_differences(expected, one)), one.id))
    lines = [_line(one, _differences(expected, one)) for one in nearest[:_LISTED_MAX]]
    more = len(stored) - len(lines)
    return "\n".join([f"{head}:", *lines, *([f"  and {more} more"] if more else [])])


def _number(count: int | None) -> str:
    return "at least 1 job" if count is None else f"exactly {_jobs(count, 'job')}"


def _jobs(number: int, noun: str) -> str:
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"


def _line(stored: Envelope, differing: Sequence[str]) -> str:
    members = " ".join(f"{name}={_shown(getattr(stored, name))}" for name in _LINE)
    return f"  {members} ({'differs in ' + ', '.join(differing) if differing else 'matches'})"


def _shown(value: object) -> str:
    """Quoted; bytes as text as far as they are text, with their number where they are cut."""
    if not isinstance(value, bytes):
        return repr(value)
    # A character has at most four bytes.
    text = value[: 4 * _SHOWN_MAX].decode("utf-8", errors="replace")
    if len(text) <= _SHOWN_MAX and len(value) <= 4 * _SHOWN_MAX:
        return repr(text)
    return f"{text[:_SHOWN_MAX]!r}... ({len(value)} bytes)"

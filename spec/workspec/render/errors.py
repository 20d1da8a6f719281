"""The page of the error codes: for each the checks that refuse with it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from attrs import frozen

from workspec.core.choice import Choice
from workspec.core.contract import Contract
from workspec.core.rule import Refuse, checks_of
from workspec.render.markdown import code, links, plain, table
from workspec.render.operations import choice_link, commits_text, when_text
from workspec.render.presentation import Presentation
from workspec.render.uses import anchor

PLAIN: Final = Presentation()


@frozen
class _Refusal:
    """One check, and all places that hold it: (operation, number)."""

    check: Refuse
    places: tuple[tuple[str, int], ...]


def error_codes(contract: Contract) -> tuple[str, ...]:
    """Every code that a rule gives, in the order in which operations and checks name them."""
    found = [option for refusal in _refusals(contract) for option in _options(refusal.check)]
    found += [str(unique.code) for unique in contract.uniques]
    found += [] if contract.conflict_code is None else [str(contract.conflict_code)]
    return tuple(dict.fromkeys(found))


def _options(check: Refuse) -> tuple[str, ...]:
    if isinstance(check.code, Choice):
        return tuple(str(option) for option in check.code.options)
    return (str(check.code),)


def _refusals(contract: Contract, presentation: Presentation = PLAIN) -> tuple[_Refusal, ...]:
    """Checks that say the same are one, whichever operation asks them."""
    found: dict[object, tuple[Refuse, list[tuple[str, int]]]] = {}
    for operation in contract.operations:
        for number, check in enumerate(checks_of(operation), 1):
            if isinstance(check, Refuse):
                reason = presentation.reason(check)
                same = (check.requirements, _options(check), reason, check.when.text, commits_text(check))
                found.setdefault(same, (check, []))[1].append((operation.name, number))
    return tuple(_Refusal(check, tuple(places)) for check, places in found.values())


def error_blocks(contract: Contract, presentation: Presentation) -> tuple[str, ...]:
    refusals = _refusals(contract, presentation)
    blocks = [
        "Each line is a check of the named operations, with its number there. An error commits nothing unless the line "
        "says what.",
    ]
    for name in error_codes(contract):
        blocks += (f"## {plain(name)}", _details(presentation, name), _table(contract, presentation, refusals, name))
    return tuple(blocks)


def _details(presentation: Presentation, name: str) -> str:
    keys = presentation.details.get(name)
    return "" if keys is None else f"Details: {keys}."


def _table(contract: Contract, presentation: Presentation, refusals: tuple[_Refusal, ...], name: str) -> str:
    rows = [_row(refusal, presentation) for refusal in refusals if name in _options(refusal.check)]
    rows += _commit_rows(contract, name)
    return table(("operations", "reason", "when", "or, by choice", "commits", "requirements"), rows)


def _row(refusal: _Refusal, presentation: Presentation) -> tuple[str, ...]:
    check = refusal.check
    places = [f"[{plain(name)}](operations.md#{anchor(name)}) {number}" for name, number in refusal.places]
    other = choice_link(check.code) if isinstance(check.code, Choice) else ""
    reason = code(presentation.reason(check))
    return ", ".join(places), reason, when_text(check.when), other, commits_text(check), links(check.requirements)


def _commit_rows(contract: Contract, name: str) -> Iterator[tuple[str, ...]]:
    for unique in contract.uniques:
        if unique.code == name:
            yield "at any commit", "", "another record has the same unique value", "", "", links(unique.requirements)
    if contract.conflict_code == name:
        text = "another commit on the record fell between reading and writing"
        yield "at any commit", "", text, "", "", links(contract.conflict_requirements)


def declared_with_details(contract: Contract) -> frozenset[str]:
    """The codes whose checks compute details: those of which a presentation must name the keys."""
    return frozenset(
        option
        for refusal in _refusals(contract)
        if refusal.check.details is not None
        for option in _options(refusal.check)
    )

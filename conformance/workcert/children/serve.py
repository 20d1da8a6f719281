"""``workcert serve``: a store over standard input and output, one JSON object a line. See ``serve.md``."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, Final, TextIO

from workcert.backends.protocol import Place
from workcert.backends.registry import LoadedBackend
from workcert.children.worker import BEGIN, Served
from workcert.codec import CodecError, dumps, loads, to_json
from workcert.run.calling import Answered, Observed, Refusal, Unavailable

ENDING: Final[Mapping[str, str]] = {"commit": "commit", "rollback": "roll back"}
ENDS: Final = tuple(ENDING)
NONE_OPEN: Final = "none is open; send begin first"
MEMBERS: Final = frozenset({"id", "call", "args", "at"})


def serve(
    backend: LoadedBackend, place: Path, config: Mapping[str, Any], requests: Iterable[str], answers: TextIO
) -> bool:
    """Open the store, say so, and answer one request after the other until there is none; whether it could be opened.

    The handle is closed at the end.
    """
    served = Served(backend)
    opened = served.open(Place(place, place.name), config)
    _say(answers, {"id": None, **_told(opened)})
    if not isinstance(opened, Answered):
        return False
    for line in requests:
        if line.strip():
            _say(answers, _answered(served, line))
    served.close()
    return True


def _answered(served: Served, line: str) -> dict[str, Any]:
    identity: Any = None
    try:
        request = loads(line)
        if not isinstance(request, dict):
            raise CodecError("$", "a request is an object")
        identity = request.get("id")
        return {"id": identity, **_told(_made(served, request))}
    except CodecError as error:
        return {"id": identity, "bad": str(error)}


def _made(served: Served, request: Mapping[str, Any]) -> Observed:
    stray = sorted(request.keys() - MEMBERS)
    if stray:
        raise CodecError(f"$.{stray[0]}", f"a request has the members {', '.join(sorted(MEMBERS))}")
    name, arguments, at = request.get("call"), request.get("args", {}), request.get("at")
    if not isinstance(arguments, dict):
        raise CodecError("$.args", "an object is due")
    if at is not None and type(at) is not int:
        raise CodecError("$.at", "an integer is due, or null")
    calls = served.backend.binding.calls
    if name == BEGIN or name in ENDS:
        _check_transaction(served, str(name), arguments, at)
        return served.begin() if name == BEGIN else served.end(name)
    if not isinstance(name, str) or name not in calls.calls:
        raise CodecError("$.call", f"{name!r} is no call of the contract {calls.name}")
    signature = calls.calls[name]
    if signature.inside and at is not None:
        raise CodecError("$.at", f"{name} is made inside a transaction, at the instant of its begin")
    if signature.inside and not served.in_transaction:
        raise CodecError("$.call", f"{name} is made inside a transaction, and {NONE_OPEN}")
    stray = sorted(arguments.keys() - signature.arguments.keys())
    if stray:
        raise CodecError(f"$.args.{stray[0]}", f"{name} takes {', '.join(signature.arguments) or 'no argument'}")
    missing = sorted(signature.arguments.keys() - signature.optional - arguments.keys())
    if missing:
        raise CodecError(f"$.args.{missing[0]}", f"{name} needs it")
    if calls.instant is not None and signature.timed and at is None:
        raise CodecError("$.at", f"{name} needs its instant")
    typed = signature.typed(arguments)
    refused = served.stop_clock(at)
    return refused or served.make(name, typed, at if signature.timed else None, inside=signature.inside)


def _check_transaction(served: Served, name: str, arguments: Mapping[str, Any], at: int | None) -> None:
    calls = served.backend.binding.calls
    if not any(signature.inside for signature in calls.calls.values()):
        raise CodecError("$.call", f"the contract {calls.name} has no transactions")
    if arguments or at is not None:
        raise CodecError("$.args" if arguments else "$.at", f"{name} takes nothing")
    if name == BEGIN and served.in_transaction:
        raise CodecError("$.call", "a transaction is open already; send commit or rollback before the next begin")
    if name in ENDS and not served.in_transaction:
        raise CodecError("$.call", f"there is nothing to {ENDING[name]}: {NONE_OPEN}")


def _told(observed: Observed) -> dict[str, Any]:
    match observed:
        case Answered(value):
            return {"ok": to_json(value)}
        case Refusal(code, details):
            return {"error": code, "details": to_json(details) if isinstance(details, Mapping) else None}
        case Unavailable(definite, text):
            return {"unavailable": text, "definite": definite}
    return {"crashed": observed.text}


def _say(answers: TextIO, answer: Mapping[str, Any]) -> None:
    try:
        line = dumps(answer)
    except CodecError as error:
        line = dumps({"id": answer.get("id"), "crashed": f"the answer has no JSON form: {error}"})
    print(line, file=answers, flush=True)

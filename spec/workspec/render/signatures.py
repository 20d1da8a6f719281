"""Signatures and summaries of a contract's operations, read from its ports."""

from __future__ import annotations

import inspect
from collections.abc import Iterable, Mapping
from typing import Any

from attrs import frozen


@frozen
class Signature:
    """``text``: every argument is a keyword, so the star of Python is left out."""

    text: str
    summary: str


def signatures(ports: Iterable[type[Any]]) -> Mapping[str, Signature]:
    """The public methods of these Protocols by name."""
    found: dict[str, Signature] = {}
    for port in ports:
        for name, method in vars(port).items():
            if not name.startswith("_") and inspect.isfunction(method):
                found[name] = Signature(_text(name, method), _summary(method))
    return found


def _text(name: str, method: Any) -> str:
    signature = inspect.signature(method)
    arguments = [_argument(each) for each in signature.parameters.values() if each.name != "self"]
    return f"{name}({', '.join(arguments)}) → {_type(signature.return_annotation)}"


def _argument(parameter: inspect.Parameter) -> str:
    text = f"{parameter.name}: {_type(parameter.annotation)}"
    return text if parameter.default is inspect.Parameter.empty else f"{text} = {parameter.default!r}"


def _type(annotation: Any) -> str:
    """Annotations are texts where a module postpones them, as the ports do."""
    if annotation is inspect.Signature.empty:
        return "Any"
    return annotation if isinstance(annotation, str) else getattr(annotation, "__name__", str(annotation))


def _summary(method: Any) -> str:
    """The first paragraph of the docstring, as Markdown: what docstrings write in two backticks takes one there."""
    return " ".join((inspect.getdoc(method) or "").split("\n\n")[0].split()).replace("``", "`")

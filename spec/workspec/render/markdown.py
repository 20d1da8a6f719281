"""The little Markdown that the generated pages need.

Two kinds of text come in: *prose*, which its author wrote as Markdown (requirements, choices), and *plain* text,
which only happens to hold characters that Markdown would take for its own (conditions, names, values).
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

CODE_SPAN = re.compile(r"(`+)(?:.+?)\1", re.DOTALL)
MARKUP = re.compile(r"[\\`*|\[\]]|<(?=[A-Za-z/!?])|(?<!\w)_|_(?!\w)|&(?=#?\w+;)")
PROSE_MARKUP = re.compile(r"<(?=[A-Za-z/!?])")


def plain(text: object) -> str:
    """Text that must appear as it is. A ``<`` before a blank stays: only before a letter does it begin a tag."""
    return _one_line(MARKUP.sub(lambda found: "\\" + found.group(), str(text)))


def prose(text: str) -> str:
    """Markdown for a table cell: bars are escaped everywhere, what looks like a tag outside of code."""
    parts: list[str] = []
    end = 0
    for span in CODE_SPAN.finditer(text):
        parts += (_no_tags(text[end : span.start()]), span.group())
        end = span.end()
    return _one_line("".join((*parts, _no_tags(text[end:]))).replace("|", "\\|"))


def _no_tags(text: str) -> str:
    return PROSE_MARKUP.sub("\\\\<", text)


def code(text: object) -> str:
    """A code span, also of text with backticks or bars."""
    inner = _one_line(str(text)).replace("|", "\\|")
    if not inner:
        return ""
    fence = "`" * (max((len(run) for run in re.findall("`+", inner)), default=0) + 1)
    blank = " " if "`" in inner else ""
    return f"{fence}{blank}{inner}{blank}{fence}"


def codes(texts: Iterable[object]) -> str:
    return ", ".join(code(text) for text in texts)


def _one_line(text: str) -> str:
    return " ".join(text.split())


def table(headers: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Cells must be escaped already; a column whose cells are all empty is left out.

    Raises:
        ValueError: a row with more or fewer cells than there are headers.
    """
    body = [tuple(row) for row in rows]
    for row in body:
        if len(row) != len(headers):
            raise ValueError(f"a row of {len(row)} cells under {len(headers)} headers: {row}")
    kept = [column for column in range(len(headers)) if any(row[column] for row in body)]
    lines = [_line(headers[column] for column in kept), _line("---" for _ in kept)]
    lines += [_line(row[column] for column in kept) for row in body]
    return "\n".join(lines)


def _line(cells: Iterable[str]) -> str:
    return f"| {' | '.join(cells)} |"


def links(requirements: Iterable[str]) -> str:
    """Requirement ids as reference links, which `finished` defines: the source of a page stays readable."""
    return " ".join(f"[{identifier}]" for identifier in dict.fromkeys(requirements))


GENERATED = "Generated from the specification by `workcert tables`; do not edit."
"""Stands in every generated file, so that no other file is ever taken for one."""


def finished(title: str, blocks: Iterable[str], identifiers: Iterable[str], page: str) -> str:
    """A whole page: title, blocks, how it came about, and where each id that it names is explained."""
    body = "\n\n".join(block for block in blocks if block)
    named = [identifier for identifier in identifiers if f"[{identifier}]" in body]
    there = "" if page == "requirements.md" else "requirements.md"
    text = f"# {title}\n\n{body}\n\n*{GENERATED}*\n"
    if not named:
        return text
    return text + "\n" + "".join(f"[{name}]: {there}#{name.lower()}\n" for name in named)

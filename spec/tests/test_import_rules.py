"""Which part may import which, read from the source: dependencies point one way, and the specification does no I/O.

Known limit: an import by a text (`importlib`) is not seen. The specification may not import `importlib`; the kit loads
what its user names.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
SOURCES = {"workspec": ROOT / "spec", "workstore": ROOT / "impl", "workcert": ROOT / "conformance"}
PURE = {
    *("__future__", "abc", "ast", "base64", "collections", "copy", "dataclasses", "difflib", "enum", "functools"),
    *(
        "hashlib",
        "html",
        "inspect",
        "itertools",
        "json",
        "math",
        "operator",
        "re",
        "string",
        "textwrap",
        "types",
        "typing",
    ),
    *("unicodedata", "xml.sax.saxutils", "attrs", "attr"),
}
"""All that the specification may import beside itself: no clock, no randomness, no file, socket or process."""
IMPURE_CALLS = {"open", "input", "print", "exec", "eval", "__import__", "breakpoint"}


def modules_of(package: str, source: Path) -> Iterator[tuple[str, Path]]:
    """Dotted name and path of every module of a package."""
    for path in sorted((source / package).rglob("*.py")):
        parts = path.relative_to(source).with_suffix("").parts
        yield ".".join(parts[:-1] if parts[-1] == "__init__" else parts), path


def imports_of(name: str, path: Path) -> Iterator[str]:
    """Every module that a module imports, relative imports resolved.

    ``from a import b`` counts as ``a.b``: ``b`` may be a module, and as a name of ``a`` it is within ``a`` anyway.
    """
    package = name.split(".") if path.name == "__init__.py" else name.split(".")[:-1]
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            base = package[: len(package) - node.level + 1] if node.level else []
            origin = ".".join([*base, *([node.module] if node.module else [])])
            yield from (f"{origin}.{alias.name}" for alias in node.names)


def within(module: str, package: str) -> bool:
    return module == package or module.startswith(f"{package}.")


def specification_may(_name: str, imported: str) -> bool:
    return any(within(imported, allowed) for allowed in ("workspec", *PURE))


def store_may(_name: str, imported: str) -> bool:
    if within(imported, "workcert"):
        return False
    if not within(imported, "workspec"):
        return True
    parts = imported.split(".")
    if len(parts) < 3 or parts[1] in ("core", "render"):
        return False
    return parts[2] in ("vocabulary", "ports")


def kit_may(_name: str, imported: str) -> bool:
    return not within(imported, "workstore")


RULES: dict[str, Callable[[str, str], bool]] = {
    "workspec": specification_may,
    "workstore": store_may,
    "workcert": kit_may,
}


def broken_imports(package: str, source: Path) -> list[str]:
    return [
        f"{name} imports {imported}"
        for name, path in modules_of(package, source)
        for imported in imports_of(name, path)
        if not RULES[package](name, imported)
    ]


def impure_calls(source: Path) -> list[str]:
    """Calls of built-in functions that do I/O or run text."""
    return [
        f"{name} calls {node.func.id}"
        for name, path in modules_of("workspec", source)
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in IMPURE_CALLS
    ]


def logic_in_carriers(path: Path) -> list[str]:
    """What a vocabulary module has beside names, annotations and docstrings.

    An exception may have an ``__init__``; enumerations have values; nothing else may have a value, a default, a
    decorator but attrs' own, or a function.
    """
    found = []
    for node in ast.parse(path.read_text()).body:
        if isinstance(node, ast.ClassDef):
            bases = {base.id for base in node.bases if isinstance(base, ast.Name)}
            found += [f"{node.name}: {text}" for text in _logic_in_class(node, bases)]
        elif not _is_plain(node):
            found.append(f"line {node.lineno}: {ast.unparse(node).splitlines()[0]}")
    return found


def _is_plain(node: ast.stmt) -> bool:
    """An import, a docstring or a type alias."""
    is_alias = (
        isinstance(node, ast.AnnAssign) and isinstance(node.annotation, ast.Name) and node.annotation.id == "TypeAlias"
    )
    return isinstance(node, ast.Import | ast.ImportFrom) or _is_text(node) or is_alias


def _is_text(node: ast.stmt) -> bool:
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str)


def _logic_in_class(node: ast.ClassDef, bases: set[str]) -> Iterator[str]:
    for decorator in node.decorator_list:
        # Without slots a carrier with many members is made in half the time; it carries no more for that.
        if ast.unparse(decorator) not in ("frozen", "frozen(slots=False)"):
            yield f"decorated with {ast.unparse(decorator)}"
    for member in node.body:
        is_field = isinstance(member, ast.AnnAssign) and member.value is None
        is_value = (
            bases & {"StrEnum", "IntFlag"} and isinstance(member, ast.Assign) and isinstance(member.value, ast.Constant)
        )
        is_init = bases & {"Exception"} and isinstance(member, ast.FunctionDef) and member.name == "__init__"
        if not (is_field or is_value or is_init or _is_text(member)):
            yield ast.unparse(member).splitlines()[0]


# The project -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("package", RULES)
def test_imports(package: str) -> None:
    assert list(modules_of(package, SOURCES[package])), "the rule must have something to look at"
    assert broken_imports(package, SOURCES[package]) == []


def test_the_specification_does_no_io() -> None:
    assert impure_calls(SOURCES["workspec"]) == []


def test_vocabularies_only_carry() -> None:
    files = sorted(SOURCES["workspec"].glob("workspec/*/vocabulary.py"))
    assert files
    assert {str(file): logic for file in files if (logic := logic_in_carriers(file))} == {}


# Each rule can fail ----------------------------------------------------------------------------------------------


def plant(tmp_path: Path, module: str, text: str) -> Path:
    path = tmp_path.joinpath(*module.split(".")).with_suffix(".py")
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    return path


@pytest.mark.parametrize(
    ("module", "line", "broken"),
    [
        ("workspec.core.rule", "import workstore", "workstore"),
        ("workspec.core.rule", "from workcert.cases import model", "workcert.cases.model"),
        ("workspec.core.rule", "def late():\n    import sqlite3", "sqlite3"),
        *(
            ("workspec.workload.rules", f"import {name}", name)
            for name in (
                "time",
                "datetime",
                "random",
                "os",
                "os.path",
                "pathlib",
                "socket",
                "sqlite3",
                "uuid",
                "secrets",
            )
        ),
        ("workspec.workload.rules", "from datetime import datetime as d", "datetime.datetime"),
        ("workspec.render.svg", "from xml.sax import make_parser", "xml.sax.make_parser"),
        ("workstore.sqlite.store", "from workspec.workload import rules", "workspec.workload.rules"),
        (
            "workstore.sqlite.store",
            "from workspec.workload.rules import saturated",
            "workspec.workload.rules.saturated",
        ),
        ("workstore.sqlite.store", "import workspec.core.condition", "workspec.core.condition"),
        ("workstore.sqlite.store", "from workspec.core.ports import x", "workspec.core.ports.x"),
        ("workstore.sqlite.store", "import workspec", "workspec"),
        ("workstore.sqlite.store", "from workspec import workload", "workspec.workload"),
        ("workstore.sqlite.store", "from workspec.workload.portside import x", "workspec.workload.portside.x"),
        ("workstore.backends", "from workcert import codec", "workcert.codec"),
        ("workcert.run", "import workstore.memory", "workstore.memory"),
        ("workcert.run", "from workstore import memory", "workstore.memory"),
    ],
)
def test_a_broken_import_is_found(tmp_path: Path, module: str, line: str, broken: str) -> None:
    plant(tmp_path, module, line)
    assert broken_imports(module.split(".")[0], tmp_path) == [f"{module} imports {broken}"]


@pytest.mark.parametrize(
    ("module", "line"),
    [
        ("workspec.core.rule", "from workspec.core.condition import NOW"),
        ("workspec.core.rule", "from .condition import NOW"),
        ("workspec.core.rule", "from . import condition"),
        ("workspec.core.rule", "from ..workload import rules"),
        ("workspec.core.rule", "from collections.abc import Mapping\nimport json, hashlib\nfrom attrs import frozen"),
        ("workstore.sqlite.store", "import sqlite3, time, random"),
        ("workstore.sqlite.store", "from workspec.workload.vocabulary import State"),
        ("workstore.sqlite.store", "from workspec.workload import vocabulary, ports"),
        ("workstore.sqlite.store", "from workstore.memory import store\nfrom . import rows"),
        ("workstore.sqlite.store", "import workcertificate"),
        ("workcert.run", "from workspec.core import interpreter\nimport workstores"),
        ("workcert.run", "text = 'import workstore'"),
    ],
)
def test_a_sound_import_is_not_accused(tmp_path: Path, module: str, line: str) -> None:
    plant(tmp_path, module, line)
    assert broken_imports(module.split(".")[0], tmp_path) == []


def test_an_impure_call_is_found(tmp_path: Path) -> None:
    plant(tmp_path, "workspec.core.rule", "def f(path):\n    return open(path).read()\n")
    assert impure_calls(tmp_path) == ["workspec.core.rule calls open"]


@pytest.mark.parametrize(
    "text",
    [
        "def effective_key(request):\n    return request.key",
        "LIMIT = 256",
        "@frozen\nclass Claim:\n    token: int = 1",
        "@frozen\nclass Claim:\n    token: int = field(converter=int)",
        "@frozen\nclass Claim:\n    token = field()",
        "@frozen\nclass Claim:\n    token: int\n    def lapsed(self, now):\n        return False",
        "@frozen\nclass Claim:\n    token: int\n    @property\n    def lapsed(self):\n        return False",
        "@frozen\nclass Claim:\n    token: int\n    def __attrs_post_init__(self):\n        pass",
        "@frozen(kw_only=True)\nclass Claim:\n    token: int",
        "@total_ordering\nclass Claim:\n    token: int",
        "class State(StrEnum):\n    READY = 'READY'\n    def is_final(self):\n        return False",
        "class WorkloadError(Exception):\n    def __str__(self):\n        return ''",
        "if True:\n    X = 1",
    ],
)
def test_logic_in_a_vocabulary_is_found(tmp_path: Path, text: str) -> None:
    assert len(logic_in_carriers(plant(tmp_path, "vocabulary", text))) == 1


def test_a_plain_vocabulary_is_not_accused(tmp_path: Path) -> None:
    text = '''"""Nouns."""
from attrs import frozen
Json: TypeAlias = "int | None"
class State(StrEnum):
    """States."""
    READY = "READY"
class Failure(Exception):
    def __init__(self, code: str, message: str = "") -> None:
        super().__init__(message)
        self.code = code
@frozen
class Claim:
    """A claim."""
    token: int
    """Greater than any before."""
'''
    assert logic_in_carriers(plant(tmp_path, "vocabulary", text)) == []

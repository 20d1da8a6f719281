"""Finding backends: by the name of an entry point, by import path, or by the file of an adapter.

The kit knows no store by name. `find` takes

- ``sqlite``: an entry point of the group ``workcert.backends``;
- ``package.module:ATTRIBUTE`` or ``path/to/adapter.py:ATTRIBUTE``;
- either of these with ``://DIR`` behind it: the kit makes its stores in that directory, which must be empty.
"""

from __future__ import annotations

import importlib
import importlib.util
import inspect
import os
import sys
from collections.abc import Callable, Container, Iterable, Mapping
from difflib import get_close_matches
from importlib.metadata import EntryPoint, entry_points
from pathlib import Path
from typing import Any, Final

from attrs import evolve, field, frozen

from workcert.backends.protocol import Ability
from workcert.binding import WISHES, Binding, bindings
from workcert.raised import told
from workspec.core.choice import OTHER, ChoiceKind

GROUP: Final = "workcert.backends"
ABILITIES: Final = frozenset(ability.value for ability in Ability)
SEEN_THROUGH_CONNECTIONS: Final = frozenset({Ability.POINTS.value, Ability.COMMIT_ORDER.value})


class BackendError(Exception):
    """The backend cannot be used as it is; the text says what is wrong, why as a rule, and what to do next."""


@frozen(eq=False)
class LoadedBackend:
    """An adapter with its claims read and checked. ``root`` is where its stores go, None for a temporary place."""

    name: str
    adapter: Any
    binding: Binding
    profiles: frozenset[str]
    abilities: frozenset[str]
    choices: Mapping[str, Any]
    codes: Mapping[str, str]
    actors: Mapping[str, str]
    configurable: frozenset[str] = frozenset()
    """What its stores can be asked for when they are opened."""
    root: Path | None = None
    dbapi: str | None = None
    """The database module through which its stores can be seen at work."""
    promises: Mapping[str, Any] = field(factory=dict)
    """By statement, what every connection that commits is to answer it with."""
    found_as: str = ""
    """The text by which `find` finds it, empty for an adapter that was made in this process."""
    recipe: Callable[[], LoadedBackend] | None = None
    """What makes it in another process, where that text does not: see `workcert.children.recipe`."""

    def can(self, ability: str) -> bool:
        return ability in self.abilities


def names() -> tuple[str, ...]:
    """The names of all registered backends, sorted."""
    return tuple(sorted({point.name for point in entry_points(group=GROUP)}))


def find(spec: str) -> tuple[LoadedBackend, ...]:
    """The backends that a text names, one for each contract that it serves.

    Raises:
        BackendError: nothing of that name, an import that fails, or claims that make no sense.
    """
    target, separator, place = spec.partition("://")
    if separator and not place.strip():
        raise BackendError(
            f"{spec} names no directory behind ://; write it as in '{target}://stores', or leave out the :// and the "
            "kit makes its stores in a temporary one"
        )
    root = _empty_directory(place) if separator else None
    found = _from_path(target) if ":" in target else _from_entry_point(target)
    adapters = found if isinstance(found, Iterable) and not hasattr(found, "contract") else (found,)
    backends = tuple(evolve(describe(target, adapter, root), found_as=target) for adapter in adapters)
    twice = sorted({b.binding.name for b in backends if sum(b.binding is other.binding for other in backends) > 1})
    if twice:
        raise BackendError(f"{target} holds several adapters of the contract {twice[0]}; name one of them")
    return backends


def describe(name: str, adapter: Any, root: Path | None = None) -> LoadedBackend:
    """Read and check the claims of an adapter.

    Raises:
        BackendError: a member that is missing or of the wrong kind, or a claim that is not in the contract.
    """
    if inspect.isclass(adapter):
        made = name.split(":")[-1]
        raise BackendError(
            f"{name} is a class, and the kit needs an object: add a line like BACKEND = {made}() and name BACKEND"
        )
    if adapter is None or inspect.isroutine(adapter):
        raise BackendError(f"{name} {_no_adapter(name, adapter)}")
    contract = _member_of(name, adapter, "contract")
    binding = bindings().get(contract) if isinstance(contract, str) else None
    if binding is None:
        known = ", ".join(bindings())
        raise BackendError(
            f"{name} says contract = {contract!r}; it must be one of: {known}. See 'workcert new-adapter workload'"
        )
    if not callable(getattr(adapter, "open", None)):
        raise BackendError(f"{name} has no method open(place, config); see 'workcert new-adapter {contract}'")
    profiles = _names_of(name, adapter, "profiles", frozenset(binding.profile_abilities), {"CORE"})
    abilities = _names_of(name, adapter, "abilities", ABILITIES, set())
    for profile in sorted(profiles):
        lacking = sorted(set(binding.profile_abilities[profile]) - abilities)
        if lacking:
            raise BackendError(
                f"{name} claims {profile} without the ability {', '.join(lacking)}, and without it nothing of the "
                f"profile can be seen. Add it to abilities, or leave {profile} out of profiles"
            )
    configurable = _names_of(name, adapter, "configurable", frozenset(binding.configured) | WISHES, set())
    dbapi = _dbapi_of(name, adapter)
    if dbapi is not None:
        abilities |= SEEN_THROUGH_CONNECTIONS
    return LoadedBackend(
        name=name,
        adapter=adapter,
        binding=binding,
        profiles=profiles | {"CORE"},
        abilities=abilities,
        choices=_choices_of(name, adapter, binding, configurable),
        codes=_codes_of(name, adapter, binding),
        actors=_actors_of(name, adapter),
        configurable=configurable,
        root=root,
        dbapi=dbapi,
        promises=_promises_of(name, adapter, dbapi),
        recipe=_member_of(name, adapter, "recipe"),
    )


def _dbapi_of(name: str, adapter: Any) -> str | None:
    dbapi = _member_of(name, adapter, "dbapi")
    if dbapi is None:
        return None
    if not isinstance(dbapi, str):
        raise BackendError(f"{name}: dbapi must be the name of a module, as in 'sqlite3', not {dbapi!r}")
    try:
        module = importlib.import_module(dbapi)
    except (Exception, SystemExit) as error:
        raise BackendError(f"{name}: the database module {dbapi!r} cannot be imported: {told(error)}") from error
    if not callable(getattr(module, "connect", None)):
        raise BackendError(f"{name}: the module {dbapi!r} has no connect(...), so it is no DB-API module")
    return dbapi


def _promises_of(name: str, adapter: Any, dbapi: str | None) -> Mapping[str, Any]:
    promises = _mapping_of(name, adapter, "promises")
    if promises and dbapi is None:
        raise BackendError(
            f"{name} promises {', '.join(promises)}, and names no database module (dbapi) through which its "
            "connections could be asked"
        )
    return promises


def _no_adapter(name: str, found: Any) -> str:
    """What a name that was meant for an adapter stands for instead."""
    attribute = name.split(":")[-1]
    if found is None:
        return (
            f"is None, and the kit needs an adapter (an object with contract and open): does what is assigned to "
            f"{attribute} return it? See 'workcert new-adapter workload'"
        )
    return (
        "is a function, and the kit needs an adapter (an object with contract and open): add a line like "
        f"BACKEND = {attribute}() and name BACKEND, or name what the function returns"
    )


def _names_of(name: str, adapter: Any, member: str, known: frozenset[str], default: set[str]) -> frozenset[str]:
    claimed = _member_of(name, adapter, member)
    if claimed is None:
        return frozenset(default)
    if isinstance(claimed, str) or not isinstance(claimed, Iterable):
        raise BackendError(f"{name}: {member} must be a set of names, not {claimed!r}")
    found = frozenset(str(item) for item in claimed)
    stray = sorted(found - known)
    if stray:
        raise BackendError(
            f"{name} claims the {member} {', '.join(stray)}, which do not exist; known: {', '.join(sorted(known))}"
        )
    return found


def _mapping_of(name: str, adapter: Any, member: str) -> dict[str, Any]:
    given = _member_of(name, adapter, member)
    if given is None:
        return {}
    if not isinstance(given, Mapping) or not all(isinstance(key, str) for key in given):
        raise BackendError(f"{name}: {member} must be a dictionary with text for keys, not {given!r}")
    return dict(given)


def _codes_of(name: str, adapter: Any, binding: Binding) -> Mapping[str, str]:
    codes = _mapping_of(name, adapter, "codes")
    for own, code in codes.items():
        known = {*binding.calls.codes, *binding.reasons}
        if not isinstance(code, str) or code not in known:
            meant = get_close_matches(str(code), sorted(known), n=1)
            hint = f"; did you mean {meant[0]}?" if meant else ""
            raise BackendError(f"{name}: codes maps {own!r} to {code!r}, which is no code of the contract{hint}")
    return codes


def _actors_of(name: str, adapter: Any) -> Mapping[str, str]:
    actors = _mapping_of(name, adapter, "actors")
    for own, actor in actors.items():
        if not isinstance(actor, str):
            raise BackendError(f"{name}: actors maps {own!r} to {actor!r}; write the contract's name for it, a text")
    return actors


def _member_of(name: str, adapter: Any, member: str) -> Any:
    try:
        return getattr(adapter, member, None)
    except Exception as error:
        raise BackendError(f"{name}: reading {member} raised {told(error)}") from error


def _choices_of(name: str, adapter: Any, binding: Binding, configurable: Container[str]) -> Mapping[str, Any]:
    declared = _mapping_of(name, adapter, "choices")
    known = {c.id: c for c in binding.contract.choices if c.kind is ChoiceKind.DECLARED}
    for identifier, value in declared.items():
        choice = known.get(identifier)
        if choice is None and any(identifier == each.id for each in binding.contract.choices):
            raise BackendError(
                f"{name} declares the choice {identifier!r}, which is free: it may fall otherwise each time, and the "
                "judge takes what the store does. Leave it out of choices"
            )
        if choice is None:
            raise BackendError(
                f"{name} declares the choice {identifier!r}, which does not exist; see 'workcert list choices'"
            )
        option = next((option for option, configured in binding.configured.items() if configured == choice.id), None)
        if option is not None and option in configurable:
            raise BackendError(
                f"{name} declares the choice {identifier!r}, and that it can be opened with {option!r}: it is then "
                f"{choice.default!r} unless a case asks for another. Leave it out of choices or out of configurable"
            )
        if option is not None:
            if value != OTHER and (isinstance(value, bool) or not isinstance(value, int) or value < 1):
                raise BackendError(f"{name} declares {identifier} = {value!r}; it must be {choice.legal_text}")
            continue
        if value != OTHER and value not in choice.options:
            options = ", ".join(repr(option) for option in (*choice.options, OTHER))
            raise BackendError(f"{name} declares {identifier} = {value!r}; it may be {options}")
    return declared


def _from_entry_point(target: str) -> Any:
    points: tuple[EntryPoint, ...] = tuple(p for p in entry_points(group=GROUP) if p.name == target)
    if not points:
        if target.endswith(".py"):
            raise BackendError(f"{target} is a file; name the adapter in it too, as in '{target}:BACKEND'")
        close = get_close_matches(target, names(), n=1)
        meant = f"; did you mean {close[0]}?" if close else f"; registered are: {', '.join(names()) or 'none'}."
        raise BackendError(
            f"no backend is called {target!r}{meant} "
            "An adapter of your own is named by its path, as in 'my_adapter.py:BACKEND'"
        )
    try:
        return points[0].load()
    except (Exception, SystemExit) as error:
        raise BackendError(f"the backend {target!r} cannot be imported: {told(error)}") from error


def _from_path(target: str) -> Any:
    source, _, attribute = target.rpartition(":")
    module = _load_file(Path(source)) if source.endswith(".py") else _import(source)
    try:
        return getattr(module, attribute)
    except AttributeError:
        adapters = ", ".join(name for name, value in vars(module).items() if _are_adapters(value))
        hint = f"its adapters are: {adapters}" if adapters else "and nothing in it is an adapter (contract and open)"
        raise BackendError(f"{source} has no {attribute!r}; {hint}") from None


def _are_adapters(value: Any) -> bool:
    """An adapter, or several: a backend may serve more than one contract."""
    if isinstance(value, tuple | list):
        return bool(value) and all(_is_adapter(each) for each in value)
    return _is_adapter(value)


def _is_adapter(value: Any) -> bool:
    return not inspect.isclass(value) and isinstance(getattr(value, "contract", None), str) and hasattr(value, "open")


def _import(name: str) -> Any:
    # As with ``python -m``: a module in the working directory is found without being installed.
    here = os.getcwd()
    if here not in sys.path and "" not in sys.path:
        sys.path.append(here)
    try:
        return importlib.import_module(name)
    except (Exception, SystemExit) as error:
        raise BackendError(
            f"{name!r} cannot be imported: {told(error)}. "
            "Name an installed module, or a file as in 'path/to/adapter.py:BACKEND'"
        ) from error


def _load_file(path: Path) -> Any:
    if not path.is_file():
        raise BackendError(f"there is no file {path}; 'workcert new-adapter workload' writes one to begin with")
    name, folder = f"workcert_adapter_{path.stem}", str(path.parent.absolute())
    specification = importlib.util.spec_from_file_location(name, path)
    if specification is None or specification.loader is None:
        raise BackendError(f"{path} cannot be loaded as Python")
    module = importlib.util.module_from_spec(specification)
    sys.modules[name] = module
    sys.path.insert(0, folder)
    try:
        specification.loader.exec_module(module)
    except (Exception, SystemExit) as error:
        raise BackendError(f"{path} fails on import: {told(error)}") from error
    finally:
        sys.path.remove(folder)
    # An adapter may import what lies beside it when it opens its first store. Last, so that nothing that the kit itself
    # imports later is found there.
    if folder not in sys.path:
        sys.path.append(folder)
    return module


def _empty_directory(place: str) -> Path:
    path = Path(place)
    try:
        path = path.expanduser()
        if path.exists() and (not path.is_dir() or any(path.iterdir())):
            raise BackendError(
                f"{path} is not an empty directory. The kit makes stores of its own there and touches nothing that it "
                "did not make; name a new directory"
            )
        path.mkdir(parents=True, exist_ok=True)
    except (OSError, RuntimeError, ValueError) as error:
        raise BackendError(f"no store can be made in {place!r}: {error}. Name another directory behind ://") from error
    return path

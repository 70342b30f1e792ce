"""Finds handlers: imports modules, files and folders, and goes through what they define.

One broken file must not harm another. Whatever goes wrong becomes a `Problem` with the file and line of its cause, and
loading goes on.
"""

from __future__ import annotations

import importlib
import importlib.util
import sys
import traceback
import types
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from toolgate.declaration import Declaration, handlers_of, is_class, marked_attributes, needs_instance, take_registered
from toolgate.errors import HandlerError
from toolgate.registry import Registry
from toolgate.tool import Tool


@dataclass(frozen=True)
class Problem:
    """Something that could not be served."""

    source: str
    """The module or file, as it was named."""
    message: str
    """What is wrong, where, and what to do."""

    def __str__(self) -> str:
        return f"{self.source}: {self.message}"


@dataclass(frozen=True)
class Loaded:
    """What came of loading."""

    registry: Registry
    problems: list[Problem]
    modules: int
    """How many modules were imported."""


def load(sources: Iterable[str]) -> Loaded:
    """Import modules (`package.module`), files (`orders.py`) and folders of files, and collect their handlers."""
    loaded = _Loader()
    for source in sources:
        loaded.take(source)
    return Loaded(loaded.registry, loaded.problems, loaded.modules)


class _Loader:
    def __init__(self) -> None:
        self.registry = Registry()
        self.problems: list[Problem] = []
        self.modules = 0
        self._known: set[object] = set()

    def take(self, source: str) -> None:
        path = Path(source)
        if path.is_dir() and not (path / "__init__.py").exists():
            files = sorted(file for file in path.glob("*.py") if not file.name.startswith(("_", ".")))
            if not files:
                self.problems.append(Problem(source, "the folder has no Python files"))
            for file in files:
                self._import(str(file), partial(_from_file, file))
        elif path.is_dir():
            self._import(source, partial(_from_file, path / "__init__.py", package=path))
        elif path.suffix == ".py" or "/" in source:
            self._import(source, partial(_from_file, path))
        else:
            self._import(source, partial(importlib.import_module, source))

    def _import(self, source: str, importing: Callable[[], types.ModuleType]) -> None:
        try:
            module = importing()
        except KeyboardInterrupt:
            raise
        except BaseException as error:
            self.problems.append(Problem(source, describe_import_error(error)))
            return
        self.modules += 1
        registered = take_registered()
        try:
            self._collect(source, module, registered)
        except Exception as error:
            self.problems.append(Problem(source, f"cannot be searched for handlers: {type(error).__name__}: {error}"))

    def _collect(self, source: str, module: types.ModuleType, registered: list[object]) -> None:
        candidates = [value for value in vars(module).values() if not issubclass(type(value), types.ModuleType)]
        for candidate in [*candidates, *registered]:
            if is_class(candidate) and candidate.__module__ != module.__name__:
                continue
            for function, declaration in handlers_of(candidate):
                self._add(source, function, declaration)
        instances = [value for value in [*candidates, *registered] if not is_class(value)]
        for owner in candidates:
            if is_class(owner) and owner.__module__ == module.__name__:
                self.problems.extend(Problem(source, message) for message in _without_instance(owner, instances))

    def _add(self, source: str, function: Callable[..., Any], declaration: Declaration) -> None:
        # A handler that a second module imports is still one handler.
        identity = (id(getattr(function, "__self__", None)), getattr(function, "__func__", function))
        if identity in self._known:
            return
        self._known.add(identity)
        try:
            self.registry.add(Tool(function, declaration))
        except HandlerError as error:
            self.problems.append(Problem(source, str(error)))


def describe_import_error(error: BaseException) -> str:
    """Say in one line what went wrong while a module was imported, with the file and line of the cause."""
    kind = type(error).__name__
    if isinstance(error, SyntaxError) and error.filename:
        return f"cannot be imported: {error.filename}:{error.lineno}: {kind}: {error.msg}"
    message = f"{kind}: {error}" if str(error) else kind
    for frame in reversed(traceback.extract_tb(error.__traceback__)):
        if "importlib" not in frame.filename and frame.filename != __file__:
            return f"cannot be imported: {frame.filename}:{frame.lineno}: {message}"
    return f"cannot be imported: {message}"


def _without_instance(owner: type, instances: list[object]) -> Iterator[str]:
    waiting = [attribute for attribute in marked_attributes(owner) if needs_instance(owner, attribute)]
    if waiting and not any(issubclass(type(instance), owner) for instance in instances):
        yield (
            f"class '{owner.__name__}' has handlers ({', '.join(waiting)}), but no instance of it was found; "
            f"make one at the top of the module, or pass one to toolgate.register"
        )


def _from_file(path: Path, package: Path | None = None) -> types.ModuleType:
    """Import a file as if it were run: with its folder on the path, so that it finds its neighbours."""
    if not path.is_file():
        raise FileNotFoundError(f"there is no file '{path}'")
    home = (package or path).resolve().parent
    if str(home) not in sys.path:
        sys.path.insert(0, str(home))
    name = (package or path).resolve().stem
    known = sys.modules.get(name)
    if known is not None:
        if getattr(known, "__file__", None) and Path(str(known.__file__)).resolve() == path.resolve():
            return known
        name = f"{name}_{abs(hash(path.resolve())):x}"
    locations = [str(package.resolve())] if package else None
    spec = importlib.util.spec_from_file_location(name, path.resolve(), submodule_search_locations=locations)
    if spec is None or spec.loader is None:
        raise ImportError(f"'{path}' is no Python file")
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    try:
        spec.loader.exec_module(module)
    except BaseException:
        del sys.modules[name]
        raise
    return module

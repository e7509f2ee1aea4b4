"""Calls the user's factory, and finds the native scene in what it gives."""

from __future__ import annotations

import importlib
import importlib.util
import sys
from pathlib import Path
from typing import Any

from isoscope.core.errors import IsoscopeError

ALIAS = "isoscope_replayed"  # of a module whose own name can't be one


class FactoryError(IsoscopeError):
    """A factory that is not there, fails, or makes something else."""


def call(file: str, name: str, arguments: list[Any], named: dict[str, Any]) -> Any:
    """Import a file and call what is named in it.

    Raises
    ------
    FactoryError
        With what went wrong.
    """
    module = _imported(Path(file))
    found: Any = module
    for part in name.split("."):
        found = getattr(found, part, None)
        if found is None:
            raise FactoryError(f"{file} has no {name}")
    if not callable(found):
        raise FactoryError(f"{name} in {file} can't be called")
    try:
        return found(*arguments, **named)
    except Exception as error:
        raise FactoryError(f"{name} in {file}: {_said(error)}") from error


def scene_of(made: Any) -> tuple[Any, Any]:
    """The native scene of an environment, or the scene that it is; and its module.

    Raises
    ------
    FactoryError
        If it has none.
    """
    inner = getattr(made, "unwrapped", made)
    scene = inner if _is_scene(inner) else getattr(inner, "_scene", None)
    if scene is None and callable(getattr(made, "reset", None)):
        made.reset()  # some make their scene there
        scene = getattr(inner, "_scene", None)
    if scene is None or not _is_scene(scene):
        kind = f"{type(made).__module__}.{type(made).__qualname__}"
        raise FactoryError(
            f"it made a {kind}; a factory has to make one environment of SuperDex "
            "Lab, or a scene"
        )
    return scene, sys.modules[type(scene).__module__]


def _is_scene(thing: Any) -> bool:
    return hasattr(thing, "capture_state_to_bytes") and hasattr(thing, "step")


def _imported(file: Path) -> Any:
    """A file as the module that it is: in its package, if it lies in one."""
    file = file.resolve()
    parts = [] if file.stem == "__init__" else [file.stem]
    folder = file.parent
    while (folder / "__init__.py").is_file():
        parts.insert(0, folder.name)
        folder = folder.parent
    sys.path.insert(0, str(folder))
    name = ".".join(parts)
    try:
        if len(parts) > 1 or file.stem == "__init__":
            return importlib.import_module(name)
        # By its path: another module of that name may be on the way.
        if not file.stem.isidentifier() or file.stem in sys.modules:
            name = ALIAS
        spec = importlib.util.spec_from_file_location(name, file)
        if spec is None or spec.loader is None:
            raise FactoryError(f"{file} is no Python module")
        module = importlib.util.module_from_spec(spec)
        sys.modules[name] = module
        spec.loader.exec_module(module)
    except FactoryError:
        raise
    except BaseException as error:
        if isinstance(error, KeyboardInterrupt):
            raise
        raise FactoryError(f"importing {file}: {_said(error)}") from error
    return module


def _said(error: BaseException) -> str:
    text = str(error)
    return f"{type(error).__name__}: {text}" if text else type(error).__name__

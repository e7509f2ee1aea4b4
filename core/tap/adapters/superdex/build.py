"""Which build of the engine this process has, and what differs between releases."""

from __future__ import annotations

from importlib import metadata
from typing import Any


def build_of(physics: Any) -> dict[str, Any]:
    """What can restore a snapshot: engine, version, build and precision.

    Parameters
    ----------
    physics
        The engine's module.
    """
    double = bool(physics.uses_double_precision())
    name = "superdex-physics-fp64" if double else "superdex-physics"
    version = build = ""
    try:
        found = metadata.distribution(name)
        version = found.version
        for file in found.files or ():
            if file.name.startswith(physics.__name__) and file.hash is not None:
                build = f"{file.name} {file.hash.mode}={file.hash.value}"
    except metadata.PackageNotFoundError:
        pass
    return {
        "engine": "superdex",
        "version": version,
        "build": build,
        "precision": "float64" if double else "float32",
    }


def statuses_of(physics: Any) -> list[Any]:
    """All statuses of the solver, each with a name and a number as its value.

    In release 1.0.0 their class is no `enum.Enum`, and can't be gone through itself.
    """
    return list(physics.ConvergenceStatus.__members__.values())

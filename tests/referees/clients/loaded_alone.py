"""Import modules of an installed package without running the package's own beginnings.

Isaac Lab and ManiSkill import their simulators as they begin. Their readers of files
need none: the packages stand empty here, and what a reader imports but never calls is
made up.
"""

from __future__ import annotations

import importlib.machinery
import importlib.util
import sys
import types


def alone(*packages: str) -> None:
    """Let these packages, outermost first, be imported from without being run."""
    for name in packages:
        parent, _, last = name.rpartition(".")
        if parent:
            where = list(sys.modules[parent].__path__)
            found = importlib.machinery.PathFinder.find_spec(last, where)
        else:
            found = importlib.util.find_spec(name)
        if found is None or found.submodule_search_locations is None:
            raise ImportError(f"there is no package {name}")
        module = types.ModuleType(name)
        module.__path__ = list(found.submodule_search_locations)
        sys.modules[name] = module


def made_up(name: str, **members: object) -> None:
    """Let a module of this name be imported, with nothing else in it."""
    module = types.ModuleType(name)
    module.__path__ = []
    for key, value in members.items():
        setattr(module, key, value)
    sys.modules[name] = module
    parent, _, last = name.rpartition(".")
    if parent in sys.modules:
        setattr(sys.modules[parent], last, module)


def never(*_: object, **__: object) -> object:
    """Stand for a function that reading must not need."""
    raise AssertionError("the reader called what is only made up here")

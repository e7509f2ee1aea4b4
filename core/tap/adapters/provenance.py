"""Where environments come from: factory, source, commit, packages, platform."""

from __future__ import annotations

import functools
import hashlib
import inspect
import math
import os
import platform
import sys
from importlib import metadata
from pathlib import Path
from typing import Any

import msgspec

from isoscope.core.recording.labelled import records as r

# Told where the program has loaded them.
PACKAGES = (
    *("isoscope", "numpy", "gymnasium", "torch", "mujoco", "stable-baselines3", "ray"),
    *("superdex-physics", "superdex-lab", "superdex-robotics"),
    *("superdex-physics-fp64", "superdex-robotics-fp64"),
)
_MODULES = {"stable-baselines3": "stable_baselines3"}
LARGEST_REF = 4096
LARGEST_ARGUMENTS = 4096  # bytes as JSON


def identity(made_by: Any) -> r.Identity:
    """What can be told of any environment.

    Parameters
    ----------
    made_by
        The factory, or the class where no factory is known; or its reference as text.
    """
    reference, source = origin(made_by)
    return r.Identity(
        packages=packages(),
        platform=platform.platform(),
        python=f"{platform.python_implementation()} {platform.python_version()}",
        commit=commit_of(source) if source else "",
        factory=reference,
        source_hash=source_hash(source) if source else "",
        extra={"cores": cores()}
        | ({"source": str(source)} if source else {})
        | _arguments(made_by),
    )


def cores() -> int:
    """How many this process may use; of all of them, where that can't be asked."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def origin(made_by: Any) -> tuple[str, Path | None]:
    """A reference ``"module:name"`` and the file of the source, where there is one."""
    if isinstance(made_by, str):
        return made_by, _source_of_reference(made_by)
    while isinstance(made_by, functools.partial) or hasattr(made_by, "make"):
        made_by = getattr(made_by, "func", None) or made_by.make
    if not hasattr(made_by, "__qualname__"):
        made_by = type(made_by)
    reference = f"{made_by.__module__}:{made_by.__qualname__}"
    try:
        file = inspect.getsourcefile(made_by)
    except TypeError:
        file = None
    return reference, Path(file) if file and os.path.exists(file) else None


def _arguments(made_by: Any) -> dict[str, Any]:
    """What a partial factory was given: to make the same again, where JSON holds it."""
    positional: list[Any] = []
    named: dict[str, Any] = {}
    while isinstance(made_by, functools.partial) or hasattr(made_by, "make"):
        if isinstance(made_by, functools.partial):
            positional = [*made_by.args, *positional]
            named = {**made_by.keywords, **named}
        made_by = getattr(made_by, "func", None) or made_by.make
    if not positional and not named:
        return {}
    told = {"positional": positional, "named": named}
    if not _plain(told):
        return {"arguments": None}
    text = msgspec.json.encode(told)
    kept = msgspec.json.decode(text) if len(text) <= LARGEST_ARGUMENTS else None
    return {"arguments": kept}


def _plain(value: Any) -> bool:
    """Whether JSON gives it back as it is, but for tuples, which become lists."""
    if isinstance(value, dict):
        return all(isinstance(k, str) and _plain(v) for k, v in value.items())
    if isinstance(value, list | tuple):
        return all(_plain(one) for one in value)
    if type(value) is float:
        return math.isfinite(value)
    return value is None or type(value) in (bool, int, str)


def source_hash(path: Path) -> str:
    """SHA-256 of a file, hexadecimal; empty where it can't be read."""
    try:
        return hashlib.sha256(path.read_bytes()).hexdigest()
    except OSError:
        return ""


def packages() -> dict[str, str]:
    """Versions of what is loaded, by distribution."""
    found = {}
    for name in PACKAGES:
        module = _MODULES.get(name, name.split("-")[0])
        if module in sys.modules or name == "isoscope":
            try:
                found[name] = metadata.version(name)
            except metadata.PackageNotFoundError:
                continue
    return found


def commit_of(source: Path) -> str:
    """The commit that the source's repository is at; empty where there is none.

    Read from its files: nothing is started. Source of the layout: gitrepository-layout.
    """
    for folder in source.resolve().parents:
        git = folder / ".git"
        if not git.exists():
            continue
        try:
            return _head(git)
        except (OSError, ValueError, IndexError):
            return ""
    return ""


def _head(git: Path) -> str:
    if git.is_file():  # a worktree's: "gitdir: PATH"
        git = (git.parent / _read(git).split(":", 1)[1].strip()).resolve()
    head = _read(git / "HEAD")
    if not head.startswith("ref:"):
        return head
    name = head.split(":", 1)[1].strip()
    common = git / "commondir"
    roots = [git]
    if common.exists():
        roots.append((git / _read(common)).resolve())
    for root in roots:
        if (root / name).is_file():
            return _read(root / name)
    for root in roots:
        packed = root / "packed-refs"
        if packed.is_file():
            for line in packed.read_text().splitlines():
                commit, _, ref = line.partition(" ")
                if ref == name:
                    return commit
    return ""


def _read(path: Path) -> str:
    return path.read_bytes()[:LARGEST_REF].decode("utf-8", "replace").strip()


def _source_of_reference(reference: str) -> Path | None:
    where, _, _ = reference.rpartition(":")
    if where.endswith(".py"):
        path = Path(where)
        return path if path.is_file() else None
    file = getattr(sys.modules.get(where), "__file__", None)
    return Path(file) if file else None

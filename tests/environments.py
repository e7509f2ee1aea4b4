"""Virtual environments for what can't live in this one, kept in the user's cache.

Each is named by a hash of its interpreter and its requirements, so a changed list makes
a new one and an unchanged one is made once a machine.
"""

from __future__ import annotations

import fcntl
import hashlib
import os
import shutil
import subprocess
import time
from pathlib import Path

import platformdirs
import pytest

from isoscope.core.interpreters import find_python

INSTALL_TIMEOUT_S = 900
UNUSED_DAYS = 30
INSTALL = ("pip", "install", "--quiet", "--disable-pip-version-check")


def cache_root() -> Path:
    """Where the environments are kept."""
    chosen = os.environ.get("ISOSCOPE_ENVIRONMENTS")
    return Path(chosen or platformdirs.user_cache_path("isoscope") / "environments")


def environment(
    name: str,
    python_version: str,
    requirements: tuple[str, ...],
    alone: tuple[str, ...] = (),
) -> Path:
    """Return the interpreter of such an environment; made if it isn't there.

    What is in `alone` is installed without what it asks for.
    Skips the test where that Python is missing, and for no other reason: an environment
    that can't be made on a machine that has the Python is a failure.
    """
    base = find_python(python_version)
    if base is None:
        pytest.skip(f"needs CPython {python_version}, which is not on this machine")
    return build(name, base, requirements, alone)


def build(
    name: str,
    base: Path,
    requirements: tuple[str, ...],
    alone: tuple[str, ...] = (),
) -> Path:
    """Make the environment unless it is there; returns its interpreter."""
    recipe = "\n".join([str(base), *requirements, *(f"{one} alone" for one in alone)])
    digest = hashlib.sha256(recipe.encode()).hexdigest()[:16]
    root = cache_root()
    root.mkdir(parents=True, exist_ok=True)
    folder = root / f"{name}-{digest}"
    ready = folder / ".ready"
    with (root / f"{name}-{digest}.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not ready.exists():
            shutil.rmtree(folder, ignore_errors=True)
            subprocess.run([str(base), "-m", "venv", str(folder)], check=True)
            subprocess.run(
                [str(folder / "bin/python"), "-m", *INSTALL, *requirements],
                check=True,
                timeout=INSTALL_TIMEOUT_S,
            )
            if alone:
                subprocess.run(
                    [str(folder / "bin/python"), "-m", *INSTALL, "--no-deps", *alone],
                    check=True,
                    timeout=INSTALL_TIMEOUT_S,
                )
        ready.touch()
        drop_unused(root)
    return folder / "bin" / "python"


def drop_unused(root: Path) -> None:
    """Remove environments that nothing has asked for in a month."""
    limit = time.time() - UNUSED_DAYS * 86400
    for marker in root.glob("*/.ready"):
        if marker.stat().st_mtime < limit:
            shutil.rmtree(marker.parent, ignore_errors=True)

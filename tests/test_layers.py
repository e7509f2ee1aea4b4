"""The arrows between the folders, seen from what an import really brings along."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
FORBIDDEN = (
    "PySide6",
    "pyqtgraph",
    "vispy",
    "qtpy",
    "isoscope.widgets",
    "isoscope.app",
)
TORCH_ALLOWED = ("trajectory", "channel", "collection", "replay/checkpoint")

CORE = [
    "isoscope." + ".".join(path.relative_to(ROOT).with_suffix("").parts)
    for path in sorted((ROOT / "core").rglob("*.py"))
    if path.name != "__init__.py"
]


def brought_along(modules: list[str]) -> set[str]:
    code = (
        "import importlib, sys\n"
        f"for name in {modules!r}: importlib.import_module(name)\n"
        "print(*sys.modules)"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    return set(done.stdout.split())


def of(loaded: set[str], package: str) -> list[str]:
    return sorted(n for n in loaded if n == package or n.startswith(package + "."))


def may_use_torch(module: str) -> bool:
    path = module.removeprefix("isoscope.core.").replace(".", "/")
    return path.startswith(TORCH_ALLOWED)


def test_core_brings_neither_qt_nor_opengl() -> None:
    loaded = brought_along(CORE)
    for package in FORBIDDEN:
        assert not of(loaded, package), f"core imports {package}"


def test_core_brings_no_torch_where_it_may_not() -> None:
    loaded = brought_along([name for name in CORE if not may_use_torch(name)])
    assert not of(loaded, "torch")


@pytest.mark.parametrize("module", ["isoscope.app.main", "isoscope.core.errors"])
def test_starting_the_command_line_is_light(module: str) -> None:
    loaded = brought_along([module])
    for package in ("torch", "PySide6", "h5py", "vispy"):
        assert not of(loaded, package), f"{module} imports {package}"


def test_no_file_imports_a_folder_by_its_bare_name() -> None:
    # From the repository's root that works, and makes a second copy of every class.
    bare = [
        f"{path.relative_to(ROOT)}:{number}"
        for folder in ("app", "core", "gpu", "widgets", "resources", "tests")
        for path in (ROOT / folder).rglob("*.py")
        for number, line in enumerate(path.read_text("utf-8").splitlines(), 1)
        if line.startswith(
            tuple(
                f"{verb} {name}{end}"
                for verb in ("import", "from")
                for name in ("app", "core", "gpu", "widgets", "resources")
                for end in (".", " ")
            )
        )
    ]
    assert not bare

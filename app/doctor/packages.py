"""Which Python packages are there, and whether each can be imported."""

from __future__ import annotations

import json
import secrets
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version

from isoscope.app.doctor import probe
from isoscope.core.doctor import Check

# Tells each module as it goes, so that a crash is pinned to the one that caused it.
IMPORT = """
import importlib, json, sys
def tell(*said):
    print({mark!r} + json.dumps(said), flush=True)
for name in {modules!r}:
    tell(name, "begins")
    try:
        importlib.import_module(name)
        said = ""
    except Exception as error:
        said = f"{{type(error).__name__}}: {{error}}"
    tell(name, said)
"""
TIMEOUT_S = 90.0  # torch takes several seconds on a slow disk


@dataclass(frozen=True, slots=True)
class Package:
    """A distribution, the module to import, and the extra that brings it."""

    name: str
    module: str
    extra: str = ""


PACKAGES = (
    Package("numpy", "numpy"),
    Package("h5py", "h5py"),
    Package("msgspec", "msgspec"),
    Package("pyzmq", "zmq"),
    Package("psygnal", "psygnal"),
    Package("platformdirs", "platformdirs"),
    Package("typer", "typer"),
    Package("rich", "rich"),
    Package("PySide6-Essentials", "PySide6.QtWidgets", "app"),
    Package("pyqtgraph", "pyqtgraph", "app"),
    Package("vispy", "vispy", "app"),
    Package("qtawesome", "qtawesome", "app"),
    Package("torch", "torch", "sim"),
    Package("gymnasium", "gymnasium", "sim"),
    Package("safetensors", "safetensors", "sim"),
    Package("pyarrow", "pyarrow", "data"),
    Package("pillow", "PIL", "data"),
    Package("minari", "minari", "minari"),
    Package("mujoco", "mujoco", "mujoco"),
)


def check_packages(packages: tuple[Package, ...] = PACKAGES) -> list[Check]:
    """Say of each package its version and whether it can be imported."""
    versions = {package.name: installed_version(package.name) for package in packages}
    there = [p for p in packages if versions[p.name] is not None]
    failures = _import_failures([p.module for p in there])
    return [_check(p, versions[p.name], failures.get(p.module)) for p in packages]


def installed_version(name: str) -> str | None:
    """The version of a distribution, or None where it isn't installed."""
    try:
        return version(name)
    except PackageNotFoundError:
        return None


def _check(package: Package, found: str | None, failure: str | None) -> Check:
    name = f"package {package.name}"
    what = f"isoscope[{package.extra}]" if package.extra else "isoscope"
    if found is None:
        answer = Check(name, "missing", "not installed", f"pip install '{what}'")
        if not package.extra:
            answer.answer = "broken"
        return answer
    if failure:
        remedy = f"pip install --force-reinstall '{package.name}'"
        return Check(name, "broken", f"{found}: {failure}", remedy)
    return Check(name, "ok", found)


def _import_failures(modules: list[str]) -> dict[str, str]:
    """What importing each module said, where it failed; one that crashes, also."""
    failures: dict[str, str] = {}
    left = list(modules)
    mark = f"{secrets.token_hex(8)}:"  # none of what packages print on being imported
    while left:
        code = IMPORT.format(modules=left, mark=mark)
        done = probe.run_python(code, TIMEOUT_S)
        begun = ""
        for line in done.out.splitlines():
            _, marked, told = line.partition(mark)
            if not marked:
                continue
            module, said = json.loads(told)
            if said == "begins":
                begun = module
            else:
                begun = ""
                if said:
                    failures[module] = said
        if not begun:
            if mark not in done.out:  # not even the first was begun
                failures |= dict.fromkeys(left, done.why)
            break
        failures[begun] = done.why or "it ends the process"
        left = left[left.index(begun) + 1 :]
    return failures

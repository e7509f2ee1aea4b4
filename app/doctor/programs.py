"""What runs apart from the window: CUDA, Ray, the engine, the program's own folders."""

from __future__ import annotations

import json
import os
import tempfile
from typing import TYPE_CHECKING

from isoscope.app.doctor import probe
from isoscope.app.doctor.packages import installed_version
from isoscope.core.doctor import Check
from isoscope.core.interpreters import find_python

if TYPE_CHECKING:
    from pathlib import Path

CUDA = """
import json, torch
cuda = torch.cuda.is_available()
print(json.dumps({
    "built": torch.version.cuda,
    "devices": [torch.cuda.get_device_name(i) for i in range(torch.cuda.device_count())]
    if cuda else [],
}))
"""
RAY = """
import ray
ray.init(num_cpus=1, include_dashboard=False, log_to_driver=False,
         configure_logging=False)
print(ray.get(ray.remote(lambda: 42).remote()))
ray.shutdown()
"""
SUPERDEX = """
import json
from importlib.metadata import PackageNotFoundError, version
import superdex.physics
found = {}
for name in ("superdex-physics", "superdex-lab"):
    try:
        found[name] = version(name)
    except PackageNotFoundError:
        found[name] = "not installed"
print(json.dumps(found))
"""
SUPERDEX_PYTHON = "3.12"  # the only version that the engine is built for
TIMEOUT_S = 60.0
VARIABLE = "ISOSCOPE_SUPERDEX_PYTHON"


def check_cuda() -> Check:
    """Ask torch which device it has."""
    if installed_version("torch") is None:
        remedy = "pip install 'isoscope[sim]'"
        return Check("torch device", "missing", "torch is not installed", remedy)
    done = probe.run_python(CUDA, TIMEOUT_S)
    if not done.ok:
        remedy = "see what python -c 'import torch' says"
        return Check("torch device", "broken", done.why, remedy)
    said = json.loads(done.out.strip().splitlines()[-1])
    if said["devices"]:
        return Check(
            "torch device", "ok", f"CUDA {said['built']}: {', '.join(said['devices'])}"
        )
    why = "no CUDA device" if said["built"] else "a build of torch without CUDA"
    return Check("torch device", "ok", f"CPU ({why})")


def check_ray() -> Check:
    """Start Ray, run one task on it, and stop it again."""
    version = installed_version("ray")
    if version is None:
        remedy = "pip install 'isoscope[ray]'"
        return Check("ray", "missing", "not installed", remedy)
    done = probe.run_python(RAY, TIMEOUT_S)
    if done.ok and done.out.strip().endswith("42"):
        return Check("ray", "ok", f"{version}, starts and runs a task")
    return Check(
        "ray",
        "broken",
        f"{version}: {done.why or 'gave no answer'}",
        "ray stop --force",
    )


def check_superdex() -> Check:
    """Look for the engine, in the configured interpreter or any Python 3.12."""
    chosen = os.environ.get(VARIABLE)
    python = find_python(SUPERDEX_PYTHON, chosen)
    if python is None:
        what = f"; {VARIABLE}={chosen} does not start as one" if chosen else ""
        return Check(
            "superdex",
            "missing",
            f"no Python {SUPERDEX_PYTHON} that starts{what}",
            f"install CPython {SUPERDEX_PYTHON}, the only one the engine is built for",
        )
    done = probe.run_python(SUPERDEX, TIMEOUT_S, python=str(python))
    if done.ok:
        found = json.loads(done.out.strip().splitlines()[-1])
        versions = ", ".join(f"{name} {v}" for name, v in found.items())
        return Check("superdex", "ok", f"{versions}, in {python}")
    if "No module named" in done.why:
        return Check(
            "superdex",
            "missing",
            f"not in {python}",
            f"install superdex-lab in an environment of Python {SUPERDEX_PYTHON} and "
            f"set {VARIABLE} to its interpreter",
        )
    return Check("superdex", "broken", f"{done.why}, in {python}", "install it again")


def check_folder(name: str, folder: Path) -> Check:
    """Whether a folder can be written, or made where it is not there yet."""
    there = folder
    while not there.exists() and there != there.parent:
        there = there.parent
    try:
        with tempfile.TemporaryFile(dir=there):
            pass
    except OSError as error:
        return Check(
            name,
            "broken",
            f"{folder}: {(error.strerror or str(error)).lower()}",
            "make it writable, or name another one in the environment",
        )
    return Check(name, "ok", f"{folder}{'' if there == folder else ' (not made yet)'}")

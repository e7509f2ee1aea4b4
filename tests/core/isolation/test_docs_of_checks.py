"""The example of docs/checks.md does what the document says."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tomllib
import types
from pathlib import Path
from typing import Any

import msgspec
import pytest

from isoscope.core.isolation import registry
from isoscope.core.isolation.explain.explaining import explain
from isoscope.core.isolation.tainting import tainted
from tests.core.isolation.building import Run

DOCUMENT = Path(__file__).parents[3] / "docs" / "checks.md"


def example(first_line: str) -> str:
    blocks = re.findall(r"```python\n(.*?)```", DOCUMENT.read_text("utf-8"), re.DOTALL)
    (found,) = [block for block in blocks if block.startswith(first_line)]
    return str(found)


class Entry:
    """An entry point, as the metadata of a package has it."""

    value = "my_project.big_rewards"

    def __init__(self, module: types.ModuleType) -> None:
        self.module = module

    def load(self) -> types.ModuleType:
        return self.module


@pytest.fixture
def own(monkeypatch: pytest.MonkeyPatch) -> types.ModuleType:
    module = types.ModuleType("big_rewards")
    code = compile(example("# my_project/big_rewards.py"), str(DOCUMENT), "exec")
    exec(code, module.__dict__)
    monkeypatch.setattr(
        registry, "entry_points", lambda group: [Entry(module)] if group else []
    )
    return module


@pytest.mark.usefixtures("own")
def test_a_user_s_own_check_has_the_same_standing(tmp_path: Path) -> None:
    assert "big-reward" in registry.all_checks()
    run = Run(tmp_path, 2).resets().steps(3)
    run.step(1, reward=250.0)
    found = run.steps(2).only("big-reward")
    assert (found.env, found.episode, found.control_step) == (1, 1, 4)
    assert tainted(run.examine(), [found]).transitions.sum() == 1
    told = explain("big-reward", run.audit())
    assert told.checks[0].state == "found"
    assert told.checks[0].needs.startswith("rewards of control steps")


@pytest.mark.usefixtures("own")
def test_it_says_what_it_lacks(tmp_path: Path) -> None:
    run = Run(tmp_path, 2).resets()
    for env in range(2):
        run.step(env, reward=float("nan"))
    reason = run.not_run("big-reward")
    assert reason is not None
    assert reason.reason == "no reward is recorded"


def test_what_a_consumer_stored_is_told_as_shown(tmp_path: Path) -> None:
    import numpy as np

    run = Run(tmp_path, 2, info=("load",)).resets().steps(2)
    run.step(0)
    run.step(1)
    batch: Any = types.SimpleNamespace(
        next_obs=np.stack([run.seen[0], run.seen[1]]),
        actions=np.zeros((2, 1), np.float32),
        terminated=np.array([False, True]),
        truncated=np.array([False, False]),
        load=np.zeros(2),
        has_load=np.array([False, True]),
    )
    numbers = np.array([6, 7])
    code = compile(example("from isoscope.core.recording"), str(DOCUMENT), "exec")
    exec(code, {"recorder": run.recorder, "batch": batch, "numbers": numbers})
    found = {f.id for f in run.findings()}
    assert found == {"end-flags", "masked-info"}


def test_it_works_as_an_installed_package(tmp_path: Path) -> None:
    """A package as an installer leaves it, found by another process's metadata."""
    site = tmp_path / "site"
    package, info = site / "my_project", site / "my_project-1.0.dist-info"
    package.mkdir(parents=True)
    info.mkdir()
    (package / "__init__.py").write_text("")
    (package / "big_rewards.py").write_text(example("# my_project/big_rewards.py"))
    (info / "METADATA").write_text(
        "Metadata-Version: 2.1\nName: my-project\nVersion: 1.0\n"
    )
    (declared,) = re.findall(
        r"```toml\n(.*?)```", DOCUMENT.read_text("utf-8"), re.DOTALL
    )
    group = tomllib.loads(declared)["project"]["entry-points"]
    (info / "entry_points.txt").write_text(
        "".join(
            f"[{name}]\n" + "".join(f"{key} = {value}\n" for key, value in all_.items())
            for name, all_ in group.items()
        )
    )
    run = Run(tmp_path, 2).resets().steps(3)
    run.step(1, reward=250.0)
    run.steps(2).examine()
    files = list(tmp_path.glob("*.isoscope.h5"))
    asked = [sys.executable, "-m", "isoscope.app", "audit", str(files[0]), "--json"]
    paths = os.pathsep.join([str(site), os.environ.get("PYTHONPATH", "")])
    ran = subprocess.run(
        [*asked, "--fail-on", "never"],
        env={**os.environ, "PYTHONPATH": paths.rstrip(os.pathsep)},
        capture_output=True,
        timeout=120,
        check=False,
    )
    assert ran.returncode == 0, ran.stderr.decode()
    said = msgspec.json.decode(ran.stdout)
    (found,) = [f for f in said["findings"] if f["id"] == "big-reward"]
    assert (found["env"], found["episode"], found["control_step"]) == (1, 1, 4)
    assert {"id": "big-reward", "ran": True, "found": 1} in said["checks"]

"""The audit on the real engine: it steps each environment again, alone in its scene."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from isoscope.app.doctor.programs import VARIABLE
from isoscope.app.main import main as isoscope
from tests.environments import environment
from tests.referees.test_superdex_tap import ENGINE_1_0_1, LINKS

if TYPE_CHECKING:
    from collections.abc import Callable

pytestmark = pytest.mark.referee

RUN = Path(__file__).with_name("engine_replayed_run.py")


@pytest.fixture
def recorded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[str], Path]:
    """Makes a run, by its name."""
    engine = environment("superdex-1.0.1", "3.12", ENGINE_1_0_1)
    monkeypatch.setenv(VARIABLE, str(engine))

    def made(run: str) -> Path:
        out = tmp_path / f"{run}.isoscope.h5"
        places = {"PYTHONPATH": str(LINKS), "XDG_RUNTIME_DIR": str(tmp_path)}
        subprocess.run(
            [engine, RUN, out, run],
            check=True,
            timeout=300,
            env={**os.environ, **places},
        )
        return out

    return made


def audited(path: Path, capsys: pytest.CaptureFixture[str]) -> dict[str, Any]:
    capsys.readouterr()
    assert isoscope(["audit", str(path), "--step-again", "--json"]) in (0, 1)
    said = capsys.readouterr()
    assert said.err == ""
    told: dict[str, Any] = json.loads(said.out)
    assert "hidden-leak" in [one["id"] for one in told["checks"] if one["ran"]]
    return told


def test_the_audit_names_an_inertia_leak_that_was_told(
    recorded: Callable[[str], Path], capsys: pytest.CaptureFixture[str]
) -> None:
    [found] = audited(recorded("leak"), capsys)["findings"]
    # What stepping alone shows as well is explained by it, and not told again.
    assert found["id"] == "config-changed"
    assert (found["env"], found["episode"], found["control_step"]) == (1, 1, 8)
    assert "jointInertia" in found["message"]
    assert "reached envs 2, 3 and 0" in found["message"]


def test_the_audit_names_whom_a_leak_reached_that_nobody_told(
    recorded: Callable[[str], Path], capsys: pytest.CaptureFixture[str]
) -> None:
    found = audited(recorded("unheard"), capsys)["findings"]
    leaks = {
        one["env"]: (one["episode"], one["control_step"])
        for one in found
        if one["id"] == "hidden-leak"
    }
    assert leaks == {1: (1, 8), 2: (1, 8), 3: (1, 8), 0: (1, 9)}
    # Digests of the configuration are taken at resets too, and show it late.
    [late] = [one for one in found if one["id"] != "hidden-leak"]
    assert (late["id"], late["episode"]) == ("config-changed", 2)
    assert "jointInertia" in late["message"]


def test_the_audit_finds_nothing_in_a_clean_run(
    recorded: Callable[[str], Path], capsys: pytest.CaptureFixture[str]
) -> None:
    assert audited(recorded("clean"), capsys)["findings"] == []

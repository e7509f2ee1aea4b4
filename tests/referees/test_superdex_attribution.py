"""Fresh shared runs by the real engine: whose every step was, and who did not restore.

The engine writes the recording and, beside it, what really happened; nothing of the
truth is known to the attribution.
"""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from isoscope.core.attribution.attributor import attribute
from isoscope.core.isolation.audit import audit
from isoscope.core.isolation.context import Context, Examined
from isoscope.core.recording.registry import load
from tests.environments import environment
from tests.referees.test_superdex_recordings import ENGINE_1_0_0

if TYPE_CHECKING:
    from isoscope.core.isolation.findings import Audit

pytestmark = pytest.mark.referee

RUN = Path(__file__).with_name("engine_shared_run.py")
LABELS = ("env", "episode", "control_step", "substep")


@pytest.fixture(scope="module")
def engine() -> Path:
    return environment("superdex-1.0.0", "3.12", ENGINE_1_0_0)


def specification(**changes: Any) -> dict[str, Any]:
    return {
        "seed": 1,
        "envs": 2,
        "steps": 30,
        "substeps": 2,
        "episode_steps": 1000,
        "shuffled": False,
        "missed": [],
        **changes,
    }


CLEAN = [
    specification(seed=11, envs=2, steps=60),
    specification(seed=12, envs=5, steps=40, shuffled=True),
    specification(seed=13, envs=16, steps=20, substeps=1, shuffled=True),
    specification(seed=14, envs=3, steps=40, substeps=5, episode_steps=9),
]
MISSED = [
    specification(seed=21, envs=3, missed=[(1, 1, 7)]),
    specification(seed=22, envs=4, substeps=1, missed=[(2, 1, 5)]),
    specification(seed=23, envs=6, missed=[(0, 1, 4), (3, 1, 9), (5, 1, 6)]),
]


def made(
    engine: Path, folder: Path, wanted: dict[str, Any]
) -> tuple[Examined, Audit, list[dict[str, Any]]]:
    out = folder / "run"
    command = [engine, RUN, out, json.dumps(wanted)]
    subprocess.run(command, check=True, timeout=300)
    recording = load(out.with_suffix(".h5"))
    examined = Examined(recording, attribute(recording))
    truth = json.loads(out.with_suffix(".truth.json").read_text())["native_steps"]
    return examined, audit(Context(examined)), truth


def assert_right(examined: Examined, truth: list[dict[str, Any]]) -> None:
    assert len(examined.recording) == len(truth)
    labels = examined.attribution.labels
    for name in LABELS:
        expected = np.array([step[name] for step in truth])
        np.testing.assert_array_equal(getattr(labels, name), expected, name)


def named(wanted: dict[str, Any]) -> str:
    order = "shuffled" if wanted["shuffled"] else "in turn"
    return f"{wanted['envs']} envs, M={wanted['substeps']}, {order}"


@pytest.mark.parametrize("wanted", CLEAN, ids=named)
def test_clean_runs(engine: Path, tmp_path: Path, wanted: dict[str, Any]) -> None:
    examined, found, truth = made(engine, tmp_path, wanted)
    assert_right(examined, truth)
    assert found.findings == []


@pytest.mark.parametrize("wanted", MISSED, ids=named)
def test_missed_restores(engine: Path, tmp_path: Path, wanted: dict[str, Any]) -> None:
    examined, found, truth = made(engine, tmp_path, wanted)
    assert_right(examined, truth)
    seen = {(f.id, f.env, f.episode, f.control_step) for f in found.findings}
    assert seen == {("missed-restore", *place) for place in wanted["missed"]}
    for finding in found.findings:
        assert finding.native is not None
        assert finding.other_env == truth[finding.native[0] - 1]["env"]

"""Faults of transitions and consumers, put into a demo and found in its recording."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
import torch

from isoscope.app.demo.recording import DemoRecorder
from isoscope.app.demo.run import DemoRun
from isoscope.app.demo.settings import DemoSettings
from isoscope.core.attribution.attributor import attribute
from isoscope.core.envs.faults.order import FaultOrder, Place
from isoscope.core.envs.faults.registry import all_faults
from isoscope.core.isolation.audit import audit
from isoscope.core.isolation.context import Context, Examined
from isoscope.core.recording.registry import load

if TYPE_CHECKING:
    from pathlib import Path

    from isoscope.core.isolation.findings import Audit

torch.set_num_threads(1)
ROUNDS = 40
# Everything but this is there with scenes that are quick.
NATIVE = ("absent-field", "target-as-action", "observation-unit")
CONSUMER = (
    "reset-row final-observation end-flags-both end-flags-neither aliasing "
    "observation-dtype masked-info handle-as-env return-units frame-restamped "
    "profile-twice profile-units"
).split()
OF_ENV = (
    "end-flags-swapped step-after-done unclipped-action raw-clipped-swap "
    "observation-order"
).split()


def settings_of(name: str | None, **others: Any) -> DemoSettings:
    """Settings of a demo with a fault in environment 1."""
    chosen: dict[str, Any] = {
        "envs": 3,
        "device": "cpu",
        "scene": "shared",
        "frames": True,
        "task_settings": {"max_steps": 9},
    }
    if name is not None:
        kind = all_faults()[name]
        chosen["autoreset"] = kind.MODES[0]
        chosen["faults"] = (FaultOrder(name, Place(1, 2, 3)),)
    return DemoSettings(**(chosen | others))


def recorded(path: Path, settings: DemoSettings) -> tuple[list[Place], Audit]:
    """Run a demo under the tap; where its fault happened, and the audit."""
    file = path / "run.isoscope.h5"
    recorder = DemoRecorder(settings, file)
    try:
        with DemoRun(settings, recorder.around) as run:
            recorder.listen(run)
            rollout = run.parts.rollout
            rollout.begin()
            for _ in range(ROUNDS):
                rollout.round()
            rollout.hand_over()
            happened = [place for fault in run.faults for place in fault.happened]
    finally:
        recorder.close()
    return happened, audited(file)


def audited(file: Path) -> Audit:
    recording = load(file)
    return audit(Context(Examined(recording, attribute(recording))))


def expect(name: str, happened: list[Place], found: Audit) -> None:
    kind = all_faults()[name]
    said = [(f.id, f.env, f.episode, f.control_step, f.message) for f in found.findings]
    assert happened, name
    others = {f.id for f in found.findings} - {*kind.FINDS, *kind.MAY_FIND}
    if name == "step-after-done":  # the reset that was swallowed began no generator
        others -= {"same-seed-every-reset"}
    assert not others, said
    places = {
        (f.env, f.episode, f.control_step) for f in found.findings if f.id in kind.FINDS
    }
    at = happened[0]
    assert (at.env, at.episode, at.control_step) in places, said


@pytest.mark.usefixtures("on_rails")
@pytest.mark.parametrize(
    ("mode", "scene"),
    [
        ("next_step", "shared"),
        ("same_step", "shared"),
        ("disabled", "shared"),
        ("next_step", "resident"),
        ("disabled", "resident"),
    ],
)
def test_a_clean_rollout_has_no_finding(tmp_path: Path, mode: str, scene: str) -> None:
    settings = settings_of(None, autoreset=mode, scene=scene, policy="smooth")
    _, found = recorded(tmp_path, settings)
    assert found.findings == []
    ran = {check.id for check in found.checks if check.ran}
    assert ran >= {all_faults()[name].FINDS[0] for name in CONSUMER}


@pytest.mark.usefixtures("on_rails")
@pytest.mark.parametrize("name", CONSUMER)
def test_a_consumer_s_fault_is_found_where_it_happened(
    tmp_path: Path, name: str
) -> None:
    expect(name, *recorded(tmp_path, settings_of(name)))


@pytest.mark.slow
@pytest.mark.parametrize("name", NATIVE)
def test_one_about_native_fields_is_found(tmp_path: Path, name: str) -> None:
    expect(name, *recorded(tmp_path, settings_of(name)))


@pytest.mark.usefixtures("on_rails")
@pytest.mark.parametrize("name", OF_ENV)
def test_one_of_the_environment_is_found(tmp_path: Path, name: str) -> None:
    expect(name, *recorded(tmp_path, settings_of(name)))

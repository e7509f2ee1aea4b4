"""What is done to the real engine's robots besides the action: pushes and the like.

Forces on links are recorded and done again. Of the rest it is told that it was done, so
that the audit takes nothing that comes of it for a leak between environments.
"""

from __future__ import annotations

import os
import subprocess
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from isoscope.app.doctor.programs import VARIABLE
from isoscope.app.replay_engines import EngineOptions, engine_maker
from isoscope.core.attribution.attributor import attribute
from isoscope.core.isolation.audit import audit
from isoscope.core.isolation.context import Context, Examined
from isoscope.core.recording.labelled.records import UNRECORDED_INPUT
from isoscope.core.recording.registry import load
from isoscope.core.replay.again import ReplayOptions, replay
from isoscope.core.replay.alone import SteppedAgain
from tests.environments import environment
from tests.referees.test_superdex_replay import ENVS, RUN, M
from tests.referees.test_superdex_tap import ENGINE_1_0_1, LINKS

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from isoscope.core.isolation.findings import Audit
    from isoscope.core.recording.labelled.labelled import LabelledRecording
    from isoscope.core.replay.engine import EngineMaker

pytestmark = pytest.mark.referee

HANDLED, HANDLED_AT = 1, 8  # as in the program
POLE = "CartPole/Pole"


@pytest.fixture(scope="module")
def engine() -> Iterator[Path]:
    python = environment("superdex-1.0.1", "3.12", ENGINE_1_0_1)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv(VARIABLE, str(python))
        yield python


@pytest.fixture
def recorded(engine: Path, tmp_path: Path) -> Any:
    """A function: makes the run of this name, and examines it."""

    def made(run: str) -> Examined:
        out = tmp_path / f"{run}.isoscope.h5"
        places = {"PYTHONPATH": str(LINKS), "XDG_RUNTIME_DIR": str(tmp_path)}
        command = [engine, RUN, out, run]
        subprocess.run(command, check=True, timeout=300, env={**os.environ, **places})
        recording = load(out)
        assert recording.problems == []
        return Examined(recording, attribute(recording))

    return made


def labelled(examined: Examined) -> LabelledRecording:
    found = examined.recording.labelled
    assert found is not None
    assert not found.failures()
    return found


def maker(examined: Examined) -> EngineMaker:
    return engine_maker(labelled(examined).identity, EngineOptions())


def audited(examined: Examined) -> Audit:
    """Audited with each environment stepped again alone."""
    with SteppedAgain(examined, maker(examined)) as again:
        return audit(Context(examined, resimulator=again))


def told(examined: Examined) -> list[tuple[str, int, int, int, str]]:
    """Of inputs without values: kind, environment, place, and what was called."""
    labels = examined.attribution.labels
    found = []
    for event in labelled(examined).events():
        if event.kind in ("set_state", UNRECORDED_INPUT):
            place = int(labels.episode[event.row]), int(labels.control_step[event.row])
            assert labels.env[event.row] == event.env
            found.append((event.kind, event.env, *place, event.detail["input"]))
    return found


def test_forces_on_links_are_recorded_and_done_again(recorded: Any) -> None:
    examined = recorded("links")
    labels = examined.attribution.labels
    [pole] = [a for a in examined.recording.actors if a.name == POLE]
    window = pole.fields.tracks["control/force"].read(0, len(examined.recording))
    mine = (labels.env == HANDLED) & (labels.episode == 1)
    rows = [
        np.flatnonzero(mine & (labels.control_step == HANDLED_AT + k)) for k in range(5)
    ]
    assert not window.valid[: rows[0][0]].any()
    assert window.valid[rows[0][0] :].all()
    expected = [(3, 0, 0, 0, 0.5, 0)] * 2 + [(0, 0, 0, 0, 0, -1)] * 2 + [(0,) * 6]
    for at, force in zip(rows, expected, strict=True):
        assert window.values[at].tolist() == [list(force)] * M
    # The others restore states of their own, without it.
    other = window.valid & (labels.env != HANDLED)
    assert other.any()
    assert not window.values[other].any()
    assert told(examined) == []
    again = replay(examined, maker(examined), ReplayOptions(mode="alone"))
    assert again.first_divergence is None
    assert again.compared_steps == ENVS * 40 * M
    assert again.states_equal == again.states_compared > 0
    assert audited(examined).findings == []


def test_a_state_that_is_set_by_hand_is_no_leak(recorded: Any) -> None:
    examined = recorded("placed")
    what = "set_articulated_joint_velocities"
    # Both substeps set it; the resets, which set it too, are told by their states.
    assert told(examined) == [("set_state", HANDLED, 1, HANDLED_AT, what)] * M
    again = replay(examined, maker(examined), ReplayOptions(mode="alone"))
    first = again.first_divergence
    assert first is not None
    assert (first.env, first.episode, first.control_step) == (HANDLED, 1, HANDLED_AT)
    assert "somebody set the state before it" in first.why
    assert audited(examined).findings == []


def test_an_input_without_values_is_told_and_nothing_is_claimed(recorded: Any) -> None:
    examined = recorded("hurried")
    what = "set_articulated_target_velocity"
    assert told(examined) == [(UNRECORDED_INPUT, HANDLED, 1, HANDLED_AT, what)]
    again = replay(examined, maker(examined), ReplayOptions(mode="alone"))
    assert any(what in line for line in again.not_checkable)
    assert again.claims.bit_for_bit.answer == "not_checkable"
    assert audited(examined).findings == []

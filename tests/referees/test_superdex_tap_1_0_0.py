"""The engine's release that has a recorder, through the tap: both tell the same.

Transitions are what the environments themselves returned, bit for bit, and of each
native step the tap has what the engine's own recorder wrote.
"""

from __future__ import annotations

import os
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
from tests.referees.test_superdex_tap import LINKS

if TYPE_CHECKING:
    from isoscope.core.recording.labelled.labelled import LabelledRecording
    from isoscope.core.recording.model import Recording

pytestmark = pytest.mark.referee

RUN = Path(__file__).with_name("engine_both_recorders_run.py")
ENVS, STEPS = 3, 40
# What the recorder writes of rigid bodies, under the names that the tap gives it too.
SAME = ("translation", "rotation", "translationCom", "rotationCom", "vcom", "omega")


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    needs = (*ENGINE_1_0_0, "msgspec", "pyzmq")
    python = environment("superdex-1.0.0", "3.12", needs)
    out = tmp_path_factory.mktemp("both") / "run"
    places = {"PYTHONPATH": str(LINKS), "XDG_RUNTIME_DIR": str(out.parent)}
    command = [python, RUN, out, str(ENVS), str(STEPS)]
    subprocess.run(command, check=True, timeout=300, env={**os.environ, **places})
    return out


@pytest.fixture(scope="module")
def tapped(run: Path) -> Recording:
    recording = load(Path(f"{run}.isoscope.h5"))
    assert recording.problems == []
    return recording


def labelled(recording: Recording) -> LabelledRecording:
    found = recording.labelled
    assert found is not None
    return found


def test_every_transition_is_what_was_returned(run: Path, tapped: Recording) -> None:
    told = labelled(tapped).transitions()
    after = values(tapped, "observation_after", len(told))
    raw = values(tapped, "raw_action", len(told))
    with np.load(f"{run}.npz") as file:
        returned = {name: file[name] for name in file.files}
    # The program wrote its calls down in order, resets among them.
    assert len(told) == len(returned["env"])
    assert (returned["control_step"] > 0).sum() == ENVS * STEPS
    assert (returned["control_step"] == 0).sum() > ENVS  # some episodes ended
    for k, row in enumerate(told):
        assert row.env == returned["env"][k]
        assert row.control_step == returned["control_step"][k]
        assert after[k].tobytes() == returned["obs"][k].tobytes()
        assert row.valid == (row.control_step > 0)
        if row.valid:
            assert row.reward == returned["reward"][k]
            assert row.terminated == returned["terminated"][k]
            assert row.truncated == returned["truncated"][k]
            assert raw[k].tobytes() == returned["actions"][k].tobytes()


def values(recording: Recording, group: str, count: int) -> Any:
    track = labelled(recording).track("transitions", group, "value")
    return track.read(0, count).values


def test_the_engine_s_own_recorder_tells_the_same(run: Path, tapped: Recording) -> None:
    native = load(Path(f"{run}.h5"))
    assert native.format == "superdex-events"
    assert len(native) == len(tapped) > ENVS * STEPS * 2
    rows = len(native)
    assert native.steps.h_s.tobytes() == tapped.steps.h_s.tobytes()
    gravity = native.steps.gravity, tapped.steps.gravity
    assert np.array_equal(*gravity)
    ours = {actor.name: actor for actor in tapped.actors}
    compared = 0
    for actor in native.actors:
        for name in (*SAME, "pose"):
            theirs = actor.fields.get(name)
            if theirs is None or name not in ours[actor.name].fields.tracks:
                continue
            one = theirs.read(0, rows)
            two = ours[actor.name].fields.tracks[name].read(0, rows)
            assert one.valid.all()
            assert two.valid.all()
            assert one.values.dtype == two.values.dtype
            assert one.values.tobytes() == two.values.tobytes(), (actor.name, name)
            compared += 1
    # Two links with all of their fields, and the articulation's pose.
    assert compared == 2 * len(SAME) + 1


def test_nothing_is_found_wrong(tapped: Recording) -> None:
    identity = labelled(tapped).identity
    assert (identity.engine, identity.engine_version) == ("superdex", "1.0.0")
    assert not labelled(tapped).failures()
    examined = Examined(tapped, attribute(tapped))
    assert audit(Context(examined)).findings == []

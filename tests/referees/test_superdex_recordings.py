"""The real engine writes recordings here and now; the reader must give back the same.

The engine's own environment reads the file with its own h5py, in the plain way, so that
nothing of ours judges itself.
"""

from __future__ import annotations

import subprocess
from pathlib import Path

import numpy as np
import pytest

from isoscope.core.recording.registry import load
from tests.environments import environment

pytestmark = pytest.mark.referee

DATA = Path(__file__).parents[1] / "data"
ENGINE_1_0_0 = (
    "superdex-lab==1.0.0",
    "superdex-physics==1.0.0",
    "superdex-robotics==1.0.0",
    "trimesh",
    "h5py",
)
CASES = ("rigid_contacts_all", "create_destroy", "soft_body", "shared_cartpole_2env")

# Runs in the engine's environment: every value of every step, as plain h5py gives it.
DUMP = """
import sys, h5py, numpy as np
out = {}
with h5py.File(sys.argv[1], "r") as file:
    row = 0
    for number in range(len(file["events"])):
        event = file["events"][str(number)]
        if event.attrs["eventType"] != b"Step":
            continue
        out[f"{row}|step|timeTotal"] = event.attrs["timeTotal"]
        for handle, actor in event.get("actors", {}).items():
            for name, value in actor.attrs.items():
                out[f"{row}|{handle}|{name}"] = value
            for name, dataset in actor.items():
                out[f"{row}|{handle}|{name}"] = dataset[()]
        row += 1
np.savez(sys.argv[2], **out)
"""


@pytest.fixture(scope="module")
def engine() -> Path:
    return environment("superdex-1.0.0", "3.12", ENGINE_1_0_0)


@pytest.mark.parametrize("case", CASES)
def test_a_fresh_recording_is_read_as_the_engine_wrote_it(
    engine: Path, tmp_path: Path, case: str
) -> None:
    recipe = DATA / "recipe" / "make_recordings.py"
    subprocess.run([engine, recipe, tmp_path, case], check=True, timeout=300)
    written = tmp_path / f"{case}.h5"
    dumped = tmp_path / "dump.npz"
    subprocess.run([engine, "-c", DUMP, written, dumped], check=True, timeout=300)

    recording = load(written)

    assert recording.complete
    assert recording.problems == []
    compared = 0
    with np.load(dumped) as expected:
        for key in expected.files:
            row_text, owner, field = key.split("|")
            row = int(row_text)
            if owner == "step":
                got = recording.scene[field].at(row)
            else:
                actor = next(
                    a
                    for a in recording.actors
                    if a.handle == int(owner) and a.alive(row)
                )
                got = actor.fields[field].at(row)
            want = np.asarray(expected[key])
            assert got is not None, key
            assert (got.dtype, got.shape) == (want.dtype, want.shape), key
            assert got.tobytes() == want.tobytes(), key
            compared += 1
    assert compared > 500
    last = len(recording)
    total = sum(
        track.present_count()
        for actor in recording.actors
        for track in actor.fields.tracks.values()
    )
    assert total + last == compared

"""Every value of every native step as the real engine says it, wherever it was read."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path

import numpy as np
import pytest

import isoscope.app.bench.record_bench as bench
from isoscope.core.recording.labelled import records as r
from isoscope.core.recording.registry import load
from tests.environments import environment
from tests.referees.test_superdex_tap import ENGINE_1_0_1, LINKS

pytestmark = pytest.mark.referee
RUN = Path(__file__).parent / "engine_values_run.py"


@pytest.mark.parametrize("bodies", [0, 6])
def test_values_and_digests_are_the_engines(tmp_path: Path, bodies: int) -> None:
    engine = environment("superdex-1.0.1", "3.12", ENGINE_1_0_1)
    out = tmp_path / "run"
    places = {"PYTHONPATH": str(LINKS), "XDG_RUNTIME_DIR": str(tmp_path)}
    subprocess.run(
        [engine, RUN, out, bench.SCRIPT, str(bodies)],
        check=True,
        timeout=300,
        env={**os.environ, **places},
    )
    recording = load(Path(f"{out}.isoscope.h5"))
    assert recording.problems == []
    assert recording.labelled is not None
    said = json.loads(Path(f"{out}.json").read_text())
    natives = recording.labelled.records("native", r.NativeStep)
    said = said[len(said) - len(natives) :]  # the first were before the tap saw it
    assert len(natives) >= 3 * 80 * 2
    assert [n.digest_after.hex() for n in natives] == [d for _, d in said]
    compared = 0
    for actor in recording.actors:
        for name in said[-1][0].get(actor.name, ()):
            window = recording.track_of(actor, name).read(0, len(recording))
            for k, (values, _) in enumerate(said):
                told = [float.fromhex(x) for x in values[actor.name][name]]
                assert np.all(window.valid[k]), (actor.name, name, k)
                expected = np.array(told, window.values.dtype).tobytes()
                assert window.values[k].tobytes() == expected, (actor.name, name, k)
                compared += 1
    assert compared >= len(natives) * (15 + 6 * bodies)
    assert not recording.labelled.records("dropped", r.Dropped)

"""The generated runs that attribution is measured on, and their files."""

from __future__ import annotations

from typing import TYPE_CHECKING

import h5py
import numpy as np
import pytest

from isoscope.app.bench import attribute_bench
from isoscope.app.bench.event_file import write_run
from isoscope.app.bench.shared_run import generate
from isoscope.core.attribution.attributor import attribute
from isoscope.core.recording.superdex.reader import EventSource

if TYPE_CHECKING:
    from pathlib import Path

LABELS = ("env", "episode", "control_step", "substep", "kind")


@pytest.mark.parametrize("order", ["fixed", "rounds", "random"])
@pytest.mark.parametrize(("envs", "substeps"), [(3, 1), (64, 2), (300, 4)])
def test_every_generated_step_comes_back(order: str, envs: int, substeps: int) -> None:
    made = generate(envs, 5000, order=order, substeps=substeps, seed=2)  # type: ignore[arg-type]  # a parametrized literal
    assert len(made) >= 5000
    found = attribute(made.recording())
    linked = found.linked
    assert linked.mean() > 0.9
    for name in LABELS:
        np.testing.assert_array_equal(
            getattr(found.labels, name)[linked], getattr(made.truth, name)[linked]
        )
    assert found.missed_restores == []


def test_a_written_run_is_an_ordinary_recording(tmp_path: Path) -> None:
    made = generate(5, 400, seed=4)
    path = tmp_path / "run.h5"
    write_run(made, path)
    source = EventSource(path)
    source.index()
    source.close()
    assert source.slow_events == 0  # the fast scan knows the form
    assert source.recording.problems == []
    memory = made.recording()
    read = {a.handle: a for a in source.recording.actors}
    for actor in memory.actors:
        for name, track in actor.fields.tracks.items():
            there = read[actor.handle].fields[name]
            assert there.present_count() == len(made), name
            for row in (0, 1, 200, len(made) - 1):
                np.testing.assert_array_equal(there.at(row), track.at(row))
    np.testing.assert_array_equal(source.recording.steps.h_s, made.h_s)
    np.testing.assert_array_equal(source.recording.steps.time_s, made.time_s)
    with h5py.File(path, "r", locking=False) as file:
        step = file["events"]["100"]
        assert step.attrs["eventType"] == b"Step"
        row = 100 - len(memory.actors)
        pole = step["actors"][str((1 << 32) + 2)]
        np.testing.assert_array_equal(
            pole.attrs["vcom"],
            made.actors[("CartPole/Pole", "Rigid", (1 << 32) + 2)]["vcom"][row],
        )


def test_the_benchmark_says_what_it_measured(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(attribute_bench, "MANY", 50)
    figures = attribute_bench.run(steps=1500)
    assert figures["runs"] == 5
    assert figures["wrong"] == 0
    assert figures["findings"] == 0
    assert figures["steps"] >= 1500
    assert figures["ratio_index"] > 0
    assert figures["ratio_envs"] > 0

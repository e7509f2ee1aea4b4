"""Episodes of labelled recordings: what the recorder was told, and nothing else."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from isoscope.core.dataset.transitions.door import episodes_of
from isoscope.core.errors import UsageError
from isoscope.core.recording.labelled import records as r
from isoscope.core.recording.labelled.recorder import Recorder
from isoscope.core.recording.registry import load

if TYPE_CHECKING:
    from pathlib import Path

    from isoscope.core.dataset.model import Episodes

FIELDS = (
    r.Field(name="observation", shape=(2,), group="observation_before", unit="m"),
    r.Field(name="observation", shape=(2,), group="observation_after", unit="m"),
    r.Field(name="action", shape=(1,), group="action", low=(-1.0,), high=(1.0,)),
    r.Field(name="action", shape=(1,), group="raw_action"),
    r.Field(name="upright", group="reward_term"),
    r.Field(name="speed", group="info"),
)


def made(path: Path, rows: list[dict[str, Any]], fields=FIELDS) -> Episodes:
    """A recording of these rows; o_k of the row that leads to value v is (v-1, v)."""
    identity = r.Identity(environments=2, simulation_hz=50, substeps=2)
    with Recorder(path, identity) as recorder:
        frame = recorder.frame(fields, "f4", over="transitions")
        for row in rows:
            value = row.pop("value", None)
            if value is not None:
                put = {"observation_before": [value, 0], "reward_term": value / 10}
                put |= {"observation_after": [value + 1, 0], "action": [value / 100]}
                put |= {"raw_action": [value]}
                for index, field in enumerate(fields):
                    if field.group in put:
                        frame.put(index, put[field.group])
            recorder.transition(r.Transition(**row), frame)
    return episodes_of(load(path))


def step(env: int, episode: int, k: int, value: float, **more: Any) -> dict[str, Any]:
    told = {"env": env, "episode": episode, "control_step": k, "value": value}
    return {**told, "reward": value, "terminated": 0, "truncated": 0, **more}


def test_episodes_as_they_were_told(tmp_path: Path) -> None:
    episodes = made(
        tmp_path / "run.isoscope.h5",
        [
            {"env": 0, "episode": 1, "control_step": 0, "seed": 7, "valid": 0},
            step(0, 1, 1, 10, valid=1, first_row=2, last_row=3),
            step(1, 1, 1, 50),
            step(0, 1, 2, 11, valid=1, terminated=1, truncated=1, last_row=7),
            step(1, 1, 2, 51),
        ],
    )
    first, second = episodes.episodes
    assert (first.id, first.length, first.seed) == ("env0-ep1", 2, 7)
    assert (first.terminated, first.truncated, first.complete) == (True, True, True)
    assert first.native == (2, 7)
    # Neither flag, and the recording just ends: incomplete, and nothing is made up.
    assert (second.terminated, second.truncated) == (False, False)
    assert (second.complete, second.seed, second.native) == (False, None, None)
    assert episodes.control_hz == 25
    observed = episodes.read(0, "observation")
    assert observed.tolist() == [[10, 0], [11, 0], [12, 0]]
    assert episodes.read(0, "observation", 2).tolist() == [[12, 0]]
    assert episodes.read(0, "observation", 0, 1).tolist() == [[10, 0]]
    assert len(episodes.read(0, "observation", 3)) == 0
    assert episodes.read(1, "raw_action").tolist() == [[50], [51]]
    assert episodes.read(1, "reward").tolist() == [50, 51]
    assert episodes.read(0, "terminated").tolist() == [False, True]
    features = {f.name: f for f in episodes.features}
    assert features["action"].low == (-1.0,)
    assert features["observation"].units == ("m", "m")
    assert [(d.count, d.why) for d in episodes.dropped] == [
        (1, "resets, which are no transitions")
    ]


def test_rows_that_only_reset_are_left_out(tmp_path: Path) -> None:
    episodes = made(
        tmp_path / "run.isoscope.h5",
        [
            step(0, 1, 1, 10, valid=1, truncated=1),
            step(0, 2, 1, 99, valid=0),
            step(0, 2, 1, 20, valid=1),
        ],
    )
    assert [e.length for e in episodes.episodes] == [1, 1]
    assert episodes.read(1, "observation").tolist() == [[20, 0], [21, 0]]
    assert [(d.count, d.why) for d in episodes.dropped] == [
        (1, "rows that only reset (autoreset)")
    ]


def test_what_is_absent_is_nan_or_no_flag(tmp_path: Path) -> None:
    episodes = made(
        tmp_path / "run.isoscope.h5",
        [step(0, 1, 1, 10), {"env": 0, "episode": 1, "control_step": 2}],
    )
    assert np.isnan(episodes.read(0, "reward_term/upright")[1])
    assert np.isnan(episodes.read(0, "info/speed")).all()
    assert "terminated" not in {f.name for f in episodes.features}
    (only,) = episodes.episodes
    assert (only.terminated, only.truncated, only.complete) == (None, None, False)


def test_large_observations_are_told_once(tmp_path: Path) -> None:
    after = [f for f in FIELDS if f.group != "observation_before"]
    rows = [
        {"env": 0, "episode": 1, "control_step": 0, "value": 9},
        step(0, 1, 1, 10),
        step(0, 1, 2, 11),
    ]
    episodes = made(tmp_path / "run.isoscope.h5", rows, after)
    assert episodes.read(0, "observation")[:, 0].tolist() == [10, 11, 12]
    assert episodes.read(0, "observation", 1, 2)[:, 0].tolist() == [11]
    unknown = made(tmp_path / "cut.isoscope.h5", [step(0, 1, 1, 10)], after)
    assert "observation" not in {f.name for f in unknown.features}
    assert any("not known where episodes begin" in d.why for d in unknown.dropped)


def test_a_recording_without_transitions_has_none(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="holds no transitions"):
        made(tmp_path / "run.isoscope.h5", [])


def test_what_is_not_there_is_named(tmp_path: Path) -> None:
    episodes = made(tmp_path / "run.isoscope.h5", [step(0, 1, 1, 10)])
    with pytest.raises(UsageError, match="no feature 'obs'; it has observation"):
        episodes.read(0, "obs")
    with pytest.raises(UsageError, match="no episode 1"):
        episodes.read(1, "reward")

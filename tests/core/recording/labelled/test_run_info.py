"""What a labelled recording tells of its run: steps, ends, chunks, failures, drops."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from isoscope.core.jsonform import encode
from isoscope.core.recording.info import info
from isoscope.core.recording.labelled import records as r
from isoscope.core.recording.labelled.recorder import Recorder
from isoscope.core.recording.labelled.run_info import (
    LISTED_AT_MOST,
    RunInfo,
    run_info,
)
from isoscope.core.recording.registry import load

if TYPE_CHECKING:
    from pathlib import Path

FAILURES = LISTED_AT_MOST + 3


def recorded(file: Path) -> RunInfo:
    identity = r.Identity(
        engine="superdex",
        engine_version="1.0.1",
        factory="train.py:make",
        extra={"environment": "CartPole-v1"},
        environments=2,
        seeds=[7, None],
    )
    with Recorder(file, identity) as recorder:
        for step in range(4):
            recorder.transition(
                r.Transition(
                    env=0,
                    episode=1,
                    control_step=step,
                    terminated=int(step == 3),
                    truncated=0,
                    valid=int(step > 0),
                )
            )
        # a row that only resets is no control step, whatever its flags
        recorder.transition(
            r.Transition(env=0, episode=2, control_step=1, truncated=1, valid=0)
        )
        recorder.reset(r.Reset(env=0, episode=1, seed=7))
        for state in ("policy", "flushed", "policy"):
            recorder.chunk(r.ChunkEvent(state=state))
        recorder.change(r.ConfigurationChange(key="gravity", new=[0, 0, -9.8]))
        recorder.change(r.ConfigurationChange(key="gravity", old=1, new=2))
        for number in range(FAILURES):
            recorder.failure(r.Failure(what="step", message=str(number), env=1))
        recorder.dropped(r.Dropped(what="frames", count=3, why="too slow"))
        recorder.dropped(r.Dropped(what="frames", count=4, why="too slow"))
    labelled = load(file).labelled
    assert labelled is not None
    return run_info(labelled)


def test_everything_is_counted(tmp_path: Path) -> None:
    found = recorded(tmp_path / "a.isoscope.h5")
    assert (found.engine, found.environment) == ("superdex 1.0.1", "CartPole-v1")
    assert (found.environments, found.seeds) == (2, [7, None])
    assert (found.control_steps, found.episodes_ended, found.resets) == (3, 1, 1)
    assert found.configuration_changes == 1  # the first value is no change
    assert {c.name: c.count for c in found.chunks} == {"policy": 2, "flushed": 1}
    assert [(d.name, d.count) for d in found.dropped] == [("frames (too slow)", 7)]
    assert found.ended
    assert found.failures == FAILURES
    assert len(found.failed) == LISTED_AT_MOST
    assert (found.failed[0].env, found.failed[0].row) == (1, None)


def test_info_has_it_for_labelled_recordings_only(
    tmp_path: Path, recordings: Path
) -> None:
    file = tmp_path / "a.isoscope.h5"
    recorded(file)
    labelled = msgspec.json.decode(encode(info(load(file))))
    assert labelled["run"]["control_steps"] == 3
    bare = msgspec.json.decode(encode(info(load(recordings / "create_destroy.h5"))))
    assert "run" not in bare

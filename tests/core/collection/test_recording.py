from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

import gymnasium
import numpy as np
import pytest

from isoscope.core import tap
from isoscope.core.collection.collect import collect
from isoscope.core.collection.errors import CollectionError
from isoscope.core.collection.settings import CollectSettings, PolicyName, Runner
from isoscope.core.errors import UsageError
from isoscope.core.recording.labelled.reader import LabelledSource

if TYPE_CHECKING:
    from pathlib import Path


@pytest.mark.parametrize("runner", [Runner.SYNC, Runner.ASYNC])
def test_chunks_and_steps_are_in_one_recording(tmp_path: Path, runner: Runner) -> None:
    settings = CollectSettings(
        env="CartPole-v1",
        envs=4,
        chunk=4,
        steps=32,
        workers=2,
        policy=PolicyName.RANDOM,
        runner=runner,
    )
    file = tmp_path / "run.isoscope.h5"
    report = collect(settings, record=file)
    source = LabelledSource(file)
    try:
        source.index()
        labelled = source.recording.labelled
        assert labelled is not None
        told = Counter(event.state for event in labelled.chunks())
        assert told["policy part"] == report.chunks.policy_parts == 16
        assert told["joined"] == report.chunks.joined
        assert told["flushed"] == report.chunks.flushed
        assert {event.rank for event in labelled.chunks()} == {0, 1}
        assert labelled.identity.seeds == [0, 1, 2, 3]  # whoever was reset first
        envs = set(labelled.column("transitions", "env").tolist())
        assert envs == {0, 1, 2, 3}
    finally:
        source.close()


def test_native_steps_are_recorded_and_change_nothing(tmp_path: Path) -> None:
    settings = CollectSettings(
        env="isoscope.app.environments:isoscope/CartPole-v0",
        envs=4,
        chunk=2,
        steps=8,
        workers=2,
        policy=PolicyName.RANDOM,
        seed=5,
    )
    collect(settings, out=tmp_path / "plain")
    file = tmp_path / "run.isoscope.h5"
    done = collect(settings, out=tmp_path / "told", record=file)
    for shard in done.shards:
        told = (tmp_path / "told" / shard).read_bytes()
        assert told == (tmp_path / "plain" / shard).read_bytes()
    source = LabelledSource(file)
    try:
        source.index()
        labelled = source.recording.labelled
        assert labelled is not None
        assert labelled.identity.seeds == [5, 6, 7, 8]
        of = np.bincount(labelled.column("native", "env").astype(np.int64))
        assert len(of) == 4
        assert (of >= 2 * 8).all()
    finally:
        source.close()


def test_a_tap_of_the_user_s_own_is_left_alone(tmp_path: Path) -> None:
    env = tap.attach(gymnasium.make("CartPole-v1"))
    try:
        mine = tap.current()
        settings = CollectSettings(env="CartPole-v1", steps=32)
        with pytest.raises(UsageError, match="has a tap already"):
            collect(settings, record=tmp_path / "run.isoscope.h5")
        assert mine is not None
        assert tap.current() is mine
        assert mine.on
        assert not (tmp_path / "run.isoscope.h5").exists()
    finally:
        tap.detach()
        env.close()


def test_a_run_on_ray_is_not_recorded(tmp_path: Path) -> None:
    settings = CollectSettings(env="CartPole-v1", steps=32)
    with pytest.raises(CollectionError, match="Ray"):
        collect(settings, on_ray=True, record=tmp_path / "run.isoscope.h5")

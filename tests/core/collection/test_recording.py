from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

import pytest

from isoscope.core.collection.collect import collect
from isoscope.core.collection.errors import CollectionError
from isoscope.core.collection.settings import CollectSettings, PolicyName, Runner
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
        envs = set(labelled.column("transitions", "env").tolist())
        assert envs == {0, 1, 2, 3}
    finally:
        source.close()


def test_a_run_on_ray_is_not_recorded(tmp_path: Path) -> None:
    settings = CollectSettings(env="CartPole-v1", steps=32)
    with pytest.raises(CollectionError, match="Ray"):
        collect(settings, on_ray=True, record=tmp_path / "run.isoscope.h5")

"""The same run on Ray, with its producer in another process: equal bit for bit."""

from __future__ import annotations

import os
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest
import torch

from isoscope.core.channel.local import LocalChannel
from isoscope.core.channel.ray_channel import RayChannel
from isoscope.core.collection.collect import collect
from isoscope.core.collection.errors import CollectionError
from isoscope.core.collection.producer import Producer
from isoscope.core.collection.run import PRODUCER, channel_settings
from isoscope.core.collection.settings import CollectSettings, PolicyName, Runner
from tests import ray_cluster
from tests.core.collection.ray_roles import RUN
from tests.core.collection.test_loops import numbers

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

TIMEOUT_S = 60.0


@pytest.fixture(scope="module", autouse=True)
def cluster() -> Iterator[str]:
    with ray_cluster.running() as address:
        yield address


@pytest.fixture
def one_thread() -> Iterator[None]:
    """Compute with one thread, as a Ray worker does: sums have other last bits else."""
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(threads)


@pytest.mark.timeout(120)
@pytest.mark.usefixtures("one_thread")
def test_a_second_process_on_ray_collects_the_same_bit_for_bit() -> None:
    settings = {**channel_settings(RUN), "timeout_s": TIMEOUT_S}
    there = RayChannel.create("equal", **settings)
    with subprocess.Popen(
        [sys.executable, "-m", "tests.core.collection.ray_roles", "equal"],
        env={**os.environ, "OMP_NUM_THREADS": "1"},
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        came = list(there.items(consumer=0))
        _, said = process.communicate(timeout=TIMEOUT_S)
        assert process.returncode == 0, said
    assert there.waiting() == ()
    assert there.status().losses == ()
    summary = there.summary()
    there.end()

    here = LocalChannel(**settings)
    with here.producer(PRODUCER) as sender:
        producer = Producer(RUN, sender)
        for step in range(RUN.training_steps):
            producer.run_step(step)
        producer.close()
    expected = list(here.items(consumer=0))

    assert summary == here.summary()
    assert len(came) == len(expected) == 6
    for one, other in zip(came, expected, strict=True):
        left, right = numbers(one), numbers(other)
        assert left.keys() == right.keys()
        for name in left:
            assert left[name].dtype is right[name].dtype
            assert torch.equal(
                left[name].contiguous().view(torch.uint8),
                right[name].contiguous().view(torch.uint8),
            ), name
        assert one.model_weights_id == other.model_weights_id
        assert one.max_episode_length == other.max_episode_length


@pytest.mark.usefixtures("one_thread")
@pytest.mark.parametrize("runner", [Runner.SYNC, Runner.DECOUPLED])
def test_a_whole_run_writes_the_same(runner: Runner, tmp_path: Path) -> None:
    run = CollectSettings(
        env="CartPole-v1", envs=4, steps=32, horizon=16, runner=runner
    )
    there = collect(run, out=tmp_path / "there", on_ray=True)
    here = collect(run, out=tmp_path / "here")
    assert there.chunks == here.chunks
    assert there.outputs == here.outputs
    assert there.returns == here.returns
    assert there.transitions == here.transitions
    if runner is Runner.SYNC:
        for name in here.shards:
            one, other = (tmp_path / side / name for side in ("there", "here"))
            assert one.read_bytes() == other.read_bytes()


def test_what_fails_in_the_worker_is_told_here() -> None:
    run = CollectSettings(env="Pendulum-v1", envs=2, steps=8, policy=PolicyName.LINEAR)
    with pytest.raises(CollectionError, match="gains are known for CartPole only"):
        collect(run, on_ray=True)

"""Many chunks from four processes, out of order, doubled, incomplete, one killed."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING, Any

import pytest

from isoscope.core.channel.local import LocalChannel
from isoscope.core.channel.processes import start_process
from isoscope.core.collection.counted import CountedCollector
from tests.core.collection import soak_plan
from tests.core.collection.soak_plan import CFG, CHUNKS, Expected, expected, plan

if TYPE_CHECKING:
    from isoscope.core.trajectory.keys import TrajectoryKey

PRODUCERS, ACTORS, SEED = 4, 2, 20261130
KILLED = 2  # the producer that dies, in the middle of its work


def soak(chunks: int) -> None:
    each = chunks // PRODUCERS
    plans = [plan(SEED, rank, each) for rank in range(PRODUCERS)]
    die_at = [-1] * PRODUCERS
    die_at[KILLED] = len(plans[KILLED]) // 2
    plans[KILLED] = plans[KILLED][: die_at[KILLED]]

    collector = CountedCollector()
    channel = LocalChannel(
        collector=collector,
        dispatcher="least_loaded",
        cfg=CFG,
        options={"env_world_size": PRODUCERS},
        producers=[f"env-{rank}" for rank in range(PRODUCERS)],
        consumers=range(ACTORS),
        timeout_s=120.0,
    )
    taken: list[list[Any]] = [[] for _ in range(ACTORS)]

    def consume(actor: int) -> None:
        taken[actor].extend(map(what, channel.items(consumer=actor)))

    threads = [threading.Thread(target=consume, args=(a,)) for a in range(ACTORS)]
    processes = [
        start_process(
            channel,
            f"env-{rank}",
            soak_plan.produce,
            *(SEED, rank, each, die_at[rank]),
        )
        for rank in range(PRODUCERS)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for process in processes:
        process.join(60)

    results = [expected(sends) for sends in plans]
    check_what_came(taken, results)
    counts = collector.counts()
    check_the_rest(collector, results)
    halves = sum(len(sends) for sends in plans)
    assert counts.policy_parts + counts.env_parts == halves
    assert counts.duplicates == sum(r.repeated for r in results) > 0
    assert counts.failed == sum(r.refused for r in results)
    (loss,) = channel.status().losses
    assert loss.producer == f"env-{KILLED}"
    assert loss.reason == "its process died (killed by signal 9)"
    assert loss.sources == ((KILLED, 0),)
    own = [
        line
        for line in loss.waiting
        if f"env_rank {KILLED} " in line or "scope" in line
    ]
    assert len(own) == len(loss.waiting) > 0
    assert [process.exitcode for process in processes] == [0, 0, -9, 0]


def what(trajectory: Any) -> tuple[int, int]:
    """Which source and step a trajectory is of; all its numbers have to say so."""
    numbers = trajectory.actions[:, :, 0]
    rank = int(trajectory.forward_inputs["rank"][0, 0, 0])
    step = int(numbers[0, 0]) // CHUNKS
    for chunk in range(CHUNKS):
        assert (numbers[chunk] == step * CHUNKS + chunk).all()
    assert trajectory.rewards[:, :, 0].equal(numbers)
    assert (trajectory.forward_inputs["rank"] == rank).all()
    assert trajectory.prev_logprobs[:, :, 0].tolist() == [[0.0, 1.0]] * CHUNKS
    assert trajectory.dones.shape == (CHUNKS + 1, soak_plan.BATCH, 1)
    return rank, step


def check_what_came(taken: list[list[Any]], results: list[Expected]) -> None:
    came = [item for items in taken for item in items]
    wanted = {(rank, step) for rank, r in enumerate(results) for step in r.whole}
    assert len(came) == len(wanted)
    assert set(came) == wanted
    assert abs(len(taken[0]) - len(taken[1])) <= 1


def check_the_rest(collector: CountedCollector, results: list[Expected]) -> None:
    left = collector.finish()

    def numbered(keys: Any) -> set[tuple[int, int]]:
        return {number_of(key) for key in keys}

    def wanted(name: str) -> set[tuple[int, int]]:
        return {(rank, n) for rank, r in enumerate(results) for n in getattr(r, name)}

    assert numbered(item.key for item in left.halves) == wanted("half")
    assert numbered(item.key for item in left.fragments) == wanted("fragments")
    stored = [key for scope in left.scopes for key in scope.stored]
    assert numbered(stored) == wanted("stored")
    assert len(stored) == len(set(stored))
    assert left.chunks == ()


def number_of(key: TrajectoryKey) -> tuple[int, int]:
    return key.env_rank, key.step_id * CHUNKS + key.chunk_id


@pytest.mark.timeout(180)
def test_five_thousand_chunks_lose_nothing() -> None:
    soak(5_000)


@pytest.mark.slow
@pytest.mark.timeout(3600)
def test_two_hundred_thousand_chunks_lose_nothing() -> None:
    soak(200_000)

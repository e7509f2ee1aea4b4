"""What waits for what, since when, and what never completed (H4)."""

from __future__ import annotations

import sys
import threading
from typing import Any

import pytest

from isoscope.core import jsonform
from isoscope.core.trajectory.events import Stage
from isoscope.core.trajectory.pending import missing_spans
from tests.core.trajectory import runs
from tests.core.trajectory.runs import config, env, items, key, policy


class Time:
    """A clock that stands until it is told."""

    def __init__(self) -> None:
        self.now_s = 100.0

    def __call__(self) -> float:
        return self.now_s


@pytest.fixture
def time() -> Time:
    return Time()


def test_nothing_waits_at_first(time: Time) -> None:
    left = runs.collector(config(), clock=time).pending()
    assert not left
    assert left.lines() == []
    assert left.oldest_s == 0


def test_a_half_without_the_other(time: Time) -> None:
    made = runs.collector(config(chunks=2), clock=time)
    items(made, env(key()))
    time.now_s += 3
    items(made, policy(key(1)))
    time.now_s += 2
    left = made.pending()
    assert [(h.key, h.has, h.waits_for, h.age_s) for h in left.halves] == [
        (key(), "env", "policy", 5),
        (key(1), "policy", "env", 2),
    ]
    assert left.oldest_s == 5
    assert "waits for its policy half since 5 s" in left.lines()[0]


def test_fragments_say_which_rows_are_missing(time: Time) -> None:
    made = runs.collector(config(envs=6), clock=time)
    items(made, policy(key(), 1, 4), policy(key(), 2, 1))
    time.now_s += 7
    (waiting,) = made.pending().fragments
    assert waiting.half == "policy"
    assert waiting.have == ((1, 2), (4, 1))
    assert waiting.missing == ((0, 1), (3, 1), (5, 1))
    assert waiting.fits
    assert waiting.age_s == 7
    assert "waits for rows 0, 3, 5" in str(waiting)


def test_a_scope_says_which_chunks_are_missing(time: Time) -> None:
    made = runs.collector(config(epochs=2, chunks=2), clock=time)
    items(made, policy(key(1)), env(key(1)))
    time.now_s += 1
    (scope,) = made.pending().scopes
    assert scope.scope == (0, 0, 0)
    assert scope.stored == (key(1),)
    assert scope.expected == 4
    assert scope.missing == (key(0), key(0, epoch=1), key(1, epoch=1))
    assert scope.age_s == 1
    assert "has 1 of 4 chunks" in str(scope)


def test_a_scope_of_all_sources(time: Time) -> None:
    cfg = config(envs=4, stages=2, runner={"use_training_pipeline": True})
    made = runs.collector(cfg, env_world=2, clock=time)
    of = key(rank=1, stage=1)
    items(made, policy(of), env(of))
    (scope,) = made.pending().scopes
    assert scope.scope == (0, 0)
    assert [k.source for k in scope.missing] == [(0, 0), (0, 1), (1, 0)]


def test_a_chunk_that_failed_says_why(time: Time) -> None:
    made = runs.collector(config(rollout={"collect_transitions": True}), clock=time)
    items(made, policy(key()))
    with pytest.raises(ValueError, match="next_obs is missing"):
        made.collect(env(key()), None)
    time.now_s += 4
    (chunk,) = made.pending().chunks
    assert chunk.key == key()
    assert "next_obs is missing" in chunk.problem
    assert chunk.age_s == 4


def test_the_end_of_the_stream_lists_what_never_completed(time: Time) -> None:
    made = runs.collector(config(envs=2, chunks=2), clock=time)
    items(made, policy(key(0), 2), env(key(0), 2), policy(key(1), 1, 1))
    with made.events.listen() as listener:
        left = made.finish()
        told = listener.take()
    assert [len(x) for x in (left.halves, left.fragments, left.scopes)] == [0, 1, 1]
    assert {e.key for e in told} == {key(0), key(1)}
    assert {e.stage for e in told} == {Stage.FAILED}
    # Nothing was thrown away: what comes late still completes.
    assert len(items(made, policy(key(1), 1, 0), env(key(1), 2))) == 1
    assert not made.finish()


def test_it_can_be_asked_for_one_producer(time: Time) -> None:
    made = runs.collector(config(envs=2), env_world=2, clock=time)
    items(made, policy(key(rank=0)), env(key(rank=1)))
    assert [h.key.env_rank for h in made.pending().of_sources({(1, 0)}).halves] == [1]
    assert len(made.waiting()) == 2
    (line,) = made.waiting([(0, 0)])
    assert "env_rank 0" in line
    assert made.sources_of(env(key(rank=1))) == {(1, 0)}
    assert not list(made.sources_of("hello"))


def test_the_report_can_be_written_down(time: Time) -> None:
    made = runs.collector(config(envs=2, chunks=2), clock=time)
    items(made, policy(key(0), 2), env(key(0), 2), policy(key(1), 1, 1))
    written = jsonform.encode(made.pending().to_dict())
    assert b'"missing":[[0,1]]' in written


@pytest.mark.parametrize(
    ("have", "missing", "fits"),
    [
        ((), ((0, 4),), True),
        (((0, 4),), (), True),
        (((0, 2), (0, 2)), ((2, 2),), False),
        (((2, 3),), ((0, 2),), False),
        (((1, 1), (3, 1)), ((0, 1), (2, 1)), True),
    ],
)
def test_missing_rows(have: Any, missing: Any, fits: bool) -> None:
    assert missing_spans(have, 4) == (missing, fits)


def test_asking_while_parts_come_is_safe() -> None:
    made = runs.collector(config(chunks=200))
    stop = threading.Event()
    seen: list[int] = []

    def ask() -> None:
        while not stop.is_set():
            seen.append(len(made.pending().lines()))

    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-5)
    thread = threading.Thread(target=ask)
    thread.start()
    try:
        for chunk in range(199):
            items(made, policy(key(chunk)), env(key(chunk)))
    finally:
        stop.set()
        thread.join(30)
        sys.setswitchinterval(interval)
    assert not thread.is_alive()
    assert seen
    assert len(made.pending().scopes[0].stored) == 199

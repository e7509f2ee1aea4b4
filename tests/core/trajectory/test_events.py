"""The life of a chunk, as events."""

from __future__ import annotations

import threading

import pytest

from isoscope.core.trajectory.events import ChunkEvent, EventStream, Stage
from tests.core.trajectory import runs
from tests.core.trajectory.runs import config, env, items, key, policy


def stages(events: list[ChunkEvent]) -> list[Stage]:
    return [event.stage for event in events]


def test_the_life_of_a_chunk_in_two_fragments() -> None:
    made = runs.collector(config(envs=2), actors=2)
    with made.events.listen() as listener:
        items(made, policy(key(), 1, 1), policy(key(), 1, 0), env(key(), 2))
        events = listener.take()
    assert stages(events) == [
        Stage.POLICY_PART,
        Stage.POLICY_PART,
        Stage.ENV_PART,
        Stage.JOINED,
        Stage.ACCUMULATED,
        Stage.FLUSHED,
    ]
    assert {event.key for event in events} == {key()}
    assert [(e.first_row, e.rows) for e in events[:3]] == [(1, 1), (0, 1), (0, 2)]
    assert all((e.first_row, e.rows) == (0, 2) for e in events[3:])
    assert sorted(e.at_s for e in events) == [e.at_s for e in events]
    assert events[-1].output == "rollout"
    assert events[-1].ranks == (0, 1)


def test_every_chunk_of_a_scope_is_told_to_go_out_and_where_to() -> None:
    cfg = config(envs=4, runner={"use_training_pipeline": True})
    made = runs.collector(cfg, env_world=2, actors=2)
    with made.events.listen() as listener:
        for rank in range(2):
            items(made, policy(key(rank=rank), 2), env(key(rank=rank), 2))
        out = [e for e in listener.take() if e.stage is Stage.FLUSHED]
    assert [(e.key.env_rank, e.output, e.ranks) for e in out] == [
        (0, "pipeline", (0,)),
        (1, "pipeline", (1,)),
    ]


def test_a_refused_chunk_is_told_with_the_reason() -> None:
    made = runs.collector(config())
    items(made, policy(key()))
    with made.events.listen() as listener:
        with pytest.raises(ValueError, match="initial_transition"):
            made.collect(env(key(), initial_transition=None), None)
        events = listener.take()
    assert stages(events) == [Stage.ENV_PART, Stage.FAILED]
    assert "lacks its initial_transition" in events[-1].text


def test_a_failed_flush_and_its_retry() -> None:
    made = runs.collector(config(envs=3), actors=2)
    items(made, policy(key(), 3))
    with made.events.listen() as listener:
        for part in (env(key(), 3), policy(key(), 3)):
            with pytest.raises(ValueError, match="equal parts"):
                made.collect(part, None)
        events = listener.take()
    assert stages(events) == [
        Stage.ENV_PART,
        Stage.JOINED,
        Stage.ACCUMULATED,
        Stage.FAILED,
        Stage.POLICY_PART,
        Stage.REPEATED,
        Stage.JOINED,
        Stage.ACCUMULATED,
        Stage.FAILED,
    ]


def test_listeners_are_independent_and_drop_the_oldest() -> None:
    stream = EventStream()
    assert not stream.heard
    few, many = stream.listen(3), stream.listen()
    for chunk in range(10):
        stream.tell(Stage.JOINED, key(chunk), 0, 1)
    assert [e.key.chunk_id for e in few.take()] == [7, 8, 9]
    assert few.dropped == 7
    assert [e.key.chunk_id for e in many.take(4)] == [0, 1, 2, 3]
    assert [e.key.chunk_id for e in many.take()] == [4, 5, 6, 7, 8, 9]
    assert many.take() == []
    assert many.dropped == 0
    few.close()
    stream.tell(Stage.JOINED, key(10), 0, 1)
    assert few.take() == []
    assert len(many.take()) == 1
    many.close()
    assert not stream.heard


def test_nothing_is_lost_or_counted_twice_between_threads() -> None:
    stream = EventStream()
    listener = stream.listen(256)
    each, tellers = 5000, 3
    threads = [
        threading.Thread(
            target=lambda: [stream.tell(Stage.JOINED, key(), 0, 1) for _ in range(each)]
        )
        for _ in range(tellers)
    ]
    taken = 0
    for thread in threads:
        thread.start()
    while any(thread.is_alive() for thread in threads):
        taken += len(listener.take())
    taken += len(listener.take())
    assert taken + listener.dropped == each * tellers


def test_what_tells_never_waits_for_a_listener_that_sleeps() -> None:
    made = runs.collector(config(chunks=50))
    listener = made.events.listen(10)
    for chunk in range(50):
        items(made, policy(key(chunk)), env(key(chunk)))
    assert len(listener.take()) == 10
    assert listener.dropped == 50 * 5 - 10

"""Several sources merged into one stream: nothing is lost, mixed up or renamed."""

from __future__ import annotations

import itertools
import threading
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from isoscope.core.recording.labelled import records as r
from isoscope.core.recording.labelled.intake import Intake
from isoscope.core.recording.labelled.recorder import Recorder
from isoscope.core.tap.merge import Merger, PacketError
from isoscope.core.tap.merged import MergedStream
from isoscope.core.tap.packet import Outflow, Packet, Rows
from isoscope.core.tap.session import TapSession
from isoscope.core.tap.target import Target, merge_identities
from tests.core.tap.fake import FakeEnv, Tapped, run
from tests.core.tap.support import opened

if TYPE_CHECKING:
    from pathlib import Path


class Source:
    """A process's tap, as if it ran elsewhere."""

    def __init__(self, index: int) -> None:
        self.index = index
        self.session = TapSession(name="source")
        self.env = Tapped(FakeEnv(length=5), self.session, index)
        self.outflow = Outflow(self.session.recorder.intake)


def nothing() -> None:
    pass


def contents(labelled: Any, env: int) -> dict[str, Any]:
    """All that one environment told, without the numbers of the stream."""
    native = {
        name: labelled.column("native", name)
        for name in ("env", "episode", "control_step", "substep", "h_s", "scene")
    }
    rows = np.flatnonzero(native["env"] == env)
    (actor,) = [a.id for a in labelled.actors.values() if a.info.name == f"body{env}"]
    count = labelled.count("native")
    state = labelled.track("native", "state", "translation", actor).read(0, count)
    contacts = labelled.track("native", "state", "contacts", actor).read(0, count)
    seen = labelled.track("transitions", "observation_after", "observation")
    seen = seen.read(0, labelled.count("transitions"))
    transitions = [(k, t) for k, t in enumerate(labelled.transitions()) if t.env == env]
    position = {int(row): k for k, row in enumerate(rows)}
    return {
        "labels": [
            tuple(int(native[n][row]) for n in ("episode", "control_step", "substep"))
            for row in rows
        ],
        "scenes": len(set(native["scene"][rows].tolist())),
        "state": state.values[rows].tolist(),
        "contacts": [
            contacts.values[contacts.offsets[row] : contacts.offsets[row + 1]].tolist()
            for row in rows
        ],
        "transitions": [
            (
                t.episode,
                t.control_step,
                t.reward,
                t.reasons,
                position.get(t.first_row),
                position.get(t.last_row),
                seen.values[k].tolist(),
            )
            for k, t in transitions
        ],
        "resets": [(t.episode, t.seed) for t in labelled.resets() if t.env == env],
        "snapshots": [
            (labelled.snapshot_data(s.id), position.get(s.row, -1))
            for s in labelled.snapshots()
            if s.env == env
        ],
        "mesh": labelled.reference(labelled.actors[actor])["surfRefPositions"].tolist(),
    }


@settings(max_examples=3, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    turns=st.lists(
        st.tuples(st.integers(0, 2), st.integers(1, 9), st.booleans()),
        min_size=1,
        max_size=12,
    )
)
def test_each_source_is_found_again(
    tmp_path: Path, turns: list[tuple[int, int, bool]], counter: itertools.count[int]
) -> None:
    number = next(counter)
    sources = [Source(k) for k in range(3)]
    stream = MergedStream(Recorder(tmp_path / f"all{number}.h5", r.Identity()))
    mergers = [stream.source(f"s{k}") for k in range(3)]
    alone = [Recorder(tmp_path / f"{number}-{k}.h5", r.Identity()) for k in range(3)]
    singly = [Merger(Target(recorder.intake)) for recorder in alone]
    for who, steps, now in [*turns, (0, 1, True), (1, 1, True), (2, 1, True)]:
        source = sources[who]
        run(source.env, steps, seed=steps)
        if now:
            packet = source.outflow.take()
            mergers[who].take(packet)
            singly[who].take(packet)
            if steps % 2:
                stream.take()
    stream.take()
    assert stream.recorder is not None
    for recorder in (stream.recorder, *alone):
        recorder.close()
    both = opened(tmp_path / f"all{number}.h5")
    total = 0
    for k in range(3):
        one = opened(tmp_path / f"{number}-{k}.h5")
        assert contents(both.labelled, k) == contents(one.labelled, k)
        total += len(one.recording)
    assert len(both.recording) == total
    assert not both.recording.problems
    h_s = both.labelled.column("native", "h_s")
    np.testing.assert_array_equal(
        both.labelled.column("native", "time_s"), np.cumsum(h_s)
    )
    scenes = both.labelled.column("native", "scene")
    envs = both.labelled.column("native", "env")
    assert len(set(zip(scenes.tolist(), envs.tolist(), strict=True))) == 3


@pytest.fixture(scope="module")
def counter() -> itertools.count[int]:
    return itertools.count()


def test_what_was_lost_is_named_nowhere(tmp_path: Path) -> None:
    source = Source(0)
    recorder = Recorder(tmp_path / "a.h5", r.Identity())
    merger = Merger(Target(recorder.intake, adds_times=False))
    run(source.env, 4, seed=1)
    first = source.outflow.take()
    run(source.env, 3)
    lost = source.outflow.take()
    source.session.recorder.event(r.SceneEvent("restore", row=9, snapshot=1))
    source.session.recorder.event(r.SceneEvent("restore", row=2, snapshot=0))
    run(source.env, 4)
    last = source.outflow.take()
    merger.take(first)
    merger.take(Packet(lost.definitions))
    merger.take(last)
    recorder.close()
    found = opened(tmp_path / "a.h5")
    assert not found.recording.problems
    events = found.labelled.events()
    assert [(e.row, e.snapshot) for e in events] == [(-1, -1), (2, 0)]
    steps = found.labelled.column("native", "control_step").tolist()
    assert steps == [1, 1, 2, 2, 3, 3, 4, 4, 1, 1, 2, 2, 3, 3, 4, 4]
    contacts = found.labelled.track("native", "state", "contacts", 0).read(0, 16)
    counts = (np.diff(contacts.offsets) // 2).tolist()
    assert counts == [k % 3 for k in steps]
    times = found.labelled.column("native", "time_s")
    assert times[7] == pytest.approx(0.08)
    assert times[8] == pytest.approx(0.15)


def test_taking_a_packet_twice_changes_nothing(tmp_path: Path) -> None:
    source = Source(0)
    recorder = Recorder(tmp_path / "a.h5", r.Identity())
    merger = Merger(Target(recorder.intake))
    run(source.env, 4, seed=1)
    packet = source.outflow.take()
    merger.take(packet)
    merger.take(packet)
    run(source.env, 4)
    merger.take(source.outflow.take())
    recorder.close()
    found = opened(tmp_path / "a.h5")
    assert len(found.recording) == 16
    assert len(found.labelled.transitions()) == 8
    assert len(found.labelled.actors) == 1
    contacts = found.labelled.track("native", "state", "contacts", 0).read(0, 16)
    steps = found.labelled.column("native", "control_step").tolist()
    assert (np.diff(contacts.offsets) // 2).tolist() == [k % 3 for k in steps]


def test_nobody_sees_steps_without_their_states(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Another thread that writes waits until all of a packet is there."""
    source, intake = Source(0), Intake(1 << 20, nothing)
    run(source.env, 4, seed=1)
    could: list[bool] = []

    def try_it() -> None:
        could.append(intake.lock.acquire(blocking=False))
        if could[-1]:
            intake.lock.release()

    add = Merger._add

    def watched(merger: Merger, *arguments: Any) -> None:
        add(merger, *arguments)
        other = threading.Thread(target=try_it)
        other.start()
        other.join()

    monkeypatch.setattr(Merger, "_add", watched)
    Merger(Target(intake)).take(source.outflow.take())
    assert len(could) > 1
    assert not any(could)


def test_what_a_window_is_told_first_is_the_latest_state(tmp_path: Path) -> None:
    sources = [Source(k) for k in range(3)]
    stream = MergedStream(None)
    for k, source in enumerate(sources):
        merger = stream.source(str(k))
        run(source.env, k + 3, seed=1)
        merger.take(source.outflow.take())
        stream.take()
    recorder = Recorder(tmp_path / "a.h5", r.Identity())
    Merger(Target(recorder.intake, adds_times=False)).take(stream.latest.packet())
    recorder.close()
    found = opened(tmp_path / "a.h5")
    assert not found.recording.problems
    labelled = found.labelled
    assert labelled.column("native", "env").tolist() == [0, 1, 2]
    assert labelled.column("native", "control_step").tolist() == [3, 4, 5]
    assert [t.control_step for t in labelled.transitions()] == [3, 4, 5]
    for actor, told in labelled.actors.items():
        state = labelled.track("native", "state", "translation", actor).read(0, 3)
        assert state.values[actor].tolist() == [actor, actor + 3, 1]
        assert state.valid.tolist() == [k == actor for k in range(3)]
        mesh = labelled.reference(told)["surfRefPositions"]
        assert mesh[0, 0] == actor
        contacts = labelled.track("native", "state", "contacts", actor).read(0, 3)
        assert np.diff(contacts.offsets)[actor] // 2 == (actor + 3) % 3


def test_rows_of_no_table_are_refused() -> None:
    merger = Merger(Target(Intake(1 << 20, nothing)))
    with pytest.raises(PacketError, match="not defined"):
        merger.take(Packet(b"", [Rows(3, 0, 1, b"12345678")]))


def test_identities_of_processes_are_united() -> None:
    one = {"engine": "x", "seeds": [1, None], "packages": {"a": "1"}, "environments": 2}
    two = {
        "engine": "y",
        "seeds": [None, 2, 3],
        "packages": {"b": "2"},
        "precision": "p",
    }
    assert merge_identities([one, two]) == {
        "engine": "x",
        "seeds": [1, 2, 3],
        "packages": {"a": "1", "b": "2"},
        "environments": 2,
        "precision": "p",
    }

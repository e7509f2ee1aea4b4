"""Events to columns: lifetimes, handles, absent values, odd numbers."""

from __future__ import annotations

from pathlib import Path

import h5py
import numpy as np
import pytest

from isoscope.core.recording.model import Recording
from isoscope.core.recording.registry import load
from isoscope.core.recording.superdex import columns
from isoscope.core.recording.superdex.columns import TooMuchError
from isoscope.core.recording.superdex.events import Assembler, Event
from isoscope.core.recording.tracks import RaggedTrack
from tests.fuzz import made
from tests.fuzz.reference import differences

RECORDINGS = Path(__file__).parents[2] / "data" / "recordings"
U64 = (1 << 64) - 1


def text(value: str) -> np.ndarray:
    return np.array(value.encode(), np.bytes_)


def created(number: int, handle: int = 7, **more: np.ndarray) -> Event:
    fields = {
        "eventType": text("CreateActor"),
        "handle": np.array(handle, np.uint64),
        "name": text("A"),
        "type": text("Rigid"),
        "static": np.array(0, np.int32),
        **more,
    }
    return Event(number, fields)


def destroyed(number: int, handle: int = 7) -> Event:
    fields = {
        "eventType": text("DestroyActor"),
        "handle": np.array(handle, np.uint64),
    }
    return Event(number, fields)


def step(
    number: int,
    actors: dict[int, dict[str, np.ndarray]] | None = None,
    **more: np.ndarray,
) -> Event:
    fields = {
        "eventType": text("Step"),
        "timeTotal": np.array(number * 0.02),
        "timeStep": np.array(0.02),
        "gravity": np.array([0, -9.8, 0], np.float32),
        **more,
    }
    groups = {
        str(handle): {"handle": np.array(handle, np.uint64), **values}
        for handle, values in (actors or {}).items()
    }
    return Event(number, fields, groups)


def recorded(*events: Event) -> Recording:
    recording = Recording(None, "test")
    assembler = Assembler(recording, 4)
    for event in events:
        assembler.add(event)
    assembler.finish()
    return recording


def at(x: float) -> dict[str, np.ndarray]:
    return {"translation": np.array([x, 0, 0], np.float32)}


def told(recording: Recording) -> str:
    return "\n".join(str(problem) for problem in recording.problems)


def present(recording: Recording, actor: int, field: str = "translation") -> list[int]:
    track = recording.actors[actor].fields[field]
    return [row for row in range(len(recording)) if track.present(row)]


def test_actors_live_from_their_creation_to_their_end() -> None:
    recording = recorded(
        created(0),
        step(1, {7: at(1)}),
        created(2, 8),
        step(3, {7: at(2), 8: at(3)}),
        destroyed(4),
        step(5, {8: at(4)}),
    )
    first, second = recording.actors
    assert (first.created_native, first.destroyed_native) == (0, 2)
    assert (second.created_native, second.destroyed_native) == (1, None)
    assert present(recording, 0) == [0, 1]
    assert present(recording, 1) == [1, 2]
    assert not recording.problems
    assert recording.event_counts == {"CreateActor": 2, "Step": 3, "DestroyActor": 1}
    assert recording.steps.event.tolist() == [1, 3, 5]


def test_a_handle_that_is_used_again_is_another_actor() -> None:
    recording = recorded(
        created(0),
        step(1, {7: at(1)}),
        destroyed(2),
        created(3),
        step(4, {7: at(2)}),
    )
    assert [a.created_native for a in recording.actors] == [0, 1]
    assert present(recording, 0) == [0]
    assert present(recording, 1) == [1]
    assert not recording.problems


def test_creation_without_an_end_ends_the_one_before() -> None:
    recording = recorded(
        created(0), step(1, {7: at(1)}), created(2), step(3, {7: at(2)})
    )
    assert [a.destroyed_native for a in recording.actors] == [1, None]
    assert "actor created twice under one handle" in told(recording)


@pytest.mark.parametrize("handle", [0, 1 << 32, 1 << 63, U64])
def test_handles_have_64_bits(handle: int) -> None:
    recording = recorded(
        created(0, handle), step(1, {handle: at(1)}), destroyed(2, handle)
    )
    [actor] = recording.actors
    assert actor.handle == handle
    assert actor.destroyed_native == 1
    assert not recording.problems


def test_an_actor_that_was_never_created_is_shown_and_told() -> None:
    recording = recorded(step(1), step(2, {7: at(1)}), destroyed(3, 9))
    [actor] = recording.actors
    assert actor.name == "actor 7"
    assert actor.created_native == 1
    assert "a step holds an actor that no event had created" in told(recording)
    assert "an actor was destroyed that had not been created" in told(recording)


def test_events_of_other_kinds_are_counted_and_told() -> None:
    recording = recorded(
        Event(0, {"eventType": text("Explode")}),
        Event(1, {"eventType": text("Explode")}),
        Event(2, {}),
        step(3),
    )
    assert recording.event_counts == {"Explode": 2, "unreadable": 1, "Step": 1}
    assert "'Explode' was passed over (/events/0), and 1 more" in told(recording)
    assert "event without an eventType" in told(recording)


def test_no_end_of_kinds_of_events_is_counted() -> None:
    events = [Event(i, {"eventType": text(f"k{i}")}) for i in range(500)]
    counts = recorded(*events).event_counts
    assert len(counts) < 100
    assert sum(counts.values()) == 500


def test_a_recording_without_a_step_has_no_rows() -> None:
    recording = recorded(created(0), created(1, 8))
    assert len(recording) == 0
    assert len(recording.actors) == 2


def test_times_are_kept_as_they_are() -> None:
    odd = [np.nan, np.inf, -1.0, 0.0]
    recording = recorded(
        *(
            step(i, timeTotal=np.array(value), timeStep=np.array(-value))
            for i, value in enumerate(odd)
        )
    )
    assert np.array_equal(recording.steps.time_s, odd, equal_nan=True)
    assert np.array_equal(recording.steps.h_s, np.negative(odd), equal_nan=True)


def test_what_a_step_lacks_is_unknown_and_told() -> None:
    recording = recorded(
        Event(0, {"eventType": text("Step"), "gravity": np.array([1.0, 2.0])})
    )
    assert np.isnan(recording.steps.time_s[0])
    assert np.isnan(recording.steps.h_s[0])
    assert np.isnan(recording.steps.gravity).all()
    assert "step without its attribute 'timeStep'" in told(recording)
    assert recording.scene["gravity"].present(0)  # as written, all the same


def test_two_groups_of_one_actor_do_not_shift_its_rows() -> None:
    event = step(1, {7: at(1)})
    event.actors["copy"] = {"handle": np.array(7, np.uint64), **at(9)}
    recording = recorded(created(0), event, step(2, {7: at(2)}))
    track = recording.actors[0].fields["translation"]
    first, second = track.at(0), track.at(1)
    assert first is not None
    assert second is not None
    assert (first[0], second[0]) == (1, 2)
    assert "is there twice in one step" in told(recording)


def test_precision_is_the_widest_of_the_real_fields() -> None:
    half = {"x": np.array(1, np.float32), "n": np.array(3)}
    double = {"x": np.array(1, np.float64)}
    assert recorded(created(0), step(1, {7: half})).real == np.float32
    assert recorded(created(0), step(1, {7: double})).real == np.float64


def test_a_name_that_is_no_text_is_replaced() -> None:
    recording = recorded(created(0, name=np.array(5), static=np.array([1, 2])))
    assert recording.actors[0].name == "actor 7"
    assert recording.actors[0].static is None


def test_sparse_fields_do_not_fill_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(columns, "ABSENT_BYTES", 100_000)
    big = {"big": np.ones(1000)}
    events = [step(i, {7: at(i)}) for i in range(1, 40)]
    recording = recorded(created(0), step(0, {7: big}), *events, step(40, {7: big}))
    track = recording.actors[0].fields["big"]
    assert isinstance(track, RaggedTrack)
    assert present(recording, 0, "big") == [0, 40]
    for row in (0, 40):
        assert np.array_equal(track.at(row), np.ones(1000))
    assert not recording.actors[0].fields["translation"].ragged


def test_a_file_that_expands_without_end_is_stopped(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(columns, "ALL_BYTES", 1 << 20)
    recording = Recording(None, "test")
    assembler = Assembler(recording, 4)
    number = 0
    stopped = False
    while not stopped:
        try:
            assembler.add(step(number, {7: {"big": np.ones(10_000)}}))
            number += 1
        except TooMuchError:
            stopped = True
    assembler.finish()
    # What was read until then can be used, row by row.
    assert 0 < len(recording) == number + 1
    assert recording.columns_bytes < 1 << 21
    value = recording.actors[0].fields["big"].at(number - 1)
    assert np.array_equal(value, np.ones(10_000))


def test_too_many_fields_are_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(columns, "MAX_FIELDS", 5)
    fields = {f"f{i}": np.array(i) for i in range(10)}
    recording = recorded(created(0), step(1, {7: fields}))
    assert len(recording.actors[0].fields.tracks) == 5
    assert "more than 5 fields" in told(recording)


@pytest.mark.parametrize(
    "name", sorted(p.stem for p in RECORDINGS.glob("*.h5") if p.stem != "killed")
)
def test_every_value_of_a_real_recording_is_what_h5py_reads(name: str) -> None:
    path = RECORDINGS / f"{name}.h5"
    recording = load(path)
    assert differences(path, recording) == []
    assert not recording.problems
    assert recording.complete


def test_what_actors_hold_once_is_kept() -> None:
    recording = load(RECORDINGS / "soft_body.h5")
    jelly = recording.find_actors("Jelly")[0]
    with h5py.File(RECORDINGS / "soft_body.h5", "r", locking=False) as file:
        group = next(
            g for g in file["events"].values() if g.attrs.get("name") == b"Jelly"
        )
        expected = dict(group.attrs)

        def take(name: str, item: h5py.Group | h5py.Dataset) -> None:
            if isinstance(item, h5py.Dataset):
                expected[name] = item[()]
                expected.update({f"{name}@{k}": v for k, v in item.attrs.items()})

        group.visititems(take)
    for name in ("eventType", "handle", "name", "type", "static"):
        del expected[name]
    assert set(jelly.reference) == set(expected)
    assert {"localToGlobal/elementOffsets", "massMatrix@numRows"} <= set(expected)
    for name, value in expected.items():
        assert np.array_equal(jelly.reference[name], value)


# -- many events --------------------------------------------------------------------


@pytest.fixture(scope="module")
def many(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A recording of 50,000 events; 100 Steps under 49,999 names."""
    path = tmp_path_factory.mktemp("many") / "run.h5"
    made.recording(path, steps=100)
    with h5py.File(path, "a") as file:
        events = file["events"]
        for number in range(101, 50_000):
            events[str(number)] = events[str(1 + (number - 1) % 100)]
    return path


def test_fifty_thousand_events_come_in_their_natural_order(many: Path) -> None:
    from isoscope.core.recording.registry import open_source

    source = open_source(many)
    assert source.event_count == 50_000
    picture = source.preview(40_000)
    assert picture is not None
    assert picture.steps.event.tolist() == [40_000]
    seen: list[int] = []
    with pytest.raises(Exception, match="was stopped at"):
        source.index(
            progress=lambda done, total: seen.append(total),
            cancelled=lambda: len(source.recording) >= 500,
        )
    source.close()
    rows = source.recording.steps.event
    assert 500 <= len(rows) < 5000
    assert rows.tolist() == list(range(1, len(rows) + 1))
    assert set(seen) == {50_000}

"""Recordings of every sort, written here: the scan gives what h5py gives, in order."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import h5py
import numpy as np
import pytest
from h5py import h5a, h5d, h5p, h5s, h5t

from isoscope.core.recording.superdex.reader import EventSource
from isoscope.core.recording.superdex.scan import scan
from isoscope.core.recording.tracks import RaggedTrack
from tests.core.recording.compare import assert_equals_h5py, assert_same, row_by_row
from tests.core.recording.recorder import (
    Fields,
    Recorder,
    contacts,
    recording,
    rigid,
)

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from isoscope.core.recording.model import Recording

FIRST = 2**32 + 1
PREFIXES = ("contacts_", "contact_forces_", "sdf_distances_")


@pytest.fixture
def random() -> np.random.Generator:
    return np.random.default_rng(7)


def check(path: Path, slow: int = 0, *, problems: bool = False) -> Recording:
    """Index a file; it has to equal h5py's values and the slow way's recording."""
    source = EventSource(path)
    source.index()
    source.close()
    assert source.slow_events == slow
    assert_same(source.recording, row_by_row(path))
    if not problems:
        assert source.recording.problems == []
        assert_equals_h5py(path, source.recording)
    return source.recording


def test_contacts_of_every_number_end_in_compressed_rows(
    tmp_path: Path, random: np.random.Generator
) -> None:
    path = tmp_path / "run.h5"
    with recording(path) as made:
        for handle in (FIRST, FIRST + 1):
            made.create(handle, b"Ball")
        for number in range(300):
            fields = {
                handle: rigid(b"Ball", random)
                | {
                    key: value
                    for prefix in PREFIXES
                    for key, value in contacts(
                        prefix, int(random.integers(0, 9)), random
                    ).items()
                }
                | {"vsym": np.ones(9, np.float32)}
                for handle in (FIRST, FIRST + 1)
            }
            made.step(0.02 * number, fields)
    indexed = check(path)
    track = indexed.actors[0].fields["contacts_distance"]
    assert isinstance(track, RaggedTrack)
    lengths = {np.shape(track.at(row)) for row in range(300) if track.present(row)}
    assert {(), (2,), (8,)} <= lengths
    assert 0 < track.present_count() < 300


def test_many_numbers_of_contacts_need_few_templates(
    tmp_path: Path, random: np.random.Generator, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "run.h5"
    with recording(path) as made:
        made.create(FIRST, b"Ball")
        for number in range(150):
            many = contacts("contacts_", number + 2, random)
            made.step(0.02 * number, {FIRST: {"name": b"Ball", **many}})
    classifiers = []
    make = scan.Classifier

    def seen(*args: Any) -> scan.Classifier:
        classifiers.append(make(*args))
        return classifiers[-1]

    monkeypatch.setattr(scan, "Classifier", seen)
    check(path)
    place = ("actors", str(FIRST))
    assert len(classifiers[0].templates(place)) == 1


@pytest.mark.parametrize("count", [9, 24, 40, 70])
def test_more_than_eight_actors_are_read_from_dense_groups(
    tmp_path: Path, random: np.random.Generator, count: int
) -> None:
    path = tmp_path / "run.h5"
    with recording(path) as made:
        for actor in range(count):
            made.create(FIRST + actor, b"Body%d" % actor)
        for number in range(8):
            fields = {
                FIRST + actor: rigid(b"Body%d" % actor, random)
                for actor in range(count)
            }
            made.step(0.02 * number, fields)
    assert len(check(path).actors) == count


def test_actors_that_come_and_go_have_their_own_lives(
    tmp_path: Path, random: np.random.Generator
) -> None:
    path = tmp_path / "run.h5"
    alive: list[int] = []
    with recording(path) as made:
        made.create(FIRST, b"Base")
        for number in range(120):
            if number % 7 == 3:
                alive.append(FIRST + 1 + number)
                made.create(alive[-1], b"Shot%d" % number)
            if number % 11 == 10 and alive:
                made.destroy(alive.pop(0))
            handles = [FIRST, *alive]
            made.step(0.02 * number, {h: rigid(b"Shot", random) for h in handles})
    actors = check(path).actors
    assert len(actors) == 18
    assert actors[1].created_native == 3
    assert actors[1].destroyed_native == 10


def test_a_handle_that_is_used_again_names_another_actor(
    tmp_path: Path, random: np.random.Generator
) -> None:
    path = tmp_path / "run.h5"
    with recording(path) as made:
        for life in range(3):
            made.create(FIRST, b"Life%d" % life)
            for number in range(5):
                fields = {FIRST: rigid(b"Life%d" % life, random)}
                made.step(0.02 * (5 * life + number), fields)
            made.destroy(FIRST)
    actors = check(path).actors
    spans = [(a.created_native, a.destroyed_native) for a in actors]
    assert spans == [(0, 5), (5, 10), (10, 15)]


def test_fields_that_are_there_now_and_then_stay_absent_elsewhere(
    tmp_path: Path, random: np.random.Generator
) -> None:
    path = tmp_path / "run.h5"
    with recording(path) as made:
        made.create(FIRST, b"Arm")
        for number in range(60):
            fields = rigid(b"Arm", random)
            if number % 3 == 1:
                fields["pose"] = random.standard_normal((1, 7)).astype(np.float32)
            if number % 5 == 2:
                fields["targetPose"] = random.standard_normal((7, 1))
                del fields["omega"]
            more = {"substeps": np.int32(4)} if number > 30 else {}
            made.step(0.02 * number, {FIRST: fields}, **more)
    indexed = check(path)
    assert indexed.actors[0].fields["pose"].present_count() == 20
    assert not indexed.scene["substeps"].present(30)


def test_a_dtype_or_shape_that_changes_is_kept_apart_and_told(
    tmp_path: Path, random: np.random.Generator
) -> None:
    path = tmp_path / "run.h5"
    with recording(path) as made:
        made.create(FIRST, b"Ball")
        for number in range(40):
            fields = rigid(b"Ball", random) | contacts("contacts_", 2, random)
            if number in (11, 30):
                fields["omega"] = np.zeros(3)
                fields["contacts_force"] = np.zeros(6, np.float64)
            if number == 20:
                fields["omega"] = np.zeros(4, np.float32)
            made.step(0.02 * number, {FIRST: fields})
    indexed = check(path, problems=True)
    assert_equals_h5py(path, indexed)
    assert sorted(indexed.actors[0].fields["omega"].odd) == [11, 20, 30]
    assert sorted(indexed.actors[0].fields["contacts_force"].odd) == [11, 30]
    assert any("omega" in p.message and p.count == 3 for p in indexed.problems)


# -- what the row-wise way has to judge ----------------------------------------------


def test_actors_that_nothing_created_are_made_up_in_order(
    tmp_path: Path, random: np.random.Generator
) -> None:
    path = tmp_path / "run.h5"
    with recording(path) as made:
        for number in range(30):
            if number == 10:
                made.create(FIRST + 5, b"Late")
            if number == 20:
                made.destroy(FIRST)  # and yet it goes on
            if number == 25:
                made.create(FIRST, b"Twice")
            handles = [FIRST, FIRST + 1, *([FIRST + 5] if number > 8 else [])]
            made.step(0.02 * number, {h: rigid(b"Ball", random) for h in handles})
    indexed = check(path, problems=True)
    assert [a.created_native for a in indexed.actors] == [0, 0, 9, 10, 20, 25]


def _no_times(made: Recorder, random: np.random.Generator) -> None:
    made.event(b"Step", {"timeTotal": np.float64(1)})


def _gravity_of_two(made: Recorder, random: np.random.Generator) -> None:
    made.step(0.5, {}, gravity=np.zeros(2, np.float32))


def _wrong_handle(made: Recorder, random: np.random.Generator) -> None:
    group = made.group(made.event(b"Step", _times()), "actors")
    actor = made.group(group, str(FIRST + 9))
    made.fill(actor, {"handle": np.uint64(FIRST), **rigid(b"Ball", random)})


def _no_handle(made: Recorder, random: np.random.Generator) -> None:
    group = made.group(made.event(b"Step", _times()), "actors")
    made.fill(made.group(group, "a name"), rigid(b"Ball", random))


def _unknown_kind(made: Recorder, random: np.random.Generator) -> None:
    made.event(b"Pause", {"why": b"lunch"})


def _kind_is_no_text(made: Recorder, random: np.random.Generator) -> None:
    group = made.group(made.events, str(made.number))
    made.number += 1
    made.attribute(group, "eventType", np.int32(3))


def _attributes_of_the_actors(made: Recorder, random: np.random.Generator) -> None:
    group = made.group(made.event(b"Step", _times()), "actors")
    made.attribute(group, "count", np.int32(0))


def _chunked(made: Recorder, random: np.random.Generator) -> None:
    group = made.event(b"Step", _times())
    recipe = h5p.create(h5p.DATASET_CREATE)
    recipe.set_chunk((4,))
    recipe.set_deflate(3)
    space = h5s.create_simple((9,))
    data = h5d.create(group, b"curve", h5t.NATIVE_DOUBLE, space, dcpl=recipe)
    data.write(h5s.ALL, h5s.ALL, np.arange(9.0))


def _big_endian(made: Recorder, random: np.random.Generator) -> None:
    made.step(0.5, {}, wind=np.arange(3, dtype=">f4"))


def _half(made: Recorder, random: np.random.Generator) -> None:
    made.step(0.5, {}, wind=np.arange(3, dtype="<f2"))


def _truth(made: Recorder, random: np.random.Generator) -> None:
    made.step(0.5, {}, asleep=np.array([True, False]))


def _empty(made: Recorder, random: np.random.Generator) -> None:
    made.step(0.5, {}, contacts_force=np.zeros(0, np.float32))


def _text_with_a_tail(made: Recorder, random: np.random.Generator) -> None:
    group = made.event(b"Step", _times())
    kind = h5t.C_S1.copy()
    kind.set_size(8)
    kind.set_strpad(h5t.STR_NULLTERM)
    h5a.create(group, b"note", kind, h5s.create(h5s.SCALAR)).write(
        np.array(b"ab\0cd\0\0\0", "S8"), kind
    )


def _utf8(made: Recorder, random: np.random.Generator) -> None:
    group = made.event(b"Step", _times())
    kind = h5t.C_S1.copy()
    kind.set_size(4)
    kind.set_cset(h5t.CSET_UTF8)
    h5a.create(group, b"note", kind, h5s.create(h5s.SCALAR)).write(
        np.array("äö".encode(), "S4"), kind
    )


def _soft_link(made: Recorder, random: np.random.Generator) -> None:
    group = made.event(b"Step", _times())
    group.links.create_soft(b"again", b"/events/0")


def _deep(made: Recorder, random: np.random.Generator) -> None:
    group = made.group(made.event(b"Step", _times()), "solver")
    made.fill(group, {"iterations": np.int32(3), "curve": np.ones((2, 2))})


def _times() -> Fields:
    return {
        "timeTotal": np.float64(1),
        "timeStep": np.float64(0.02),
        "gravity": np.array([0, -9.8, 0], np.float32),
    }


ODD: list[tuple[Callable[[Recorder, np.random.Generator], None], int]] = [
    (_no_times, 1),
    (_gravity_of_two, 1),
    (_wrong_handle, 1),
    (_no_handle, 1),
    (_unknown_kind, 0),
    (_kind_is_no_text, 1),
    (_attributes_of_the_actors, 1),
    (_chunked, 1),
    (_big_endian, 1),
    (_half, 1),
    (_truth, 1),
    (_empty, 1),
    (_text_with_a_tail, 1),
    (_utf8, 1),
    (_soft_link, 1),
    (_deep, 1),
]


@pytest.mark.parametrize(
    ("odd", "slow"), ODD, ids=[odd.__name__.strip("_") for odd, _ in ODD]
)
def test_what_is_odd_is_left_to_h5py_in_its_place(
    tmp_path: Path,
    random: np.random.Generator,
    odd: Callable[[Recorder, np.random.Generator], None],
    slow: int,
) -> None:
    path = tmp_path / "run.h5"
    with recording(path) as made:
        made.create(FIRST, b"Ball")
        for number in range(6):
            made.step(0.02 * number, {FIRST: rigid(b"Ball", random)})
        odd(made, random)
        for number in range(6):
            made.step(1 + 0.02 * number, {FIRST: rigid(b"Ball", random)})
    check(path, slow, problems=True)


def test_events_are_taken_by_number_whatever_their_order_in_the_file(
    tmp_path: Path, random: np.random.Generator
) -> None:
    path = tmp_path / "run.h5"
    order = [0, *random.permutation(np.arange(1, 60)).tolist()]
    with recording(path) as made:
        for number in order:
            if number == 0:
                made.event(b"CreateActor", {"handle": np.uint64(FIRST), "name": b"B"})
                continue
            made.number = number
            made.step(0.02 * number, {FIRST: rigid(b"Ball", random)})
    indexed = check(path, problems=True)
    assert indexed.steps.event.tolist() == list(range(1, 60))
    assert np.all(np.diff(indexed.steps.time_s) > 0)


@pytest.mark.parametrize("libver", ["latest", "v108"])
def test_a_file_of_a_later_format_is_read_by_h5py_alone(
    tmp_path: Path, random: np.random.Generator, libver: str
) -> None:
    path = tmp_path / "run.h5"
    with h5py.File(path, "w", libver=libver) as file:
        made = Recorder.__new__(Recorder)
        made.take(file.id)
        made.create(FIRST, b"Ball")
        for number in range(5):
            made.step(0.02 * number, {FIRST: rigid(b"Ball", random)})
    check(path, slow=6)


def test_a_user_block_is_left_to_h5py(
    tmp_path: Path, random: np.random.Generator
) -> None:
    path = tmp_path / "run.h5"
    with h5py.File(path, "w", userblock_size=512) as file:
        made = Recorder.__new__(Recorder)
        made.take(file.id)
        made.create(FIRST, b"Ball")
        made.step(0.02, {FIRST: rigid(b"Ball", random)})
    check(path, slow=2)

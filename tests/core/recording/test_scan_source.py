"""The event source over the scan: at once usable, growing, stopped, cut, damaged."""

from __future__ import annotations

import random
import threading
from typing import TYPE_CHECKING

import numpy as np
import pytest

from isoscope.core.errors import CancelledError, IsoscopeError
from isoscope.core.recording.superdex import eventfile, listing
from isoscope.core.recording.superdex.reader import EventSource
from isoscope.core.recording.superdex.scan import scan
from isoscope.core.recording.superdex.scan.confirm import Confirmer
from isoscope.core.recording.superdex.scan.filebytes import FileBytes
from tests.core.recording.compare import assert_equals_h5py, assert_same, row_by_row
from tests.core.recording.recorder import recording, rigid

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from isoscope.core.recording.tracks import Array

HANDLE = 2**32 + 1
STEPS = 400
FEW = 32  # events in a block, so that there are many


@pytest.fixture
def run(tmp_path: Path) -> Path:
    path = tmp_path / "run.h5"
    values = np.random.default_rng(2)
    with recording(path) as made:
        for actor in range(2):
            made.create(HANDLE + actor, b"Ball")
        for number in range(STEPS):
            fields = {HANDLE + actor: rigid(b"Ball", values) for actor in range(2)}
            made.step(0.02 * number, fields)
    return path


@pytest.fixture
def small_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(scan, "BLOCK_EVENTS", FEW)


@pytest.fixture
def source(run: Path) -> Iterator[EventSource]:
    opened = EventSource(run)
    yield opened
    opened.close()


# -- at once ------------------------------------------------------------------------


def test_the_first_and_any_other_step_are_shown_without_a_list_of_events(
    source: EventSource, monkeypatch: pytest.MonkeyPatch
) -> None:
    def none(*args: object) -> None:
        raise AssertionError("the events were listed")

    monkeypatch.setattr(eventfile, "list_events", none)
    assert source.event_count == STEPS + 2
    assert source.recording.expected_steps == STEPS + 2
    first, later = source.preview(), source.preview(300)
    assert first is not None
    assert later is not None
    assert first.steps.event.tolist() == [2]
    assert later.steps.event.tolist() == [300]
    assert [a.name for a in later.actors] == ["Ball", "Ball"]
    assert later.actors[0].fields["omega"].present(0)


def test_there_is_no_step_behind_the_last(source: EventSource) -> None:
    last = source.preview(STEPS + 1)
    assert last is not None
    assert last.steps.event.tolist() == [STEPS + 1]
    assert source.preview(STEPS + 2) is None


def test_steps_are_found_where_numbers_are_missing(tmp_path: Path) -> None:
    path = tmp_path / "run.h5"
    values = np.random.default_rng(2)
    with recording(path) as made:
        made.number = 100
        made.create(HANDLE, b"Ball")
        for number in (101, 102, 500, 501, 90_000):
            made.number = number
            made.step(0.02, {HANDLE: rigid(b"Ball", values)})
    source = EventSource(path)
    found = [source.preview(n) for n in (None, 0, 102, 103, 502, 90_001)]
    source.close()
    numbers = [None if p is None else int(p.steps.event[0]) for p in found]
    assert numbers == [101, 101, 102, 500, 90_000, None]
    assert found[4] is not None
    assert [a.name for a in found[4].actors] == ["Ball"]


def test_events_are_listed_in_stretches_as_at_once(
    source: EventSource, monkeypatch: pytest.MonkeyPatch
) -> None:
    events = source.file.events
    assert events is not None
    once = listing.list_events(events.id)
    monkeypatch.setattr(listing, "_AT_ONCE", 7)
    again = listing.list_events(events.id)
    assert np.array_equal(once.numbers, np.arange(STEPS + 2))
    assert np.array_equal(once.numbers, again.numbers)
    assert np.array_equal(once.addresses, again.addresses)


# -- growing ------------------------------------------------------------------------


@pytest.mark.usefixtures("small_blocks")
def test_the_recording_grows_while_it_is_indexed(source: EventSource) -> None:
    seen: list[tuple[int, int, int]] = []

    def progress(done: int, total: int) -> None:
        track = source.recording.actors[0].fields["omega"]
        steps = len(source.recording)
        assert steps == 0 or track.present(steps - 1)
        seen.append((done, total, steps))

    source.index(progress)
    done = [d for d, _, _ in seen]
    assert done == sorted(done)
    assert len(seen) >= STEPS / FEW / 4
    assert all(total == STEPS + 2 for _, total, _ in seen)
    assert all(steps == max(d - 2, 0) for d, _, steps in seen)
    assert seen[-1] == (STEPS + 2, STEPS + 2, STEPS)


@pytest.mark.usefixtures("small_blocks")
def test_what_was_indexed_until_it_was_stopped_is_valid(
    source: EventSource, run: Path
) -> None:
    with pytest.raises(CancelledError, match="stopped at"):
        source.index(cancelled=lambda: len(source.recording) > 100)
    indexed = source.recording
    assert 100 < len(indexed) < STEPS
    assert not indexed.complete
    assert_equals_h5py(run, indexed, range(len(indexed)))
    for actor in indexed.actors:
        assert {len(t) for t in actor.fields.tracks.values()} == {len(indexed)}


@pytest.mark.usefixtures("small_blocks")
def test_closing_stops_the_indexing(source: EventSource) -> None:
    with pytest.raises(CancelledError):
        source.index(lambda done, total: source.close() if done > 100 else None)
    assert 0 < len(source.recording) < STEPS
    assert source.recording.problems == []


@pytest.mark.usefixtures("small_blocks")
def test_previews_from_another_thread_go_along_with_the_indexing(
    source: EventSource, run: Path
) -> None:
    started, wrong = threading.Event(), []

    def look() -> None:
        started.wait(10)
        for number in range(2, STEPS, 7):
            shown = source.preview(number)
            if shown is None or shown.steps.event.tolist() != [number]:
                wrong.append(number)

    thread = threading.Thread(target=look)
    thread.start()
    source.index(lambda done, total: started.set())
    started.set()
    thread.join(30)
    assert wrong == []
    assert_same(source.recording, row_by_row(run))


# -- never wrong --------------------------------------------------------------------


@pytest.mark.usefixtures("small_blocks")
def test_a_scan_that_differs_from_h5py_is_given_up(
    source: EventSource, run: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    agrees, calls = Confirmer.agrees, [0]

    def disagree(self: Confirmer, *args: object) -> bool:
        calls[0] += 1
        return calls[0] < 4 and agrees(self, *args)

    monkeypatch.setattr(Confirmer, "agrees", disagree)
    source.index()
    assert calls == [4]
    assert source.slow_events == STEPS + 2 - 3 * FEW
    assert_same(source.recording, row_by_row(run))


def test_a_value_that_is_read_wrongly_is_noticed(
    source: EventSource, run: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    rows = FileBytes.rows

    def wrong(self: FileBytes, addresses: Array, length: int) -> Array:
        found = rows(self, addresses, length)
        number = found.view(np.uint32)
        number[number == np.float32(-9.8).view(np.uint32)] += 1
        return found

    monkeypatch.setattr(FileBytes, "rows", wrong)
    source.index()
    assert source.slow_events == STEPS + 2
    assert_same(source.recording, row_by_row(run))


@pytest.mark.usefixtures("small_blocks")
def test_a_file_that_is_cut_while_it_is_read_ends_with_a_message(
    source: EventSource, run: Path
) -> None:
    size = run.stat().st_size
    kept = run.read_bytes()

    def cut(done: int, total: int) -> None:
        if run.stat().st_size == size:
            with run.open("r+b") as file:
                file.truncate(size // 2)

    source.index(cut)
    indexed = source.recording
    assert 0 < len(indexed) < STEPS
    assert not indexed.complete
    assert indexed.problems
    run.write_bytes(kept)
    assert_equals_h5py(run, indexed, range(len(indexed)))


@pytest.mark.usefixtures("small_blocks")
def test_a_path_that_leads_elsewhere_by_then_does_not_matter(
    source: EventSource, run: Path
) -> None:
    whole = row_by_row(run)

    def replace(done: int, total: int) -> None:
        if run.exists():
            run.unlink()
            run.with_suffix(".new").write_bytes(b"something else")

    source.index(replace)
    assert_same(source.recording, whole)


@pytest.mark.parametrize("seed", range(40))
def test_a_byte_that_is_flipped_gives_what_h5py_gives(
    tmp_path: Path, recordings: Path, seed: int
) -> None:
    chosen = random.Random(seed)
    name = chosen.choice(["post_callback", "variable_steps", "no_state"])
    content = bytearray((recordings / f"{name}.h5").read_bytes())
    content[chosen.randrange(96, len(content))] ^= 1 << chosen.randrange(8)
    path = tmp_path / "damaged.h5"
    path.write_bytes(content)
    try:
        expected = row_by_row(path)
    except IsoscopeError:
        with pytest.raises(IsoscopeError):
            EventSource(path).index()
        return
    source = EventSource(path)
    source.index()
    source.close()
    assert_same(source.recording, expected)


@pytest.mark.slow
def test_a_million_events_are_shown_before_and_indexed_by_the_scan(
    tmp_path: Path,
) -> None:
    path = tmp_path / "run.h5"
    with recording(path) as made:
        for number in range(1_000_000):
            made.step(0.02 * number, None)
    source = EventSource(path)
    assert source.event_count == 1_000_000
    for number in (0, 777_777, 999_999):
        shown = source.preview(number)
        assert shown is not None
        assert shown.steps.event.tolist() == [number]
    source.index()
    source.close()
    assert source.slow_events == 0
    assert np.array_equal(source.recording.steps.event, np.arange(1_000_000))
    assert_equals_h5py(path, source.recording, range(5, 1_000_000, 9973))

"""What may crash the library is read by another process, which may be lost."""

from __future__ import annotations

import os
import signal
import struct
from pathlib import Path
from typing import TYPE_CHECKING

import h5py
import numpy as np
import pytest

from isoscope.core.recording.registry import load, open_source
from isoscope.core.recording.superdex.apart import process, salvage, wire
from isoscope.core.recording.superdex.apart.overlay import Overlay
from isoscope.core.recording.superdex.apart.process import Apart, ApartError, Deaths
from isoscope.core.recording.superdex.h5walk import (
    read_event,
)
from isoscope.core.recording.superdex.listing import list_events
from isoscope.core.recording.superdex.superblock import parse
from tests.fuzz import made

if TYPE_CHECKING:
    from collections.abc import Iterator

    from isoscope.core.recording.superdex.events import Event

RECORDINGS = Path(__file__).parents[2] / "data" / "recordings"


def apart(
    path: Path, mode: str, descriptor: int, deaths: Deaths | None = None
) -> Apart:
    return Apart(path, [mode], deaths or Deaths(), descriptor)


@pytest.fixture
def descriptor(request: pytest.FixtureRequest) -> Iterator[int]:
    """Of the file in the fixture ``path``."""
    opened = os.open(request.getfixturevalue("path"), os.O_RDONLY)
    yield opened
    os.close(opened)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return made.recording(tmp_path / "run.h5", decorate=made.packed)


def equal(one: Event, other: Event) -> bool:
    tables = [(one.fields, other.fields)]
    tables += [(one.actors[name], other.actors[name]) for name in one.actors]
    return list(one.actors) == list(other.actors) and all(
        list(a) == list(b)
        and all(
            a[k].dtype == b[k].dtype and a[k].tobytes() == b[k].tobytes() for k in a
        )
        for a, b in tables
    )


# -- in another process -------------------------------------------------------------


def test_another_process_reads_the_same(path: Path, descriptor: int) -> None:
    reader = apart(path, "plain", descriptor)
    assert reader.numbers == list(range(13))
    with h5py.File(path, "r", locking=False) as file:
        for number, event, told in reader.read([3, 0, 12]):
            here = read_event(file["events"], number, lambda message, where: None)
            assert event is not None
            assert here is not None
            assert equal(event, here)
            assert not told
    # Once more, and only in part: what nobody waits for is not mixed up with the rest.
    for number, _, _ in reader.read(range(13)):
        assert number == 0
        break
    assert [number for number, _, _ in reader.read([5, 6])] == [5, 6]
    reader.close()
    reader.close()
    assert list(reader.read([1])) == []


def test_it_stops_when_cancelled(path: Path, descriptor: int) -> None:
    reader = apart(path, "plain", descriptor)
    seen: list[int] = []
    for number, _, _ in reader.read(range(13), cancelled=lambda: len(seen) >= 4):
        seen.append(number)
    assert seen == [0, 1, 2, 3]
    reader.close()


def test_a_child_that_is_killed_loses_nothing(path: Path, descriptor: int) -> None:
    deaths = Deaths()
    reader = apart(path, "plain", descriptor, deaths)
    got = {}
    for number, event, told in reader.read(range(13)):
        got[number] = (event, told)
        if number == 2:
            child = reader._child
            assert child is not None
            child._process.send_signal(signal.SIGKILL)
            child._process.wait()
            while not child._answers.empty():
                child._answers.get()
    reader.close()
    assert list(got) == list(range(13))
    assert all(event is not None for event, _ in got.values())
    [(number, how)] = deaths.over.items()
    assert how == "the HDF5 library crashed (signal 9) on it"
    assert (how, f"/events/{number}", True) in got[number][1]


@pytest.fixture
def looping(tmp_path: Path) -> Path:
    """A recording whose texts lie in a heap that sends the library in circles."""
    path = made.recording(tmp_path / "run.h5", steps=3, decorate=made.worded)
    content = bytearray(path.read_bytes())
    heap = content.find(b"GCOL")
    assert heap > 0
    # The size of the first object: so large that the next one is itself.
    struct.pack_into("<Q", content, heap + 16 + 8, (1 << 64) - 16)
    path.write_bytes(bytes(content))
    return path


def test_what_never_comes_back_is_passed_over(looping: Path) -> None:
    recording = load(looping)
    assert len(recording) == 3
    fields = recording.actors[0].fields
    assert "word" not in fields
    assert fields["translation"].present_count() == 3
    assert fields["half"].present_count() == 3
    text = "\n".join(map(str, recording.problems))
    assert "the HDF5 library did not come back on it" in text
    assert "may crash the HDF5 library: passed over" in text
    assert not recording.complete


def test_what_crashes_the_library_is_passed_over(tmp_path: Path) -> None:
    """A chunk that is shorter than its own checksum is read out of bounds."""

    def decorate(actor: h5py.Group, number: int) -> None:
        data = np.arange(200.0) * number
        actor.create_dataset(
            "sum", data=data, chunks=(64,), fletcher32=True, compression="lzf"
        )

    path = made.recording(tmp_path / "run.h5", steps=6, decorate=decorate)
    content = bytearray(path.read_bytes())
    with h5py.File(path, "r", locking=False) as file:
        dataset = file[f"events/4/actors/{made.HANDLE}/sum"]
        chunk = dataset.id.get_chunk_info(0)
    # The chunk's record in the tree: size, filters that were left out, address.
    record = struct.pack("<II", chunk.size, 0)
    address = struct.pack("<Q", chunk.byte_offset)
    place = content.find(address)
    at = content.rfind(record, 0, place)
    assert at > 0
    struct.pack_into("<I", content, at, 2)
    path.write_bytes(bytes(content))
    recording = load(path)
    assert len(recording) == 6
    fields = recording.actors[0].fields
    assert fields["sum"].present_count() == 5
    assert not fields["sum"].present(3)
    assert fields["translation"].present_count() == 6
    text = "\n".join(map(str, recording.problems))
    assert "the HDF5 library crashed (signal 11) on it (/events/4)" in text


def test_it_gives_up_when_children_keep_dying(
    path: Path, descriptor: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(process, "MAX_LOST", 1)
    monkeypatch.setattr(process, "MEMORY_BYTES", 1 << 40)
    reader = apart(path, "plain", descriptor)
    reader._deaths.over[0] = "before"
    child = reader._child
    assert child is not None
    child.kill()
    reader._child = None
    monkeypatch.setattr(process, "CHILD", "isoscope.no.such.module")
    with pytest.raises(ApartError):
        list(reader.read([0, 1]))


@pytest.mark.parametrize("mode", ["plain", "overlay", "salvage"])
def test_all_ways_in_give_the_same(tmp_path: Path, mode: str) -> None:
    path = RECORDINGS / "create_destroy.h5"
    opened = os.open(path, os.O_RDONLY)
    reader = apart(path, mode, opened)
    with h5py.File(path, "r", locking=False) as file:
        assert reader.numbers == list(range(len(file["events"])))
        for number, event, told in reader.read(reader.numbers):
            here = read_event(file["events"], number, lambda message, where: None)
            assert event is not None
            assert here is not None
            assert equal(event, here)
            assert not told
    reader.close()
    os.close(opened)


def test_a_mode_that_does_not_work_says_why(path: Path, descriptor: int) -> None:
    path.write_bytes(path.read_bytes()[:-100])
    with pytest.raises(ApartError, match="truncated file") as caught:
        apart(path, "plain", descriptor)
    assert "/proc" not in str(caught.value)


def test_the_first_way_that_works_is_kept_to(path: Path, descriptor: int) -> None:
    path.write_bytes(path.read_bytes()[:-100])
    reader = Apart(path, ["plain", "overlay", "salvage"], Deaths(), descriptor)
    assert reader.mode in ("overlay", "salvage")
    assert "truncated file" in reader.refused
    assert [number for number, _, _ in reader.read([1, 2])] == [1, 2]
    reader.close()


def test_frames_that_are_not_what_they_say_are_refused() -> None:
    value = wire.Value("x", "<f4", (3,), b"abc")
    with pytest.raises(ValueError, match="as long as it says"):
        wire.unpack(wire.EventRead(1, True, [value], [], []))
    with pytest.raises(ValueError, match="does not travel"):
        wire.unpack(
            wire.EventRead(1, True, [wire.Value("x", "O", (1,), bytes(8))], [], [])
        )


# -- salvage ------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["create_destroy", "soft_body", "rigid_contacts_all"])
def test_events_are_found_without_their_list(tmp_path: Path, name: str) -> None:
    whole = RECORDINGS / f"{name}.h5"
    with h5py.File(whole, "r", locking=False) as file:
        listing = list_events(file["events"].id)
    expected = dict(
        zip(listing.numbers.tolist(), listing.addresses.tolist(), strict=True)
    )
    found = salvage.find_events(whole)
    assert found.events == expected
    assert found.counted == 0
    # Without the blocks that name them, by where they lie.
    path = tmp_path / "run.h5"
    path.write_bytes(whole.read_bytes().replace(b"FHDB", b"XXXX"))
    found = salvage.find_events(path)
    assert found.events == expected
    assert found.counted == len(expected)


def test_names_that_are_left_keep_the_count_right() -> None:
    numbered = salvage._numbered(
        {0: 100, 5: 600, 6: 700}, [100, 200, 300, 600, 700, 800]
    )
    assert numbered.events == {0: 100, 1: 200, 2: 300, 5: 600, 6: 700, 7: 800}
    assert numbered.counted == 3
    crowded = salvage._numbered({0: 100, 1: 300}, [100, 200, 300])
    assert crowded.events == {0: 100, 1: 300}


def test_nothing_is_found_in_nothing(tmp_path: Path) -> None:
    for content in (b"", b"FHDB", b"eventType\0", b"FHDB" + bytes(50), bytes(5000)):
        path = tmp_path / "none"
        path.write_bytes(content)
        assert salvage.find_events(path).events == {}


def test_an_overlay_shows_the_file_with_another_beginning(tmp_path: Path) -> None:
    path = tmp_path / "run.h5"
    content = bytes(range(256)) * 2
    path.write_bytes(content)
    seen = Overlay(path, root=0x1234, added=b"tail")
    assert seen.seek(0, os.SEEK_END) == 516
    seen.seek(0)
    block = parse(seen.read(200))
    assert block is not None
    assert (block.end, block.root) == (516, 0x1234)
    seen.seek(90)
    assert seen.read(20)[6:] == content[96:110]
    seen.seek(510)
    assert seen.read(10) == content[510:] + b"tail" + bytes(4)
    seen.close()


def test_a_recording_whose_writer_was_killed_late_is_salvaged(tmp_path: Path) -> None:
    """The first bytes were never brought up to date, and the index never written."""
    content = bytearray((RECORDINGS / "shared_cartpole_2env.h5").read_bytes())
    struct.pack_into("<Q", content, 40, 2048)
    for signature in (b"BTIN", b"BTLF", b"FHDB", b"FHIB"):
        at = content.find(signature)
        while at >= 0:
            content[at : at + 4] = bytes(4)
            at = content.find(signature, at + 4)
    path = tmp_path / "run.h5"
    path.write_bytes(bytes(content))
    source = open_source(path)
    assert source.preview() is not None
    source.index()
    source.close()
    recording = source.recording
    whole = load(RECORDINGS / "shared_cartpole_2env.h5")
    assert recording.steps.time_s.tolist() == whole.steps.time_s.tolist()
    text = "\n".join(map(str, recording.problems))
    assert "its writer died before finishing it; read what is left" in text
    assert "numbered by where it lies" in text
    assert not recording.complete

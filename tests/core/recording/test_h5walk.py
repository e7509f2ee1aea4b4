"""Reading one event: links, kinds of values, lists, first bytes, writers."""

from __future__ import annotations

import os
import subprocess
import sys
import zlib
from pathlib import Path

import h5py
import numpy as np
import pytest

from isoscope.core import procfs
from isoscope.core.recording import writers
from isoscope.core.recording.registry import load
from isoscope.core.recording.superdex.chunks import short_chunk
from isoscope.core.recording.superdex.diagnosis import condition
from isoscope.core.recording.superdex.h5walk import (
    NotPlainError,
    plain_error,
    read_event,
)
from isoscope.core.recording.superdex.listing import list_events
from isoscope.core.recording.superdex.superblock import has_signature, parse
from isoscope.core.recording.superdex.values import number_of, plain_name, storable
from tests.fuzz import made
from tests.fuzz.reference import same

RECORDINGS = Path(__file__).parents[2] / "data" / "recordings"


# -- in this process ----------------------------------------------------------------


def test_plain_values_are_read_here_and_others_are_refused(tmp_path: Path) -> None:
    told: list[str] = []

    def tell(message: str, where: str) -> None:
        told.append(f"{message} at {where}")

    plain = made.recording(tmp_path / "plain.h5", decorate=made.plain)
    packed = made.recording(tmp_path / "packed.h5", decorate=made.packed)
    with (
        h5py.File(plain, "r", locking=False) as file,
        h5py.File(packed, "r", locking=False) as other,
    ):
        event = read_event(file["events"], 3, tell, plain_only=True)
        assert event is not None
        assert event.kind == "Step"
        assert list(event.actors) == [str(made.HANDLE)]
        with pytest.raises(NotPlainError):
            read_event(other["events"], 3, tell, plain_only=True)
        assert not told
        careful = read_event(other["events"], 3, tell, careful=True)
        assert careful is not None
        assert "gzip" not in careful.actors[str(made.HANDLE)]
        assert "translation" in careful.actors[str(made.HANDLE)]
        assert told[0].startswith("dataset may crash the HDF5 library: passed over")
        assert read_event(file["events"], 77, tell) is None
        assert told[-1] == "event is missing at /events/77"


def test_values_are_those_of_h5py(tmp_path: Path) -> None:
    def decorate(actor: h5py.Group, number: int) -> None:
        made.plain(actor, number)
        made.worded(actor, number)
        made.packed(actor, number)
        made.many(actor, number)

    path = made.recording(tmp_path / "run.h5", steps=2, decorate=decorate)
    with h5py.File(path, "r", locking=False) as file:
        event = read_event(file["events"], 2, lambda message, where: None)
        assert event is not None
        got = event.actors[str(made.HANDLE)]
        actor = file[f"events/2/actors/{made.HANDLE}"]
        expected = {**actor.attrs, **{name: actor[name][()] for name in actor}}
        pair = expected.pop("pair")
        assert set(got) == {*expected, "pair.a", "pair.b"}
        assert got["pair.a"] == pair["a"]
        for name, value in expected.items():
            assert same(got[name], np.asarray(value)), name


def test_a_key_error_loses_its_quotes() -> None:
    assert plain_error(KeyError("no such object")) == "no such object"
    assert plain_error(OSError("two\nlines")) == "two lines"
    assert plain_error(MemoryError()) == "MemoryError"


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (np.float32(1), np.array(1, np.float32)),
        (np.array([1, 2], ">i4"), np.array([1, 2], ">i4")),
        (np.True_, np.array(True)),
        ("ab", np.array(b"ab", "S32")),
        ("", np.array(b"", "S32")),
        (b"x" * 33, np.array(b"x" * 33, "S33")),
        (np.array(["a", "é"], object), np.array([b"a", "é".encode()], "S32")),
    ],
)
def test_what_a_track_may_hold(value: object, expected: np.ndarray) -> None:
    parts, refused = storable(value)
    assert not refused
    assert list(parts) == [""]
    assert parts[""].dtype == expected.dtype
    assert np.array_equal(parts[""], expected)


@pytest.mark.parametrize(
    "value", [h5py.Empty("f4"), np.void(b"abc"), "x" * (1 << 17), object()]
)
def test_what_a_track_may_not_hold_is_said(value: object) -> None:
    parts, refused = storable(value)
    assert not parts
    assert refused


def test_names_are_made_printable_and_numbers_strict() -> None:
    assert plain_name(b"a\xff\n") == "a\\xff\\n"
    assert plain_name("ä b") == "ä b"
    assert number_of("10") == 10
    for name in ("", "01", "+1", "1.0", "²", "9" * 30, "-1"):
        assert number_of(name) is None


# -- chunks -------------------------------------------------------------------------


def test_whole_chunks_are_not_complained_of(tmp_path: Path) -> None:
    path = tmp_path / "run.h5"
    with h5py.File(path, "w") as file:
        for options in (
            {},
            {"compression": "gzip"},
            {"compression": "gzip", "shuffle": True, "fletcher32": True},
            {"compression": "lzf", "fletcher32": True},
            {"shuffle": True},
        ):
            data = file.create_dataset(
                f"{len(file)}", data=np.arange(1000.0), chunks=(300,), **options
            )
            assert short_chunk(data.id, 8) == ""
        texts = file.create_dataset("texts", data=["a", "bc"] * 9, chunks=(4,))
        assert short_chunk(texts.id, texts.id.get_type().get_size()) == ""
        assert (
            short_chunk(file.create_dataset("none", (9,), "f4", chunks=(3,)).id, 4)
            == ""
        )


@pytest.mark.parametrize("mask", [0, 1])
def test_a_chunk_that_is_too_short_is_not_made_up(tmp_path: Path, mask: int) -> None:
    """The library would fill it with what lies in memory, each time another thing."""
    path = made.recording(tmp_path / "run.h5", steps=3)
    short = np.arange(4.0).tobytes()
    with h5py.File(path, "a") as file:
        group = file[f"events/2/actors/{made.HANDLE}"]
        data = group.create_dataset(
            "x", (100,), "f4", chunks=(100,), compression="gzip"
        )
        data.id.write_direct_chunk((0,), short if mask else zlib.compress(short), mask)
    recording = load(path)
    assert "x" not in recording.actors[0].fields
    [problem] = recording.problems
    assert "chunk gives 32 of 400 bytes" in problem.message
    assert problem.severity == "error"


# -- the list of events -------------------------------------------------------------


def test_events_are_listed_by_number(tmp_path: Path) -> None:
    path = tmp_path / "run.h5"
    with h5py.File(path, "w") as file:
        events = file.create_group("events")
        for name in ("10", "2", "1", "0", "01", "x", "9" * 25, "4", "-1", "3 "):
            events.create_group(name)
        events["5"] = h5py.SoftLink("/events/1")
        listing = list_events(events.id)
        assert listing.numbers.tolist() == [0, 1, 2, 4, 10]
        for number, address in zip(listing.numbers, listing.addresses, strict=True):
            info = h5py.h5o.get_info(events[str(number)].id)
            assert info.addr == address
    messages = {message: (where, count) for message, where, count in listing.told}
    assert messages["event is missing"] == ("/events/3", 6)
    assert messages["entry whose name is no event number"][1] == 5
    assert messages["link that leads elsewhere was not followed"][1] == 1


# -- what the first bytes say -------------------------------------------------------


@pytest.mark.parametrize(
    ("libver", "version"), [("earliest", 0), (("v108", "v108"), 2), ("latest", 3)]
)
def test_the_superblock_is_understood(
    tmp_path: Path, libver: str, version: int
) -> None:
    path = made.recording(tmp_path / "run.h5", libver=libver)
    block = parse(path.read_bytes()[:4096])
    assert block is not None
    assert block.version == version
    assert block.end == path.stat().st_size
    assert not block.marked_as_written
    with h5py.File(path, "r", locking=False) as file:
        assert block.root == h5py.h5o.get_info(file.id).addr
    state = condition(path)
    assert not state.cut
    assert not state.unfinished
    assert state.writer is None


def test_no_superblock_is_made_of_nothing() -> None:
    for head in (b"", b"\x89HDF\r\n\x1a\n", b"\x89HDF\r\n\x1a\n" + bytes(range(200))):
        assert parse(head) is None
    assert has_signature(bytes(512) + b"\x89HDF\r\n\x1a\n")
    assert not has_signature(bytes(600))


# -- who writes it ------------------------------------------------------------------


def test_a_writer_is_found_by_its_lock_or_by_its_open_file(tmp_path: Path) -> None:
    path = tmp_path / "run.h5"
    path.write_bytes(b"x" * 100)
    me = f"(process {os.getpid()})"
    assert writers.find_writer(path, thorough=True) is None
    with path.open("rb"):
        assert writers.find_writer(path, thorough=True) is None
    with path.open("r+b") as file:
        assert writers.find_writer(path) is None
        found = writers.find_writer(path, thorough=True)
        assert found is not None
        assert found.endswith(me)
        import fcntl

        fcntl.flock(file, fcntl.LOCK_EX)
        found = writers.find_writer(path)
        assert found is not None
        assert found.endswith(me)
    assert writers.find_writer(path) is None
    assert writers.find_writer(tmp_path / "nothing") is None


def test_a_writer_that_is_known_is_found_however_many_programs_there_are(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    own, others = tmp_path / "own.h5", tmp_path / "others.h5"
    others.write_bytes(b"")
    hold = "import sys; f = open(sys.argv[1], 'r+b'); print(flush=True); input()"
    command = [sys.executable, "-c", hold, str(others)]
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as writer:
        assert writer.stdout is not None
        writer.stdout.readline()
        assert writers.find_writer(others, thorough=True) is not None
        monkeypatch.setattr(writers, "SEARCH_S", -1.0)
        found = writers.find_writer(others, thorough=True)
        assert found is not None
        assert found.endswith(f"(process {writer.pid})")
        with own.open("wb"):
            assert writers.find_writer(own, thorough=True) is not None
        writer.kill()
    assert writers.find_writer(others, thorough=True) is None


def test_where_there_is_no_proc_nothing_is_known(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(procfs, "PROC", str(tmp_path / "none"))
    path = tmp_path / "run.h5"
    path.write_bytes(b"")
    with path.open("r+b"):
        assert writers.find_writer(path, thorough=True) is None

"""The scan's own parts: hash, superblock, bytes, messages, headers, comparison."""

from __future__ import annotations

import struct
from contextlib import closing
from typing import TYPE_CHECKING

import h5py
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from isoscope.core.recording.superdex.scan import messages
from isoscope.core.recording.superdex.scan.bounds import recorded_end
from isoscope.core.recording.superdex.scan.checksum import lookup3, lookup3_rows
from isoscope.core.recording.superdex.scan.filebytes import (
    FileBytes,
    OutOfBoundsError,
)
from isoscope.core.recording.superdex.scan.header import parse
from isoscope.core.recording.superdex.scan.match import match
from isoscope.core.recording.superdex.scan.messages import UnrecognisedError
from tests.core.recording.recorder import contacts, recording, rigid

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from isoscope.core.recording.superdex.scan.template import Template

HANDLE = 2**32 + 1


# -- lookup3 ------------------------------------------------------------------------


def test_the_hash_gives_its_authors_example() -> None:
    assert lookup3(b"") == 0xDEADBEEF
    assert lookup3(b"Four score and seven years ago") == 0x17770551


@given(
    st.integers(1, 60).flatmap(
        lambda n: st.lists(st.binary(min_size=n, max_size=n), min_size=1, max_size=5)
    )
)
def test_rows_hash_as_each_alone(rows: list[bytes]) -> None:
    length = len(rows[0])
    data = np.frombuffer(b"".join(rows), np.uint8).reshape(len(rows), length)
    assert lookup3_rows(data, length).tolist() == [lookup3(row) for row in rows]


# -- superblock ---------------------------------------------------------------------


def head_of(path: Path) -> bytes:
    with path.open("rb") as file:
        return file.read(96)


def test_the_superblock_tells_the_files_end(recordings: Path) -> None:
    path = recordings / "create_destroy.h5"
    size = path.stat().st_size
    assert recorded_end(head_of(path), size) == size
    assert recorded_end(head_of(path), size + 100) == size
    assert recorded_end(head_of(path), size - 1) is None
    assert recorded_end(head_of(path)[:90], size) is None


@pytest.mark.parametrize("at", [0, 8, 9, 10, 11, 12, 13, 14, 15, 20, 24, 48])
def test_another_form_of_superblock_is_not_taken(recordings: Path, at: int) -> None:
    path = recordings / "create_destroy.h5"
    head = bytearray(head_of(path))
    head[at] ^= 1
    assert recorded_end(bytes(head), path.stat().st_size) is None


# -- bytes --------------------------------------------------------------------------


@pytest.fixture
def source(tmp_path: Path) -> Iterator[FileBytes]:
    path = tmp_path / "bytes"
    path.write_bytes(np.arange(4096, dtype="<u4").tobytes())
    with closing(FileBytes(path, 4096 * 4)) as opened:
        yield opened


@pytest.mark.parametrize("window", [(0, 0), (0, 16384), (2003, 9001), (16000, 99999)])
def test_rows_and_runs_are_the_same_through_any_window(
    source: FileBytes, window: tuple[int, int]
) -> None:
    whole = np.arange(4096, dtype="<u4").tobytes()
    source.load(*window)
    starts = np.array([16, 1999, 2004, 8990, 9004, 16383 - 20], np.int64)
    for length in (1, 7, 16, 21):
        rows = source.rows(starts, length)
        assert rows.shape == (6, -(-length // 8) * 8)
        for row, start in zip(rows, starts, strict=True):
            assert row[:length].tobytes() == whole[start : start + length]
    counts = np.array([1, 3, 0, 2, 5, 4], np.int64)
    for shift in (0, 1):
        begin = starts // 4 * 4 + shift
        runs = source.runs(begin, counts, np.dtype("<u4"))
        expected = b"".join(
            whole[b : b + 4 * n] for b, n in zip(begin, counts, strict=True)
        )
        assert runs.tobytes() == expected


def test_bytes_behind_the_end_are_not_read(source: FileBytes) -> None:
    assert source.read(16380, 4) == struct.pack("<I", 4095)
    for address, length in ((16381, 4), (-1, 2), (0, 16385), (1 << 62, 1)):
        with pytest.raises(OutOfBoundsError):
            source.read(address, length)


def test_a_file_that_was_cut_meanwhile_is_noticed(tmp_path: Path) -> None:
    path = tmp_path / "bytes"
    path.write_bytes(bytes(1000))
    with closing(FileBytes(path, 1000)) as source:
        path.write_bytes(bytes(500))
        with pytest.raises(OutOfBoundsError):
            source.load(0, 1000)
        with pytest.raises(OutOfBoundsError):
            source.rows(np.array([600]), 8)


# -- messages -----------------------------------------------------------------------

PARSERS: list[Callable[[bytes], object]] = [
    messages.datatype,
    messages.dataspace,
    messages.attribute,
    messages.link,
    messages.link_info,
    messages.layout,
    *(
        lambda body, kind=kind: messages.check_plain(kind, body)
        for kind in (messages.GROUP_INFO, messages.FILL, messages.MODIFIED, 99)
    ),
]


@given(st.binary(max_size=80), st.integers(0, len(PARSERS) - 1))
def test_any_bytes_are_parsed_or_refused(body: bytes, which: int) -> None:
    try:
        PARSERS[which](body)
    except UnrecognisedError:
        pass


def type_bytes(dtype: str) -> bytes:
    kind = h5py.h5t.py_create(np.dtype(dtype))
    return bytes(kind.encode()[2:])  # without the encoding's own head


@pytest.mark.parametrize(
    "dtype", ["<u1", "<i1", "<u2", "<i4", "<u4", "<i8", "<u8", "<f4", "<f8", "S5"]
)
def test_datatypes_of_the_recorder_are_known(dtype: str) -> None:
    found = messages.datatype(type_bytes(dtype))
    assert found.dtype == np.dtype(dtype)
    assert not found.ends_at_nul


@pytest.mark.parametrize("dtype", [">i4", ">f8", "<f2", "<c8", "?", "V4"])
def test_other_datatypes_are_refused(dtype: str) -> None:
    with pytest.raises(UnrecognisedError):
        messages.datatype(type_bytes(dtype))


@given(st.integers(0, 19), st.integers(1, 255))
def test_no_bit_of_a_real_type_may_differ(at: int, bits: int) -> None:
    body = bytearray(type_bytes("<f4"))
    body[at] ^= bits
    with pytest.raises(UnrecognisedError):
        messages.datatype(bytes(body))


@pytest.mark.parametrize(
    ("flags", "shape", "maximum", "good"),
    [
        (0, (3,), (), True),
        (1, (2, 3), (2, 3), True),
        (1, (2,), (2**64 - 1,), True),
        (1, (4,), (3,), False),
        (0, (0,), (), False),
        (2, (3,), (), False),
    ],
)
def test_dataspaces(
    flags: int, shape: tuple[int, ...], maximum: tuple[int, ...], good: bool
) -> None:
    numbers = (*shape, *maximum)
    body = bytes((1, len(shape), flags, 0, 0, 0, 0, 0)) + struct.pack(
        f"<{len(numbers)}Q", *numbers
    )
    if good:
        assert messages.dataspace(body).shape == shape
        assert messages.dataspace(body).length == len(body)
    else:
        with pytest.raises(UnrecognisedError):
            messages.dataspace(body)


def test_only_hard_links_of_plain_names_are_taken() -> None:
    body = b"\x01\x04" + struct.pack("<q", 7) + b"\x05omega" + struct.pack("<Q", 4096)
    found = messages.link(body + bytes(3))
    assert (found.name, found.order, found.length) == ("omega", 7, len(body))
    assert struct.unpack_from("<Q", body, found.address)[0] == 4096
    for at, byte in ((0, 2), (1, 0x0C), (1, 0x24), (11, 0), (12, ord("/")), (10, 200)):
        other = bytearray(body)
        other[at] = byte
        with pytest.raises(UnrecognisedError):
            messages.link(bytes(other))


# -- templates ----------------------------------------------------------------------


class Made:
    """A recording of eight steps, and where its objects are."""

    def __init__(self, path: Path) -> None:
        random = np.random.default_rng(3)
        with recording(path) as made:
            made.create(HANDLE, b"Ball")
            for number in range(8):
                fields = rigid(b"Ball", random) | contacts("contacts_", 2, random)
                fields["pose"] = random.standard_normal((2, 3))
                made.step(0.02 * number, {HANDLE: fields})
        self.path = path
        self.size = path.stat().st_size
        with h5py.File(path, "r", locking=False) as file:
            self.addresses = [
                h5py.h5o.get_info(file[f"events/{n}/actors/{HANDLE}"].id).addr
                for n in range(1, 9)
            ]
            self.pose = h5py.h5o.get_info(
                file[f"events/1/actors/{HANDLE}/pose"].id
            ).addr
            self.omega = [
                file[f"events/{n}/actors/{HANDLE}"].attrs["omega"] for n in range(1, 9)
            ]

        self.source = FileBytes(path, self.size)


@pytest.fixture
def made(tmp_path: Path) -> Iterator[Made]:
    there = Made(tmp_path / "run.h5")
    with closing(there.source):
        yield there


def test_a_header_becomes_a_template(made: Made) -> None:
    template = parse(made.source, made.addresses[0])
    names = [attribute.name for attribute in template.attributes]
    assert names == sorted(names)
    assert {"omega", "handle", "contacts_force"} <= set(names)
    varying = [a.name for a in template.attributes if a.shape is None]
    assert varying == [n for n in names if n.startswith("contacts_")]
    assert [link.name for link in template.links] == ["pose"]
    data = parse(made.source, made.pose).values
    assert data is not None
    assert (data.dtype, data.shape, data.nbytes) == (np.dtype("<f8"), (2, 3), 48)


def test_the_same_object_of_every_event_is_matched(made: Made) -> None:
    source = made.source
    template = parse(source, made.addresses[3])
    found = match(template, source, np.arange(8), np.array(made.addresses, np.uint64))
    assert found.rows.tolist() == list(range(8))
    omega = template.attribute("omega")
    assert omega is not None
    values = found.field(omega.piece, omega.offset, omega.dtype, (3,))
    assert np.array_equal(values, made.omega)


def test_addresses_that_lead_nowhere_are_not_matched(made: Made) -> None:
    source = made.source
    template = parse(source, made.addresses[0])
    strange = [0, made.size - 8, 2**64 - 1, made.addresses[1] + 8, made.addresses[2]]
    found = match(template, source, np.arange(5), np.array(strange, np.uint64))
    assert found.rows.tolist() == [4]


def matched(template: Template, made: Made) -> list[int]:
    source = made.source
    addresses = np.array(made.addresses, np.uint64)
    return match(template, source, np.arange(8), addresses).rows.tolist()


def test_every_bit_of_the_structure_counts(made: Made) -> None:
    """Flip each byte of one header: the object is matched or its bytes are values."""
    template = parse(made.source, made.addresses[0])
    content = made.path.read_bytes()
    free = 0
    for at in range(made.addresses[1], made.addresses[1] + template.pieces[0].length):
        damaged = bytearray(content)
        damaged[at] ^= 0xFF
        made.path.write_bytes(damaged)
        rows = matched(template, made)
        assert rows in (list(range(8)), [0, *range(2, 8)])
        free += 1 in rows
    values = sum(
        a.dtype.itemsize * int(np.prod(a.shape, dtype=int))
        for a in template.attributes
        if a.shape is not None and a.piece == 0
    )
    # Beyond the values only an address's bytes may differ and still lead somewhere.
    assert free <= values + 8 * len(template.links) + 16
    assert free >= values


@pytest.mark.parametrize("change", [b"ab\0\0\0\0", b"a\0b\0\0\0", b"\0abcde"])
def test_what_follows_a_texts_end_is_not_taken(tmp_path: Path, change: bytes) -> None:
    path = tmp_path / "run.h5"
    with recording(path) as made:
        for text in (b"abcdef", b"uvwxyz", b"rstopq"):
            made.event(b"Step", {"note": text})
    path.write_bytes(path.read_bytes().replace(b"uvwxyz", change))
    with h5py.File(path, "r", locking=False) as file:
        addresses = [h5py.h5o.get_info(file[f"events/{n}"].id).addr for n in range(3)]
    with closing(FileBytes(path, path.stat().st_size)) as source:
        template = parse(source, addresses[0])
        found = match(template, source, np.arange(3), np.array(addresses, np.uint64))
    clean = not change.rstrip(b"\0").count(b"\0")
    assert found.rows.tolist() == ([0, 1, 2] if clean else [0, 2])

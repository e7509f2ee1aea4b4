"""Two events that claim one header block: libhdf5 opens only the first of them."""

from __future__ import annotations

from contextlib import closing
from typing import TYPE_CHECKING

import h5py
import numpy as np
import pytest

from isoscope.core.recording.superdex.reader import EventSource
from isoscope.core.recording.superdex.scan import scan
from isoscope.core.recording.superdex.scan.claims import Claims
from isoscope.core.recording.superdex.scan.filebytes import FileBytes
from isoscope.core.recording.superdex.scan.header import parse
from isoscope.core.recording.superdex.scan.match import Found, match
from tests.core.recording.compare import assert_same, row_by_row

if TYPE_CHECKING:
    from pathlib import Path

NAME = "shared_cartpole_2env.h5"
ALIKE = (3, 4, 9, 10, 11, 12)  # events whose headers go on in one more block


def headers(path: Path) -> list[int]:
    with h5py.File(path, "r", locking=False) as file:
        return [h5py.h5o.get_info(file[f"events/{number}"].id).addr for number in ALIKE]


@pytest.mark.parametrize("events", [4096, 8])
@pytest.mark.parametrize("thief", [0, 1, 5])
def test_a_block_of_another_event_is_left_to_h5py(
    recordings: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    thief: int,
    events: int,
) -> None:
    monkeypatch.setattr(scan, "BLOCK_EVENTS", events)
    original = recordings / NAME
    content = bytearray(original.read_bytes())
    addresses = headers(original)
    victim = 0 if thief else 3
    with closing(FileBytes(original, len(content))) as source:
        pieces = parse(source, addresses[0]).pieces
    pointer = pieces[1].origin.pointer
    assert len(pieces) == 2
    assert pointer is not None
    stolen = content[addresses[victim] + pointer : addresses[victim] + pointer + 8]
    content[addresses[thief] + pointer : addresses[thief] + pointer + 8] = stolen
    path = tmp_path / "damaged.h5"
    path.write_bytes(content)
    indexed = EventSource(path)
    indexed.index()
    indexed.close()
    if events > 8 or ALIKE[thief] // 8 == ALIKE[victim] // 8:
        assert indexed.slow_events == 2
        assert_same(indexed.recording, row_by_row(path))
    else:
        # The first of the two was scanned by then, in an earlier block.
        assert indexed.slow_events == 1


def test_claims_are_remembered_from_block_to_block(recordings: Path) -> None:
    path = recordings / NAME
    addresses = np.array(headers(path), np.uint64)
    with closing(FileBytes(path, path.stat().st_size)) as source:
        template = parse(source, int(addresses[0]))

        def found(which: list[int]) -> list[Found]:
            rows = np.arange(len(which))
            return [match(template, source, rows, addresses[which])]

        claims = Claims()
        assert not claims.contested(found([0, 3]), 2).any()
        assert not claims.contested(found([1, 4]), 2).any()
        assert claims.contested(found([2, 4, 5]), 3).tolist() == [False, True, False]
        twice = Claims().contested(found([0, 1, 0, 2]), 4)
        assert twice.tolist() == [True, False, True, False]
        assert not Claims().contested([], 3).any()

"""Reading while a block is being listed: room for its entry first, then the entry."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from isoscope.core.recording.labelled import records as r
from isoscope.core.recording.labelled.container import Container
from isoscope.core.recording.labelled.reader import LabelledSource
from isoscope.core.recording.labelled.recorder import Recorder

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path


@pytest.fixture
def between(monkeypatch: pytest.MonkeyPatch) -> list[Callable[[], Any]]:
    """What is called after the directory has grown, and before it was filled in."""
    calls: list[Callable[[], Any]] = []
    append = Container._append

    def slowly(self: Container, name: str, values: np.ndarray[Any, Any]) -> int:
        if name == "directory" and self.live and self._file is not None:
            at = self._length.get(name, 0)
            self._file[name].resize((at + len(values),))
            for call in calls:
                call()
        return append(self, name, values)

    monkeypatch.setattr(Container, "_append", slowly)
    return calls


def test_a_block_that_is_half_listed_is_taken_in_later(
    tmp_path: Path, between: list[Callable[[], Any]]
) -> None:
    path = tmp_path / "run.isoscope.h5"
    recorder = Recorder(path, r.Identity(), compact=False)
    actor = recorder.actor(r.ActorInfo(name="body", type="Rigid", handle=1))
    field = r.Field(name="height", shape=(), unit="m", actor=actor)
    frame = recorder.frame([field], "f8")
    assert recorder.flush()
    source = LabelledSource(path)
    source.index()
    looks: list[int] = []

    def look() -> None:
        source.refresh()
        looks.append(len(source.recording))

    between.append(look)
    block = recorder.intake.buffers[recorder.intake.tables["native"]].capacity
    total = 0
    for _ in range(6):
        for _ in range(block // 2 + 7):
            frame.put(0, float(total))
            recorder.native(r.NativeStep(env=0, h_s=0.1), frame)
            total += 1
        assert recorder.flush()
        source.refresh()
        assert len(source.recording) == total
        track = source.recording.actors[0].fields["height"]
        assert np.array_equal(track.read(0, total).values, np.arange(total))
    assert len(looks) > 2  # else no block was listed
    assert not [p for p in source.recording.problems if p.severity == "error"]
    recorder.close()
    source.refresh()
    assert source.recording.complete


def test_what_was_read_stays_where_entries_are_lost(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "run.isoscope.h5"
    recorder = Recorder(path, r.Identity(), compact=False)
    frame = recorder.frame([r.Field(name="height", shape=(), unit="m")], "f8")
    block = recorder.intake.buffers[recorder.intake.tables["native"]].capacity
    append, damaged = Container._append, 0

    def losing(self: Container, name: str, values: np.ndarray[Any, Any]) -> int:
        nonlocal damaged
        if name == "directory":
            damaged += 1
            if damaged == 2:
                values = np.zeros_like(values)
        return append(self, name, values)

    monkeypatch.setattr(Container, "_append", losing)
    source, seen = None, 0
    for turn in range(12):
        for row in range(block // 2 + 1):
            frame.put(0, float(row))
            recorder.native(r.NativeStep(env=0, h_s=0.1), frame)
        assert recorder.flush()
        if source is None:
            source = LabelledSource(path)
            source.index()
        source.refresh()
        rows = len(source.recording)
        assert rows >= seen
        seen = rows
        window = source.recording.scene["height"].read(0, rows)
        assert window.valid.all()
        if turn == 0:
            assert rows == block // 2 + 1
    assert damaged > 3
    assert source is not None
    assert seen < len(recorder.intake.buffers[recorder.intake.tables["native"]])
    lines = [p.message for p in source.recording.problems if p.severity == "error"]
    assert any("checksum is wrong" in line for line in lines)
    places = [(p.message, p.where) for p in source.recording.problems]
    told = [p for p in places if "checksum" not in p[0]]
    assert told
    assert len(told) == len(set(told))  # at each look anew would be without an end
    recorder.close()
    source.close()

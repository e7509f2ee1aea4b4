"""Rows that are packed later: their numbers, their order, and the bounds on them."""

from __future__ import annotations

from typing import Any

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from isoscope.core.recording.labelled import records as r
from isoscope.core.recording.labelled import tables as t
from isoscope.core.recording.labelled.intake import LATE_BYTES, MOST_LATE, Intake
from isoscope.core.recording.labelled.intake_recorder import IntakeRecorder


class Native:
    """Native steps by hand: the environment's number is all that they tell."""

    def __init__(self, limit: int = 1 << 30) -> None:
        self.recorder = IntakeRecorder(Intake(limit, lambda: None))
        self.intake = self.recorder.intake
        self.table = self.intake.tables["native"]
        self.packed: list[int] = []

    def pack(self, raws: list[int]) -> None:
        self.packed.append(len(raws))
        rows = np.zeros(len(raws), t.NATIVE.dtype)
        rows["env"] = raws
        rows["h_s"] = 0.1
        self.recorder.natives_packed(rows)

    def later(self, env: int, size: int = 1) -> int:
        return self.intake.later(self.table, self.pack, env, size)

    def taken(self) -> Any:
        batch = self.intake.take_news()
        parts = [b.rows for b in batch.blocks if b.table == self.table]
        return np.concatenate(parts)


@given(st.lists(st.sampled_from(["later", "now", "take", "event"]), max_size=40))
def test_order_and_numbers_are_those_of_rows_packed_at_once(doing: list[str]) -> None:
    both, parts = Native(), []
    count = 0
    for what in doing:
        if what == "take":
            batch = both.intake.take_news()
            parts += [b.rows for b in batch.blocks if b.table == both.table]
            continue
        if what == "event":
            both.recorder.event(r.SceneEvent("restore", row=both.recorder.rows))
            continue
        if what == "later":
            row = both.later(count)
        else:
            row = both.recorder.native(r.NativeStep(env=count, h_s=0.1))
        assert row == count
        count += 1
        assert both.recorder.rows == count
    batch = both.intake.take_news()
    parts += [b.rows for b in batch.blocks if b.table == both.table]
    rows = np.concatenate([np.zeros(0, t.NATIVE.dtype), *parts])
    assert rows["env"].tolist() == list(range(count))
    once = Native()
    for env in range(count):
        once.recorder.native(r.NativeStep(env=env, h_s=0.1))
    if count:
        assert rows["time_s"].tobytes() == once.taken()["time_s"].tobytes()


def test_they_wait_for_whoever_takes_them() -> None:
    native = Native()
    for env in range(5):
        native.later(env)
    assert native.packed == []
    assert native.taken()["env"].tolist() == [0, 1, 2, 3, 4]
    assert native.packed == [5]


def test_neither_many_nor_large_ones_wait() -> None:
    native = Native()
    for env in range(MOST_LATE):
        native.later(env)
    assert native.packed == [MOST_LATE]
    native.later(0, LATE_BYTES)
    assert native.packed == [MOST_LATE, 1]


def test_what_is_refused_is_counted_and_gets_no_number() -> None:
    native = Native()
    native.later(0)
    native.intake.accepts = False
    assert native.later(1) == -1
    native.intake.reopen()
    assert native.later(2) == 1
    assert native.taken()["env"].tolist() == [0, 2]
    dropped = native.intake.tables["dropped"]
    assert len(native.intake.buffers[dropped]) == 1


def test_nothing_waits_after_the_end() -> None:
    native = Native()
    native.later(0)
    native.intake.stop()
    native.intake.catch_up()
    assert native.packed == []
    assert native.later(1) == -1


def test_events_keep_their_words_and_their_order() -> None:
    native = Native()
    native.recorder.event(r.SceneEvent("restore", env=1, snapshot=7))
    native.recorder.event(r.SceneEvent("exception", env=2, detail={"why": "so"}))
    native.recorder.event(r.SceneEvent("capture", env=3))
    table = native.intake.tables["events"]
    batch = native.intake.take_news()
    [rows] = [b.rows for b in batch.blocks if b.table == table]
    assert rows["env"].tolist() == [1, 2, 3]
    assert rows["snapshot"].tolist() == [7, -1, -1]
    assert (rows["detail"] >= 0).tolist() == [False, True, False]
    texts = [native.intake.text(word) for word in ("restore", "exception", "capture")]
    assert rows["kind"].tolist() == texts

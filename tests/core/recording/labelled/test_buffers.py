"""Open rows of a table: whoever takes news gets each once, in blocks or not."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from isoscope.core.recording.labelled import records as r
from isoscope.core.recording.labelled.intake import Block, Intake
from isoscope.core.recording.labelled.intake_recorder import IntakeRecorder

WHOLE = 1024  # rows of a block


def _intake() -> IntakeRecorder:
    return IntakeRecorder(Intake(1 << 30, lambda: None))


def _told(recorder: IntakeRecorder, first: int, count: int) -> None:
    for env in range(first, first + count):
        recorder.transition(r.Transition(env=env, reward=float(env)))


def _rows(blocks: list[Block], table: int) -> list[int]:
    """What they are, each at the place that its block says."""
    found: list[int] = []
    for block in blocks:
        if block.table == table:
            assert block.first == len(found)
            found += block.rows["env"].tolist()
            assert block.rows["reward"].tolist() == block.rows["env"].tolist()
    return found


@given(st.lists(st.one_of(st.integers(1, 2500), st.none()), max_size=12))
def test_news_are_all_rows_once_and_in_order(doing: list[int | None]) -> None:
    recorder, count = _intake(), 0
    table = recorder.intake.tables["transitions"]
    blocks: list[Block] = []
    for many in doing:
        if many is None:
            blocks += recorder.intake.take_news().blocks
        else:
            _told(recorder, count, many)
            count += many
    batch = recorder.intake.take_news()
    assert batch.lengths[table] == count
    assert _rows(blocks + batch.blocks, table) == list(range(count))


def test_memory_of_a_buffer_whose_news_are_taken_stays_and_is_empty_again() -> None:
    recorder = _intake()
    buffer = recorder.intake.buffers[recorder.intake.tables["transitions"]]
    memory, taken = buffer.rows, []
    for first in range(0, 3 * WHOLE, WHOLE // 2):
        _told(recorder, first, WHOLE // 2)
        taken += recorder.intake.take_news().blocks
        assert buffer.rows is memory
    assert _rows(taken, buffer.table) == list(range(3 * WHOLE))
    assert not np.frombuffer(memory, np.uint8).any()


def test_whole_blocks_are_handed_over_where_nothing_is_taken() -> None:
    recorder = _intake()
    buffer = recorder.intake.buffers[recorder.intake.tables["transitions"]]
    memory = buffer.rows
    _told(recorder, 0, WHOLE + 1)
    assert buffer.rows is not memory
    batch = recorder.intake.take()
    assert [len(b.rows) for b in batch.blocks] == [WHOLE]
    assert np.shares_memory(batch.blocks[0].rows, memory)
    assert batch.lengths[buffer.table] == WHOLE + 1

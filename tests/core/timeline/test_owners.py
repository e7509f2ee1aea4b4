from __future__ import annotations

import json
from typing import TYPE_CHECKING

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from isoscope.core.recording.model import Labels, StepKind
from isoscope.core.timeline.owners import (
    OWNER_COLOURS,
    UNKNOWN_OWNER,
    environment_lanes,
    owner_lane,
)
from isoscope.core.timeline.pieces import Look, Shape

if TYPE_CHECKING:
    from pathlib import Path


def labels_of(steps: list[tuple[int, int, int, int]]) -> Labels:
    """Labels from (env, episode, control step, substep) of each row."""
    env, episode, control, substep = np.array(steps, np.int32).T
    kind = np.where(control == 0, StepKind.RESET, StepKind.SUBSTEP).astype(np.int8)
    kind[env < 0] = StepKind.UNKNOWN
    return Labels(env, episode, control, substep, kind)


def truth_labels(folder: Path, case: str) -> Labels:
    steps = json.loads((folder / f"{case}.truth.json").read_text())["native_steps"]
    return labels_of(
        [(s["env"], s["episode"], s["control_step"], s["substep"]) for s in steps]
    )


TWO = labels_of(
    [
        (0, 1, 0, 0), (1, 1, 0, 0),
        (0, 1, 1, 0), (0, 1, 1, 1), (1, 1, 1, 0), (1, 1, 1, 1),
        (0, 1, 2, 0), (0, 1, 2, 1), (0, 2, 0, 0), (1, 1, 2, 0), (1, 1, 2, 1),
    ]
)  # fmt: skip


def test_the_ribbon_has_one_colour_a_row():
    bits = owner_lane(TWO).rows.bits
    assert bits.tolist() == [1, 2, 1, 1, 2, 2, 1, 1, 1, 2, 2]


def test_an_unknown_owner_has_a_bit_of_its_own():
    labels = Labels.unknown(3)
    labels.env[1] = 9
    bits = owner_lane(labels).rows.bits
    assert bits.tolist() == [UNKNOWN_OWNER, 1 << (9 % OWNER_COLOURS), UNKNOWN_OWNER]


def test_a_control_step_lasts_until_the_environments_next():
    first, second = environment_lanes(TWO)
    assert (first.env, second.env) == (0, 1)
    assert first.items.start.tolist() == [0, 2, 6, 8]
    assert first.items.active_stop.tolist() == [1, 4, 8, 9]
    assert first.items.stop.tolist() == [2, 6, 8, 9]
    assert first.items.number.tolist() == [0, 1, 2, 0]
    assert second.items.start.tolist() == [1, 4, 9]
    assert second.items.stop.tolist() == [4, 9, 11]


def test_episodes_are_bordered_by_their_resets():
    first, second = environment_lanes(TWO)
    assert first.marks.rows.tolist() == [0, 8]
    assert first.marks.text(1) == "reset: episode 2 begins"
    assert second.marks.rows.tolist() == [1]


def test_an_episode_that_begins_without_a_reset_in_sight_is_bordered_too():
    labels = labels_of([(0, 1, 8, 0), (0, 1, 9, 0), (0, 2, 1, 0)])
    (lane,) = environment_lanes(labels)
    assert lane.marks.rows.tolist() == [2]
    assert lane.marks.shapes.tolist() == [Shape.EPISODE]


def test_unknown_rows_have_a_lane_ahead_of_the_others():
    labels = labels_of([(0, 1, 1, 0), (-1, -1, -1, -1), (-1, -1, -1, -1), (0, 1, 2, 0)])
    unknown, known = environment_lanes(labels)
    assert unknown.key == "env:?"
    assert unknown.items.start.tolist() == [1]
    assert unknown.items.stop.tolist() == [3]
    assert unknown.items.look.tolist() == [Look.HATCHED]
    assert known.env == 0


def test_steps_of_no_control_step_are_pale():
    labels = labels_of([(0, 1, -1, -1)] * 3)
    labels.kind[:] = StepKind.FREE
    (lane,) = environment_lanes(labels)
    assert lane.items.look.tolist() == [Look.PALE]
    assert lane.items.stop.tolist() == [3]


def test_nothing_is_known_of_no_rows():
    assert environment_lanes(Labels.unknown(0)) == []


def test_every_control_step_of_a_real_run_is_an_item(recordings):
    labels = truth_labels(recordings, "shared_cartpole_missed_restore")
    for lane in environment_lanes(labels):
        rows = np.flatnonzero(labels.env == lane.env)
        own = {(int(labels.episode[r]), int(labels.control_step[r])) for r in rows}
        assert len(lane.items) == len(own)
        resets = rows[labels.control_step[rows] == 0]
        assert lane.marks.rows.tolist() == resets.tolist()


@given(
    st.lists(
        st.tuples(
            st.integers(-1, 40), st.integers(-1, 3), st.integers(-1, 4), st.just(0)
        ),
        min_size=1,
        max_size=80,
    )
)
def test_each_row_is_at_work_in_exactly_one_lane(steps):
    labels = labels_of(steps)
    owners = np.zeros(len(labels), int)
    for lane in environment_lanes(labels):
        items = lane.items
        assert (items.start < items.active_stop).all()
        assert (items.active_stop <= items.stop).all()
        assert (items.start[1:] >= items.stop[:-1]).all()
        for begin, end in zip(items.start, items.active_stop, strict=True):
            owners[begin:end] += np.where(
                labels.env[begin:end] == (-1 if lane.env is None else lane.env), 1, 0
            )
    assert (owners == 1).all()

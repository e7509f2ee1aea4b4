"""Control steps that are told after their native steps, in plots that grow."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pytest

from isoscope.core.decimate import BLOCK_ROWS, Decimator
from isoscope.core.following.own_steps import OwnSteps
from isoscope.core.recording.labelled import records as r
from isoscope.core.recording.labelled.reader import LabelledSource
from isoscope.core.recording.labelled.recorder import Recorder
from isoscope.core.recording.model import StepKind
from isoscope.core.series import FieldRows
from isoscope.core.turns import TurnDecimator

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

ENVS, SUBSTEPS = 3, 2


class Run:
    """Environments that take each control step together, and then tell of it."""

    def __init__(self, path: Path) -> None:
        self.recorder = Recorder(path, r.Identity(engine="none", substeps=SUBSTEPS))
        self.turn = 0

    def native(self, envs: int = ENVS) -> list[list[int]]:
        """The native steps of a control step: the rows of each environment."""
        rows: list[list[int]] = [[] for _ in range(ENVS)]
        for substep in range(SUBSTEPS):
            for env in range(envs):
                step = r.NativeStep(
                    env=env,
                    episode=1,
                    control_step=self.turn + 1,
                    substep=substep,
                    kind=StepKind.SUBSTEP,
                    h_s=0.01,
                )
                rows[env].append(self.recorder.native(step))
        return rows

    def tell(self, rows: list[list[int]]) -> None:
        """What came of it: the reward is its number."""
        for env, own in enumerate(rows):
            if own:
                told = r.Transition(
                    env=env,
                    episode=1,
                    control_step=self.turn + 1,
                    reward=float(self.turn),
                    first_row=own[0],
                    last_row=own[-1],
                )
                self.recorder.transition(told)
        self.turn += 1

    def go(self, turns: int) -> None:
        for _ in range(turns):
            self.tell(self.native())


@pytest.fixture
def growing(tmp_path: Path) -> Iterator[tuple[Run, LabelledSource]]:
    path = tmp_path / "run.isoscope.h5"
    run = Run(path)
    run.go(1)
    assert run.recorder.flush()
    source = LabelledSource(path)
    source.index()
    yield run, source
    source.close()
    run.recorder.close()


def look(run: Run, source: LabelledSource) -> int:
    assert run.recorder.flush()
    source.refresh()
    return len(source.recording)


@pytest.mark.parametrize("bins", [1, 4, 4_000])
def test_what_was_told_late_is_joined_to_the_rest(growing, bins: int) -> None:
    run, source = growing
    recording = source.recording
    series = FieldRows(recording, recording.control["reward"], "reward")
    own = OwnSteps(recording)
    own.take(len(recording))
    lines = [TurnDecimator(series, own.turns_of(env)) for env in range(ENVS)]
    every = Decimator(series)
    for _ in range(4):
        run.go(BLOCK_ROWS)
        rows = run.native()
        count = look(run, source)
        own.take(count)
        for line in (*lines, every):  # as a window that looks in between does
            line.window(0, count, bins)
        run.tell(rows)
    look(run, source)
    for line in lines:
        drawn = line.window(0, count, bins)
        assert drawn.joined[:-1].all()
        assert drawn.values[-1] == run.turn - 1
        assert np.array_equal(drawn.values, series.pick(drawn.rows)[0])
    # One after another they are all told, so that nothing breaks there either.
    drawn = every.window(0, count, bins)
    assert drawn.joined[:-1].all()
    assert drawn.values[-1] == run.turn - 1


def test_rows_are_settled_once_their_environment_has_told_a_later_one(growing) -> None:
    run, source = growing
    recording = source.recording
    reward = FieldRows(recording, recording.control["reward"], "reward")
    rows = run.native()
    assert look(run, source) == 12
    # The first control step's native steps were 0 to 5: env 0's were 0 and 3, ….
    assert [reward.settled_for(own[0]) for own in rows] == [4, 5, 6]
    assert reward.settled == 4
    run.tell(rows[:1])
    look(run, source)
    assert [reward.settled_for(own[0]) for own in rows] == [10, 5, 6]
    assert reward.settled == 5


def test_scattered_rows_are_read_in_parts_as_all_together(
    growing, monkeypatch: pytest.MonkeyPatch
) -> None:
    run, source = growing
    run.go(50)
    count = look(run, source)
    track = source.recording.control["reward"]
    rows = np.arange(0, count, ENVS)
    values, valid = track.pick(rows)
    together = FieldRows(source.recording, track, "reward").pick(rows)
    monkeypatch.setattr("isoscope.core.recording.near.near.__defaults__", (7,))
    again, there = track.pick(rows)
    assert np.array_equal(values, again)
    assert np.array_equal(valid, there)
    assert valid.all()
    parted = FieldRows(source.recording, track, "reward").pick(rows)
    assert np.array_equal(parted[0], together[0])

"""The recorded steps that a branch goes along, and what it does after the last one."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from isoscope.core.recording.model import StepKind
from isoscope.core.replay.engine import ReplayError

if TYPE_CHECKING:
    from isoscope.core.recording.tracks import Array
    from isoscope.core.replay.branch.model import Branch
    from isoscope.core.replay.tape import Tape


@dataclass(frozen=True, slots=True, eq=False)
class Course:
    """Native steps to take.

    Attributes
    ----------
    rows
        int64 [n]: the recorded row of each, -1 past the recorded end.
    control_steps, substeps
        int64 [n]: of the episode, and within the control step from 0.
    h_s
        float64 [n].
    """

    rows: Array
    control_steps: Array
    substeps: Array
    h_s: Array

    def __len__(self) -> int:
        return len(self.rows)


def find_start(tape: Tape, env: int, row: int) -> tuple[int, int, int]:
    """Episode, control step, and first native row of the control step of a row.

    Raises
    ------
    ReplayError
        If the row is not one of the environment's control steps.
    """
    labels = tape.examined.attribution.labels
    doing = f"branching from {tape.examined.file}"
    if env not in tape.envs:
        there = ", ".join(map(str, tape.envs))
        raise ReplayError(f"{doing}: it has no environment {env}; there are {there}")
    own = _own(tape, env)
    later = own[own >= row]
    if not len(later):
        raise ReplayError(f"{doing}: env {env} has no step from native step {row} on")
    first = int(later[0])
    same = (labels.episode[own] == labels.episode[first]) & (
        labels.control_step[own] == labels.control_step[first]
    )
    return (
        int(labels.episode[first]),
        int(labels.control_step[first]),
        int(own[same][0]),
    )


def course(tape: Tape, branch: Branch) -> Course:
    """The steps of a branch: those recorded of its episode, then as the last ones.

    Raises
    ------
    ReplayError
        If the recording doesn't have the control step that it begins with.
    """
    labels = tape.examined.attribution.labels
    doing = f"branch {branch.name}"
    if branch.env not in tape.envs:
        raise ReplayError(f"{doing}: {branch.file} has no environment {branch.env}")
    own = _own(tape, branch.env)
    mine = own[
        (labels.episode[own] == branch.episode)
        & (labels.control_step[own] >= branch.control_step)
    ]
    if not len(mine) or int(mine[0]) != branch.native:
        raise ReplayError(
            f"{doing}: {branch.file} has no {branch.at} at native step {branch.native}"
        )
    steps = labels.control_step[mine]
    h_s = tape.examined.recording.steps.h_s[mine]
    if branch.steps is not None:
        kept = steps < branch.control_step + branch.steps
        mine, steps, h_s = mine[kept], steps[kept], h_s[kept]
    found = Course(mine, steps, _numbered(steps), h_s)
    missing = 0
    if branch.steps is not None:
        missing = branch.control_step + branch.steps - 1 - int(steps[-1])
    return _longer(found, missing, tape) if missing > 0 else found


def _own(tape: Tape, env: int) -> Array:
    """Native rows of the environment's control steps."""
    labels = tape.examined.attribution.labels
    rows = tape.rows[labels.env[tape.rows] == env]
    kept = (labels.kind[rows] != StepKind.RESET) & (labels.control_step[rows] >= 1)
    found: Array = rows[kept]
    return found


def _numbered(steps: Array) -> Array:
    """Places within their control steps, from 0."""
    new = np.diff(steps, prepend=steps[0] - 1) != 0
    first = np.maximum.accumulate(np.where(new, np.arange(len(steps)), 0))
    found: Array = np.arange(len(steps)) - first
    return found


def _longer(recorded: Course, missing: int, tape: Tape) -> Course:
    """So many more control steps, each like the last whole one that was recorded."""
    wanted = tape.labelled.identity.substeps
    steps, h_s = recorded.control_steps, recorded.h_s
    whole = steps == steps[-1]
    if wanted and int(whole.sum()) != wanted:
        counts = {int(k): int((steps == k).sum()) for k in np.unique(steps)}
        like = [k for k, count in counts.items() if count == wanted]
        whole = steps == (like[-1] if like else steps[-1])
    usual = h_s[whole]
    m = len(usual)
    more = np.repeat(np.arange(1, missing + 1) + int(steps[-1]), m)
    return Course(
        np.concatenate([recorded.rows, np.full(len(more), -1, np.int64)]),
        np.concatenate([steps, more]),
        np.concatenate([recorded.substeps, np.tile(np.arange(m), missing)]),
        np.concatenate([h_s, np.tile(usual, missing)]),
    )

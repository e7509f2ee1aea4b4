"""Runs a branch: from its beginning on, with and without its edits."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import msgspec

from isoscope.core.replay.branch.branches import source_of
from isoscope.core.replay.branch.model import ActionEdit, Branch, check_branch
from isoscope.core.replay.branch.recorded import Course, course, find_start
from isoscope.core.replay.branch.stepping import Stepping
from isoscope.core.replay.engine import ReplayError
from isoscope.core.replay.tape import tapes

if TYPE_CHECKING:
    from collections.abc import Callable

    from isoscope.core.isolation.context import Examined
    from isoscope.core.replay.branch.run import BranchRun
    from isoscope.core.replay.engine import EngineMaker
    from isoscope.core.replay.tape import Tape

    Progress = Callable[[int, int], None]


def tape_of(examined: Examined, env: int) -> Tape:
    """The scene of a labelled recording in which an environment steps.

    Raises
    ------
    ReplayError
        If there is none that can be stepped again.
    """
    found = tapes(examined)
    for tape in found:
        if env in tape.envs:
            return tape
    there = ", ".join(str(e) for e in sorted({e for t in found for e in t.envs}))
    raise ReplayError(
        f"branching from {examined.file}: it has no environment {env} that can be "
        f"stepped again; there are {there}"
    )


def place_of(examined: Examined, env: int, row: int) -> tuple[int, int, int]:
    """Where a branch of an environment begins that is made at a native row.

    Returns
    -------
    tuple
        Episode, control step and native row, for `model.new_branch`: of the control
        step that the row is in, or of the environment's next one after it.

    Raises
    ------
    ReplayError
        If there is no such step.
    """
    return find_start(tape_of(examined, env), env, row)


def run_branch(
    examined: Examined,
    make: EngineMaker,
    branch: Branch,
    progress: Progress | None = None,
) -> BranchRun:
    """Step a branch, and compare it with what was recorded.

    Parameters
    ----------
    examined
        The recording that it is of; nothing of it is changed.
    make
        Makes the engine.
    progress
        Called with steps done and all; what it raises, `CancelledError` say, stops it.

    Raises
    ------
    IsoscopeError
        If it is another recording's, its place isn't there or can't be reached, or an
        edit names what isn't there; with the reason.
    """
    check_branch(branch)
    if branch.source != source_of(examined):
        raise ReplayError(
            f"branch {branch.name}: it is of {branch.file}, not of {examined.file}"
        )
    tape = tape_of(examined, branch.env)
    way = course(tape, branch)
    edits = [one for one in branch.edits if isinstance(one, ActionEdit)]
    _refuse_beyond(edits, way, branch)
    engine = make(tape.blueprint)
    try:
        # First: an edit that names what isn't there is refused before the long way.
        found = Stepping(tape, engine, branch, way, progress).run()
        unedited = None
        if branch.edits:
            plain = msgspec.structs.replace(branch, edits=())
            try:
                unedited = Stepping(tape, engine, plain, way, progress).run().report
            except ReplayError:
                if not found.stopped:
                    raise  # else the engine was gone already
    finally:
        engine.close()
    found.unedited = unedited
    if unedited is not None and unedited.first_divergence is not None:
        found.notes.append(
            "without the edits it departs from the recording, too: "
            f"{unedited.first_divergence.why}"
        )
    return found


def recorded_reward(examined: Examined, run: BranchRun) -> float | None:
    """What the original got in the control steps of a branch's run.

    Only those that it has; None where no reward was recorded, or the task says nothing
    of the branch's.
    """
    labelled = examined.recording.labelled
    if labelled is None or not run.outcomes:
        return None
    branch = run.branch
    found = [
        one.reward
        for one in labelled.transitions()
        if (one.env, one.episode) == (branch.env, branch.episode)
        and branch.control_step <= one.control_step <= int(run.control_steps[-1])
        and math.isfinite(one.reward)
    ]
    return sum(found) if found else None


def _refuse_beyond(edits: list[ActionEdit], way: Course, branch: Branch) -> None:
    last = int(way.control_steps[-1])
    for edit in edits:
        if edit.from_step > last:
            raise ReplayError(
                f"branch {branch.name}: an action in control step {edit.from_step}, "
                f"and it ends with {last}; give more --steps"
            )

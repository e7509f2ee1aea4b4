"""One run of a branch in an engine: native step by native step, with its edits."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import msgspec
import numpy as np

from isoscope.core.errors import CancelledError, one_line
from isoscope.core.replay.branch.editing import make_edits
from isoscope.core.replay.branch.model import ActionEdit
from isoscope.core.replay.branch.native_inputs import (
    NativeInputs,
    component_names,
    full_name,
    native_edit,
)
from isoscope.core.replay.branch.run import BranchRun, Kept
from isoscope.core.replay.branch.starting import begin
from isoscope.core.replay.branch.task_inputs import task_inputs
from isoscope.core.replay.compare import TOLERANCE
from isoscope.core.replay.driver import TOLD_EVERY, Driven
from isoscope.core.replay.engine import ReplayError
from isoscope.core.replay.replay_report import Outcome as Seen
from isoscope.core.replay.replay_report import report
from isoscope.core.replay.scene_engine import same_value
from isoscope.core.replay.stepwise import Stepwise
from isoscope.core.summary import counted, listed

if TYPE_CHECKING:
    from collections.abc import Callable

    from isoscope.core.recording.tracks import Array
    from isoscope.core.replay.branch.model import Branch
    from isoscope.core.replay.branch.native_inputs import NativeEdit
    from isoscope.core.replay.branch.recorded import Course
    from isoscope.core.replay.branch.starting import Begun
    from isoscope.core.replay.branch.task_inputs import Outcome, TaskInputs
    from isoscope.core.replay.engine import Engine
    from isoscope.core.replay.replay_forms import Replay
    from isoscope.core.replay.tape import StateField, Tape

    Progress = Callable[[int, int], None]

SNAPSHOT_EVERY = 50  # control steps, as the tap takes them


@dataclass(slots=True)
class _Collected:
    """What is collected on the way."""

    states: list[list[Array]] = field(default_factory=list)
    controls: list[list[Array | None]] = field(default_factory=list)
    actions: list[Array] = field(default_factory=list)
    outcomes: list[Outcome] = field(default_factory=list)
    snapshots: list[Kept] = field(default_factory=list)
    configurations: list[tuple[int, dict[str, Any]]] = field(default_factory=list)
    digests: list[bytes] = field(default_factory=list)
    ended: str = ""
    stopped: str = ""


class Stepping:
    """One run of one branch in one engine, which is overwritten."""

    def __init__(
        self,
        tape: Tape,
        engine: Engine,
        branch: Branch,
        way: Course,
        progress: Progress | None,
    ) -> None:
        self._tape, self._engine, self._branch = tape, engine, branch
        self._way, self._progress = way, progress
        self._world = np.array([tape.world(branch.env)], np.int64)
        self._fields = [f for f in tape.states if engine.has(f.actor, f.name)]
        self._got = _Collected()
        self._driven = Driven()
        self._task: TaskInputs | None = None
        self._by_name: list[ActionEdit] = []
        self._recorded = tape.configuration(branch.native)

    def run(self) -> BranchRun:
        """Do it."""
        tape, engine, branch = self._tape, self._engine, self._branch
        begun = begin(tape, engine, branch.env, branch.native)
        self._task, why = task_inputs(tape, engine, branch)
        native = self._sort_edits(why)
        self._edited = make_edits(engine, branch, int(self._world[0]))
        self._inputs = NativeInputs(tape, branch, native)
        self._judge_configuration()
        first = None
        if self._task is not None and self._task.sees:
            first = self._task.observation()
        start = self._read()
        self._take_snapshot(0, branch.control_step - 1)
        seen = Stepwise(self._fields, {}, TOLERANCE, by_bits=True)
        try:
            self._go(seen)
        except CancelledError:
            raise
        except Exception as error:  # noqa: BLE001 an engine may die of anything
            self._got.stopped = one_line(error) or type(error).__name__
        seen.finish()
        return self._made(begun, why, start, first, self._report(seen))

    def _sort_edits(self, why: str) -> list[NativeEdit]:
        """Edits of native inputs; those of actions are kept for the task."""
        native, tape = [], self._tape
        names = [] if self._task is None else self._task.names
        for edit in self._branch.edits:
            if not isinstance(edit, ActionEdit):
                continue
            if edit.name in names:
                self._by_name.append(edit)
                continue
            found = native_edit(tape, edit)
            if found is None:
                inputs = [
                    f"{full_name(c)}[{part}]"
                    for c in tape.controls
                    for part in component_names(c)
                ]
                there = f"native inputs are {listed(inputs)}"
                if names:
                    there = f"actions are {listed(names)}; {there}"
                elif why:
                    there += f" (actions can't be edited: {why})"
                raise ReplayError(
                    f"branch {self._branch.name}: nothing is called {edit.name}; "
                    f"{there}"
                )
            native.append(found)
        return native

    # -- stepping ----------------------------------------------------------------------

    def _go(self, seen: Stepwise) -> None:
        way, got = self._way, self._got
        action: Array | None = None
        for k in range(len(way)):
            if self._progress is not None and k % TOLD_EVERY == 0:
                self._progress(k, len(way))
            row, step = int(way.rows[k]), int(way.control_steps[k])
            self._change(row, k)
            values = self._inputs.recorded(row)
            if self._task is not None:
                if way.substeps[k] == 0 or action is None:
                    action = self._action(step)
                self._task.give(action, step, int(way.substeps[k]))
                values = self._task.given()
                edited = self._inputs.edited(values, step)
                if any(a is not b for a, b in zip(edited, values, strict=True)):
                    self._inputs.give(self._engine, edited, self._world)
                values = edited
            else:
                values = self._inputs.edited(values, step)
                self._inputs.give(self._engine, values, self._world)
            got.controls.append(values)
            self._engine.step(float(way.h_s[k]), self._world)
            here = self._read()
            got.states.append(here)
            got.digests.append(self._engine.configuration_digest())
            if row >= 0:
                self._compared(seen, row, here)
            last = k + 1 == len(way) or way.control_steps[k + 1] != step
            if last and self._ends(action, step, k + 1):
                return
            if not all(np.isfinite(v).all() for v in _solid(here, self._fields)):
                got.stopped = f"the state is not finite any more in control step {step}"
                return

    def _action(self, step: int) -> Array:
        assert self._task is not None
        recorded = self._task.recorded(step)
        assert recorded is not None  # the first one was looked at
        action = self._task.edited(recorded, step, self._by_name)
        self._got.actions.append(action)
        return action

    def _ends(self, action: Array | None, step: int, done: int) -> bool:
        """At the end of a control step: what the task says, and snapshots."""
        got, task = self._got, self._task
        if (step - self._branch.control_step + 1) % SNAPSHOT_EVERY == 0:
            self._take_snapshot(done, step)
        if task is None or not task.sees or action is None:
            return False
        outcome = task.outcome(action, step)
        got.outcomes.append(outcome)
        if outcome.reasons:
            got.ended = f"control step {step}: {', '.join(outcome.reasons)}"
            return True
        return False

    def _change(self, row: int, done: int) -> None:
        """Change the configuration as its environment did, but for what is edited."""
        tape, env = self._tape, self._branch.env
        if row < 0 or row == self._branch.native:
            return
        for change in tape.changes.get(row, ()):
            mine = change.env == env or tape.own_changes(env)
            if mine and change.old is not None and change.key not in self._edited:
                self._engine.configure({change.key: change.new})
                self._got.configurations.append((done, {change.key: change.new}))

    def _read(self) -> list[Array]:
        read = self._engine.read
        return [np.array(read(f.actor, f.name, self._world)[0]) for f in self._fields]

    def _take_snapshot(self, after: int, control_step: int) -> None:
        data = self._engine.state_bytes()
        self._got.snapshots.append(Kept(after, control_step, data))

    # -- comparing ---------------------------------------------------------------------

    def _judge_configuration(self) -> None:
        here = self._engine.configuration()
        for key in self._recorded.keys() | here.keys():
            one, two = self._recorded.get(key), here.get(key)
            if not same_value(one, two):
                self._driven.configuration[key] = one, two

    def _compared(self, seen: Stepwise, row: int, here: list[Array]) -> None:
        if self._driven.configuration:
            self._driven.configured_other += 1
        else:
            self._driven.configured_equal += 1
        seen.add(self._branch.env, row, here)

    def _report(self, seen: Stepwise) -> Replay:
        outcome = Seen(self._tape.examined, "actions", {}, TOLERANCE)
        outcome.engine = self._engine.name
        self._driven.stopped = self._got.stopped
        outcome.unchecked = [
            f"the engine has no field {one.full_name}"
            for one in self._tape.states
            if one not in self._fields
        ]
        outcome.take(self._tape, seen, self._driven)
        return msgspec.structs.replace(report(outcome), notes=[])

    # -- what came out -----------------------------------------------------------------

    def _made(
        self,
        begun: Begun,
        why: str,
        start: list[Array],
        first: Array | None,
        against: Replay,
    ) -> BranchRun:
        got, way, tape = self._got, self._way, self._tape
        n = len(got.states)
        task = self._task
        return BranchRun(
            branch=self._branch,
            engine=self._engine.name,
            route="native" if task is None else "actions",
            why_native=why,
            begun=begun,
            rows=way.rows[:n],
            control_steps=way.control_steps[:n],
            substeps=way.substeps[:n],
            h_s=way.h_s[:n],
            start=_named(self._fields, start),
            states=_named(
                self._fields,
                [
                    np.array([one[i] for one in got.states], start[i].dtype).reshape(
                        n, *start[i].shape
                    )
                    for i in range(len(self._fields))
                ],
            ),
            controls={
                (one.actor, one.name): _filled(
                    [values[i] for values in got.controls[:n]],
                    one.track.shape,
                    one.track.dtype,
                )
                for i, one in enumerate(tape.controls)
            },
            actions=None if task is None else np.array(got.actions, np.float32),
            action_names=[] if task is None else task.names,
            first_observation=first,
            outcomes=got.outcomes,
            snapshots=got.snapshots,
            configuration=self._recorded,
            edited=self._edited,
            configurations=got.configurations,
            digests=got.digests,
            report=against,
            ended=got.ended,
            stopped=got.stopped,
            notes=self._notes(begun),
        )

    def _notes(self, begun: Begun) -> list[str]:
        branch, found = self._branch, []
        past = int((self._way.rows[: len(self._got.states)] < 0).sum())
        if not begun.equal:
            found.append(
                f"it begins in another state than recorded: {begun.difference}"
            )
        if past:
            what = "held" if branch.past_end == "hold" else "zero"
            found.append(
                f"{counted(past, 'native step')} past the recorded end, with the "
                f"last action {what}"
            )
        if self._task is not None and self._task.clipped:
            steps = counted(len(self._task.clipped), "control step")
            found.append(f"in {steps} an action was clipped to its limits")
        if self._task is not None and not self._task.sees:
            found.append(
                "what was drawn for the episode isn't recorded, so that nothing can be "
                "said of observations, rewards and ends"
            )
        return found


def _named(
    fields: list[StateField], values: list[Array]
) -> dict[tuple[str, str], Array]:
    return {(f.actor, f.name): v for f, v in zip(fields, values, strict=True)}


def _solid(values: list[Array], fields: list[StateField]) -> list[Array]:
    """States that have to be finite: a target may well be none."""
    return [v for v, f in zip(values, fields, strict=True) if f.kind != "target"]


def _filled(
    values: list[Array | None], shape: tuple[int, ...], dtype: np.dtype[Any]
) -> Array:
    out = np.full((len(values), *shape), np.nan, dtype)
    for k, value in enumerate(values):
        if value is not None:
            out[k] = value
    return out

"""A branch's actions through the task's own mapping: what an action does, as it was.

The recorded actions (as clipped), with the edits that name their components, become
native inputs by the task's `apply`, which may look at the state. What is seen, its
worth and whether it ends come from the task, too.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from isoscope.core.errors import IsoscopeError
from isoscope.core.replay.scene_engine import SETTERS

if TYPE_CHECKING:
    from isoscope.core.envs.task import Task
    from isoscope.core.recording.tracks import Array
    from isoscope.core.replay.branch.model import ActionEdit, Branch
    from isoscope.core.replay.engine import Engine
    from isoscope.core.replay.tape import Tape
    from isoscope.core.scene import Scene

CAUSE = "branch"
FIELDS = {setter: field for field, setter in SETTERS.items()}
DRAWS = "draws/"


@dataclass(frozen=True, slots=True, eq=False)
class Outcome:
    """What a control step came to: of one environment.

    Attributes
    ----------
    observation
        float32 [O].
    terms
        Reward terms by name; the reward is their sum in this order.
    reasons
        Why it terminated; empty where it goes on.
    """

    observation: Array
    terms: dict[str, float]
    reasons: tuple[str, ...]

    @property
    def reward(self) -> float:
        """The sum of the terms."""
        return float(sum(self.terms.values()))


class _Listening:
    """A scene that keeps what its control inputs were set to."""

    def __init__(self, scene: Scene) -> None:
        self._scene = scene
        self.told: dict[tuple[int, str], Any] = {}

    def __getattr__(self, name: str) -> Any:
        return getattr(self._scene, name)

    def set_dof_forces(self, actor: int, forces: Any, worlds: Any = None) -> None:
        self._scene.set_dof_forces(actor, forces, worlds)
        self.told[actor, FIELDS["set_dof_forces"]] = forces

    def set_targets(self, actor: int, targets: Any, worlds: Any = None) -> None:
        self._scene.set_targets(actor, targets, worlds)
        self.told[actor, FIELDS["set_targets"]] = targets


class TaskInputs:
    """Gives actions to a task's scene; see `task_inputs`, which makes it."""

    def __init__(
        self,
        tape: Tape,
        task: Task,
        scene: Scene,
        branch: Branch,
        transitions: dict[int, int],
        draws: dict[str, float],
    ) -> None:
        from isoscope.core.envs.task import TaskView

        self._tape, self._task, self._branch = tape, task, branch
        self._listening = _Listening(scene)
        self._transitions = transitions
        self._world = tape.world(branch.env)
        mask = np.zeros(scene.worlds, np.bool_)
        mask[self._world] = True
        worlds = None if scene.worlds == 1 else scene.to_device(mask, CAUSE)
        count = scene.to_device(np.zeros(scene.worlds, np.int64), CAUSE)
        held = {
            name: scene.to_device(np.full(scene.worlds, value, scene.precision), CAUSE)
            for name, value in draws.items()
        }
        self._can_see = set(task.draws) <= set(held)
        self._view = TaskView(self._listening, scene.xp, worlds, held, count)
        self._actors = {actor.index: actor.name for actor in scene.actors}
        self._track = tape.labelled.track("transitions", "action", "value")
        self._last: Array | None = None
        self.clipped: set[int] = set()

    @property
    def names(self) -> list[str]:
        """Of the components of an action."""
        return list(self._task.action.labels)

    @property
    def sees(self) -> bool:
        """Whether observations, rewards and ends can be told."""
        return self._can_see

    def has(self, control_step: int) -> bool:
        """Whether the recording has an action for a control step."""
        return control_step in self._transitions

    def recorded(self, control_step: int) -> Array | None:
        """float32 [A]: the recorded action; past the end the last one or zero."""
        number = self._transitions.get(control_step)
        if number is not None:
            window = self._track.read(number, number + 1)
            if window.valid[0]:
                self._last = np.array(window.values[0], np.float32).reshape(-1)
        elif self._last is not None and self._branch.past_end == "zero":
            self._last = self._last * 0
        return self._last

    def edited(
        self, action: Array, control_step: int, edits: list[ActionEdit]
    ) -> Array:
        """The action with the edits of a control step, clipped to the space."""
        out, layout = action.copy(), self._task.action
        for edit in edits:
            if edit.at(control_step):
                at = self.names.index(edit.name)
                out[at] = np.float32(edit.changed(float(out[at])))
        held = np.clip(out, layout.low, layout.high)
        if not np.array_equal(held, out):
            self.clipped.add(control_step)
        return np.asarray(held, np.float32)

    def give(self, action: Array, control_step: int, substep: int) -> None:
        """Let the task set the native inputs of one native step."""
        view = self._view
        whole = np.zeros((self._listening.worlds, len(action)), np.float32)
        whole[self._world] = action
        up = self._listening.to_device(whole, CAUSE)
        view.count = view.count * 0 + (control_step - 1)
        self._task.apply(view, self._task.action.structure(up), substep)

    def given(self) -> list[Array | None]:
        """The native inputs as they were set, in the order of the tape's controls."""
        told = {
            (self._actors[actor], field): self._listening.to_host(value, CAUSE)
            for (actor, field), value in self._listening.told.items()
        }
        return [
            None
            if (values := told.get((one.actor, one.name))) is None
            else np.array(values[self._world], one.track.dtype)
            for one in self._tape.controls
        ]

    def outcome(self, action: Array, control_step: int) -> Outcome:
        """What the task says of the state after a control step."""
        task, view, scene = self._task, self._view, self._listening
        view.count = view.count * 0 + control_step
        flat = self.look()
        seen = task.observation.structure(flat)
        whole = np.zeros((scene.worlds, len(action)), np.float32)
        whole[self._world] = action
        given = task.action.structure(scene.to_device(whole, CAUSE))
        terms = task.rewards(view, given, seen)
        ends = task.terminations(view, seen)

        def own(array: Any) -> Any:
            return scene.to_host(array, CAUSE)[self._world]

        return Outcome(
            np.array(own(flat), np.float32),
            {name: float(own(value)) for name, value in terms.items()},
            tuple(name for name, value in ends.items() if bool(own(value))),
        )

    def look(self) -> Any:
        """The observations of all worlds, float32 [W, O], of the scene's kind."""
        from isoscope.core.envs.arrays import as_float32

        seen = self._task.observe(self._view)
        xp = self._view.xp
        return as_float32(self._task.observation.flatten(seen, xp), xp)

    def observation(self) -> Array:
        """float32 [O]: what is seen now."""
        whole = self._listening.to_host(self.look(), CAUSE)
        return np.array(whole[self._world], np.float32)


def task_inputs(
    tape: Tape, engine: Engine, branch: Branch
) -> tuple[TaskInputs | None, str]:
    """The task's mapping for a branch of this recording; or None, and why none.

    The recorded action of the branch's first control step has to become the recorded
    native inputs, bit for bit; otherwise the settings were others, or something lay
    between (a delay, a disturbance), and the mapping isn't known.
    """
    scene = getattr(engine, "scene", None)
    extra = tape.labelled.identity.extra
    name = str(extra.get("task", ""))
    if scene is None:
        return None, f"{engine.name} is no task's scene"
    if not name:
        return None, "the recording names no task"
    try:
        from isoscope.core.envs.tasks.registry import make_task

        settings = extra.get("settings")
        given = settings if isinstance(settings, dict) else {}
        task = make_task(name, **given)
        task.bind(scene)
    except ImportError as error:
        return None, f"the task needs {error.name}"
    except (IsoscopeError, TypeError, ValueError) as error:
        return None, str(error)
    try:
        transitions = _transitions(tape, branch)
        made = TaskInputs(
            tape, task, scene, branch, transitions, _draws(tape, branch, task)
        )
    except KeyError:
        return None, "the recording holds no actions"
    action = made.recorded(branch.control_step)
    if action is None or not made.has(branch.control_step):
        return None, f"the recording holds no action of {branch.at}"
    if len(action) != task.action.size:
        return (
            None,
            f"its actions have {len(action)} components, {name}'s another number",
        )
    made.give(action, branch.control_step, 0)
    for control, here in zip(tape.controls, made.given(), strict=True):
        window = control.track.read(branch.native, branch.native + 1)
        if here is None or not window.valid[0]:
            continue
        if not np.array_equal(here, window.values[0]):
            return None, (
                f"{name} as it is here makes {control.actor}.{control.name} "
                f"{_short(here)} of the recorded action, and "
                f"{_short(window.values[0])} was recorded: other settings, a delay or "
                "a disturbance"
            )
    return made, ""


def _short(values: Array) -> str:
    return "[" + ", ".join(f"{one:.4g}" for one in values.reshape(-1)[:6]) + "]"


def _transitions(tape: Tape, branch: Branch) -> dict[int, int]:
    """Control step to number of the transition, of the branch's episode."""
    column = tape.labelled.column
    env, episode = column("transitions", "env"), column("transitions", "episode")
    steps = column("transitions", "control_step")
    mine = np.flatnonzero((env == branch.env) & (episode == branch.episode))
    return {int(steps[n]): int(n) for n in mine if steps[n] >= 1}


def _draws(tape: Tape, branch: Branch, task: Task) -> dict[str, float]:
    """What was drawn for the episode, as far as the recording tells."""
    column = tape.labelled.column
    env, episode = column("transitions", "env"), column("transitions", "episode")
    mine = np.flatnonzero((env == branch.env) & (episode == branch.episode))
    found = {}
    for name in task.draws:
        try:
            track = tape.labelled.track("transitions", "info", f"{DRAWS}{name}")
        except KeyError:
            continue
        for number in mine.tolist():
            window = track.read(number, number + 1)
            if window.valid[0]:
                found[name] = float(np.asarray(window.values[0]).reshape(-1)[0])
                break
    return found

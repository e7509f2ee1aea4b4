"""Episodes in the making: frames of each environment, kept until its episode ends.

A chunk is added whole or not at all: it is decoded first, which changes nothing, and
what is added can be taken back.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from isoscope.core.trajectory.errors import TrajectoryValueError
from isoscope.core.trajectory.lerobot.chunk import LeRobotChunk
from isoscope.core.trajectory.lerobot.frame import LeRobotFrame, check_segment
from isoscope.core.trajectory.lerobot.options import (
    Frameless,
    LeRobotOptions,
    Pairing,
)

if TYPE_CHECKING:
    from collections.abc import Iterable

    from isoscope.core.trajectory.lerobot.step import LeRobotStep

Episode = list[dict[str, Any]]
CONTROLS = ("record_reset", "pre_record", "segment_advance")


@dataclass(slots=True)
class LeRobotEpisodeState:
    """What is recorded of one environment's present episode.

    Attributes
    ----------
    frames
        Its frames so far.
    success
        Whether any of them reported success.
    segment_id
        Which part of the episode is being recorded.
    pending
        The observation and info that the next step takes instead of its own; only with
        the legacy pairing.
    """

    frames: list[LeRobotFrame] = field(default_factory=list)
    success: bool = False
    segment_id: int = 0
    pending: tuple[Any, Any] | None = None

    def forget(self) -> None:
        """Begin a new episode; a pending observation is its first one and stays."""
        self.frames, self.success, self.segment_id = [], False, 0


@dataclass(frozen=True, slots=True)
class DecodedStep:
    """A step, and the frame it gives if that is known without what went before.

    One that only ends its episode executed nothing and saw nothing.
    """

    step: LeRobotStep
    frame: LeRobotFrame | None = None
    only_ends: bool = False


@dataclass(frozen=True, slots=True)
class Mark:
    """Where an accumulator stood, to go back to."""

    states: tuple[tuple[LeRobotEpisodeState, int], ...]
    completed: int


class LeRobotEpisodeAccumulator:
    """Collects the frames of a source batch and gives the episodes that are over.

    Parameters
    ----------
    num_envs
        B, the environments of the source batch.
    only_success
        Keep only episodes that reported success and terminated.
    num_action_chunks, action_dim
        C and A.
    options
        How frames are recorded.

    Raises
    ------
    TrajectoryValueError
        If a size is not positive.
    """

    def __init__(
        self,
        num_envs: int = 1,
        only_success: bool = False,
        num_action_chunks: int = 1,
        action_dim: int = 7,
        options: LeRobotOptions | None = None,
    ) -> None:
        sizes = {
            "num_envs": num_envs,
            "num_action_chunks": num_action_chunks,
            "action_dim": action_dim,
        }
        for name, size in sizes.items():
            if size <= 0:
                raise TrajectoryValueError(
                    f"recording episodes: {name} is {size}; it must be 1 or more"
                )
        self.sizes = sizes
        self.only_success = only_success
        self.options = options or LeRobotOptions()
        self.states = [LeRobotEpisodeState() for _ in range(num_envs)]
        self._completed: list[Episode] = []

    # -- adding -----------------------------------------------------------------

    def append(
        self, *, policy_output: Any = None, obs: Any = None, **data: Any
    ) -> None:
        """Add a chunk, whole or not at all.

        Parameters
        ----------
        policy_output
            Of the chunk, or None.
        obs
            What the policy saw before it; needed for pairs without a mask.
        **data
            The chunk's episode data, see :meth:`LeRobotChunk.from_data`.

        Raises
        ------
        TrajectoryError
            If it can't be recorded; then nothing has changed.
        """
        self.apply(self.decode(policy_output=policy_output, obs=obs, **data))

    def decode(
        self, *, policy_output: Any = None, obs: Any = None, **data: Any
    ) -> list[DecodedStep]:
        """Take a chunk apart and build its frames. Changes nothing.

        Steps come in the order of time, then of environments.
        """
        chunk = LeRobotChunk.from_data(
            policy_output=policy_output, obs=obs, **self.sizes, **data
        )
        pairing = self.options.pairing
        if pairing is Pairing.PAIRS:
            _check_slots(chunk)
        decoded = []
        for slot in range(chunk.step_count):
            for env in range(chunk.num_envs):
                step = chunk.step(slot, env, pairing)
                if step is None and slot == 0 and self._closes:
                    end = chunk.end_without_step(env)
                    if end is not None:
                        decoded.append(DecodedStep(_brief(end), only_ends=True))
                if step is None:
                    continue
                frame = None
                if pairing is Pairing.PAIRS and not _unrecorded(step):
                    frame = self._frame(step)
                if pairing is Pairing.PAIRS:
                    step = _brief(step)
                decoded.append(DecodedStep(step, frame))
        return decoded

    def apply(self, decoded: Iterable[DecodedStep]) -> None:
        """Add decoded steps, all of them or none.

        Raises
        ------
        TrajectoryError
            If an episode has too many segments, or a frame can't be built; then
            nothing has changed.
        """
        mark = self.mark()
        done = False
        try:
            for each in decoded:
                self._add(each)
            done = True
        finally:
            if not done:
                self.restore(mark)

    def mark(self) -> Mark:
        """Remember how things stand."""
        return Mark(
            tuple((replace(each), len(each.frames)) for each in self.states),
            len(self._completed),
        )

    def restore(self, mark: Mark) -> None:
        """Go back to how things stood; what has been drained since stays drained."""
        for env, (state, count) in enumerate(mark.states):
            # Ending an episode begins a new list, so this one has only grown.
            del state.frames[count:]
            self.states[env] = replace(state)
        del self._completed[mark.completed :]

    # -- taking -----------------------------------------------------------------

    def drain(self) -> list[Episode]:
        """Give the episodes that are over, in the order in which they ended, once."""
        completed, self._completed = self._completed, []
        return completed

    @property
    def completed(self) -> tuple[Episode, ...]:
        """The episodes that are over and not taken yet."""
        return tuple(self._completed)

    # -- inside -----------------------------------------------------------------

    def _add(self, each: DecodedStep) -> None:
        step = each.step
        state = self.states[step.env_index]
        pairs = self.options.pairing is Pairing.PAIRS
        if each.only_ends:
            self._end(state, step)
            return
        if step.info_flag("record_reset"):
            # What was recorded is dropped, also where the environment finished.
            state.forget()
            state.pending = None if pairs else (step.observation, step.info)
            return
        if step.info_flag("pre_record"):
            if step.reset_observation is not None:
                state.pending = step.reset_observation, step.reset_info
            if step.done and self._closes:
                self._end(state, step)
            return
        if step.info_flag("segment_advance"):
            check_segment(state.segment_id + 1)
            state.segment_id += 1
        if not pairs:
            if state.pending is not None:
                observation, info = state.pending
                state.pending = None
                each = DecodedStep(replace(step, observation=observation, info=info))
            if step.reset_observation is not None:
                state.pending = step.reset_observation, step.reset_info
        frame = each.frame if pairs else self._frame(each.step)
        if frame is None:
            if step.done and self._closes:
                self._end(state, step)
            return
        state.frames.append(replace(frame, segment_id=state.segment_id))
        state.success |= bool(frame.step_success)
        if step.done:
            self._end(state, step)

    def _frame(self, step: LeRobotStep) -> LeRobotFrame | None:
        return LeRobotFrame.from_step(
            observation=step.observation,
            action=step.action,
            info=step.info,
            action_dim=self.sizes["action_dim"],
            options=self.options,
        )

    def _end(self, state: LeRobotEpisodeState, step: LeRobotStep) -> None:
        state.success |= bool(LeRobotFrame.success_from_info(step.completion_info))
        wanted = not self.only_success or (state.success and step.terminated)
        if wanted and state.frames:
            last = len(state.frames) - 1
            self._completed.append(
                [
                    frame.to_dict(episode_success=state.success, done=at == last)
                    for at, frame in enumerate(state.frames)
                ]
            )
        state.forget()

    @property
    def _closes(self) -> bool:
        return self.options.frameless is Frameless.CLOSE


def _brief(step: LeRobotStep) -> LeRobotStep:
    """Keep what the episode needs; the frame holds copies of the rest.

    What waits for its scope would otherwise hold on to every batch of observations.
    """
    success = LeRobotFrame.success_from_info(step.completion_info)
    return replace(
        step,
        observation=None,
        action=None,
        info={name: True for name in CONTROLS if step.info_flag(name)},
        completion_info=None if success is None else {"success": success},
    )


def _unrecorded(step: LeRobotStep) -> bool:
    return step.info_flag("record_reset") or step.info_flag("pre_record")


def _check_slots(chunk: LeRobotChunk) -> None:
    """Refuse actions of fewer slots than there are steps, which would be repeated."""
    if chunk.actions is not None and chunk.actions.shape[1] < chunk.step_count:
        raise TrajectoryValueError(
            f"recording a chunk: actions of {chunk.actions.shape[1]} slots for "
            f"{chunk.step_count} steps; give an action a step"
        )

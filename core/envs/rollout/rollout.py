"""Acts in environments round by round, and stores what a trainer would learn from."""

from __future__ import annotations

import itertools
import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from gymnasium.vector import AutoresetMode
from psygnal import Signal

from isoscope.core.envs.rollout.policies import make_policy
from isoscope.core.envs.rollout.records import (
    STEP_ENTRY,
    Array,
    EpisodeReturn,
    Frame,
    InfoValues,
    ProfileLine,
    StoredRows,
)
from isoscope.core.envs.rollout.stages import RolloutStages

if TYPE_CHECKING:
    from collections.abc import Sequence

    from isoscope.core.envs.rollout.sources import Answer, Source
    from isoscope.core.envs.task import Task


@dataclass(frozen=True, slots=True)
class RolloutOptions:
    """What a rollout stores beside the rows themselves.

    Attributes
    ----------
    policy
        ``zero``, ``random`` or ``smooth``.
    horizon
        Rounds after which the store is handed over and begun anew.
    fields
        Native fields to store with each row: (row of the scene, field).
    frames
        Whether sensors are read.
    """

    policy: str = "random"
    horizon: int = 16
    fields: tuple[tuple[int, str], ...] = ()
    frames: bool = False


@dataclass(slots=True)
class Returns:
    """Returns of episodes that ended."""

    total: float = 0.0
    least: float = field(default=float("inf"))
    most: float = field(default=float("-inf"))
    count: int = 0

    def add(self, value: float) -> None:
        """One more."""
        self.total += value
        self.least, self.most = min(self.least, value), max(self.most, value)
        self.count += 1


class Rollout:
    """A consumer of environments.

    Attributes
    ----------
    stored
        Emitted with (rollout, rows) when rows are put away.
    handed
        Emitted with (rollout, list of rows) when the store is handed over: what is in
        it then is what is learned from.
    finished
        Emitted with (rollout, `EpisodeReturn`).
    framed
        Emitted with (rollout, `Frame`).
    profiled
        Emitted with (rollout, tuple of `ProfileLine`).
    answer
        What the environments gave in this round, for stages that look at it.
    rounds
        Rounds taken.
    episode, count
        int64 [W]: where every watched environment is.
    last_episode, last_count
        Where it was in the last round.
    """

    stored: ClassVar[Signal] = Signal(object, StoredRows)
    handed: ClassVar[Signal] = Signal(object, list)
    finished: ClassVar[Signal] = Signal(object, EpisodeReturn)
    framed: ClassVar[Signal] = Signal(object, Frame)
    profiled: ClassVar[Signal] = Signal(object, tuple)

    def __init__(
        self,
        source: Source,
        task: Task,
        seeds: Sequence[int],
        options: RolloutOptions | None = None,
        stages: RolloutStages | None = None,
    ) -> None:
        self.source = source
        self.task = task
        self.seeds = list(seeds)
        self.options = options or RolloutOptions()
        self.stages = stages or RolloutStages()
        self.policy = make_policy(
            self.options.policy, task.action, self.seeds, source.up, source.xp
        )
        self.rounds = 0
        self.returns = Returns()
        self.answer: Answer | None = None
        w = len(source.watched)
        self.episode: Array = np.zeros(w, np.int64)
        self.count: Array = np.zeros(w, np.int64)
        # where the rows of the last round stood, for what is told after it
        self.last_episode, self.last_count = self.episode, self.count
        self._sums: Array = np.zeros(w)
        self._frames: Array = np.zeros(w, np.int64)
        self._store: list[StoredRows] = []
        self._observation: Any = None

    def begin(self) -> None:
        """Reset all environments and begin with the first episodes."""
        self._observation = self.source.reset(self.seeds)
        self.episode[:] = 1
        self.count[:] = 0
        if self.options.frames:
            self._look_with_sensors()

    def round(self) -> None:
        """Act once in every environment, and store it."""
        clock = time.perf_counter
        times = [clock()]
        source, stages = self.source, self.stages
        stages.before(self)
        state = self.policy.state
        action = stages.act(self, self.policy.act(self._observation))
        times.append(clock())
        answer = self.answer = source.step(action)
        times.append(clock())
        self._observation = source.observation()
        rows = self._rows(answer, state)
        self.last_episode, self.last_count = self.episode, self.count
        self._store.append(rows)
        self.stored.emit(self, rows)
        self.policy.advance(stages.advance(self, answer.acted))
        self.policy.begin(stages.begin(self, answer.began))
        self._finish(answer)
        if self.options.frames:
            self._look_with_sensors()
        self.rounds += 1
        if len(self._store) == self.options.horizon:
            self.hand_over()
        times.append(clock())
        self._profile(times)

    def hand_over(self) -> None:
        """Give what is stored away, and begin anew."""
        store, self._store = self._store, []
        if store:
            self.handed.emit(self, store)

    # -- storing -----------------------------------------------------------------------

    def _rows(self, answer: Answer, state: Any) -> StoredRows:
        stages, source = self.stages, self.source
        # a row that only resets is the beginning of the next episode
        only_reset = ~answer.transition
        if source.mode is AutoresetMode.NEXT_STEP:
            self.episode = self.episode + only_reset
        self.count = np.where(answer.transition, self.count + 1, 0)
        info = {
            key: stages.info(
                self, key, InfoValues(i.values.copy(), i.present.copy(), i.ends)
            )
            for key, i in answer.info.items()
        }
        fields: dict[str, Array] = {}
        for row, name in self.options.fields:
            key = f"{row}/{name}"
            fields[key] = stages.field(self, key, _table(source.look(row, name)))
        seeded = self.policy.seeded
        rows = StoredRows(
            env=source.watched.copy(),
            episode=self.episode.copy(),
            control_step=self.count.copy(),
            transition=answer.transition.copy(),
            usable=answer.usable.copy(),
            obs=np.array(answer.obs),
            action=np.array(answer.action),
            reward=answer.reward.copy(),
            terminated=answer.terminated.copy(),
            truncated=answer.truncated.copy(),
            next_obs=np.array(answer.next_obs),
            began=answer.starts.copy(),
            info=info,
            fields=fields,
            policy_state=None if state is None else np.array(source.down(state)),
            action_seeded=None if seeded is None else seeded[source.watched],
        )
        rows = stages.transitions(self, rows)
        rows.env = stages.label(self, rows.env)
        return stages.keep(self, rows)

    def _finish(self, answer: Answer) -> None:
        taken = np.where(answer.usable, answer.reward, 0.0)
        self._sums = self._sums + np.where(answer.transition, taken, 0.0)
        done = answer.transition & (answer.terminated | answer.truncated)
        for w in np.flatnonzero(done):
            ended = EpisodeReturn(
                env=int(self.source.watched[w]),
                episode=int(self.episode[w]),
                length=int(self.count[w]),
                value=float(self._sums[w]),
                control_hz=float(self.task.timing.control_hz),
                complete=bool(answer.usable[w]),
            )
            ended = self.stages.finish(self, ended)
            self.returns.add(ended.value)
            self._sums[w] = 0.0
            self.finished.emit(self, ended)
        if self.source.mode is not AutoresetMode.NEXT_STEP:
            self.episode = self.episode + answer.starts
            self.count = np.where(answer.starts, 0, self.count)

    # -- sensors and profile -----------------------------------------------------------

    def _look_with_sensors(self) -> None:
        control_s = self.task.timing.control_s
        for w, data in enumerate(self.source.places()):
            if data is None:
                continue
            at_s = float(self.count[w]) * control_s
            frame = Frame(
                env=int(self.source.watched[w]),
                episode=int(self.episode[w]),
                number=int(self._frames[w]),
                taken_s=at_s,
                read_s=at_s,
                data=np.array(data, np.float64),
            )
            self._frames[w] += 1
            self.framed.emit(self, self.stages.frame(self, frame))

    def _profile(self, times: list[float]) -> None:
        names = ("policy", "environments", "store")
        parts = [after - before for before, after in itertools.pairwise(times)]
        lines = [ProfileLine(STEP_ENTRY, sum(parts), "s")]
        lines += [
            ProfileLine(name, part, "s", STEP_ENTRY)
            for name, part in zip(names, parts, strict=True)
        ]
        self.profiled.emit(self, self.stages.profile(self, tuple(lines)))


def _table(values: list[Array | None]) -> Array:
    """Rows side by side, float64 [W, n]; NaN where there is none."""
    known = [np.asarray(v, np.float64).reshape(-1) for v in values if v is not None]
    width = known[0].size if known else 1
    absent = np.full(width, np.nan)
    return np.stack(
        [absent if v is None else np.asarray(v, np.float64).reshape(-1) for v in values]
    )

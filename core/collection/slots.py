"""Running a chunk of actions on any Gymnasium vector environment.

A chunk's actions were chosen for the episode that was going on when it began. An
environment whose episode ends in the middle of a chunk therefore has fewer slots in it:
the rest of its actions is for nobody, though the vector environment makes it take them.

Gymnasium's environments reset themselves in one of three ways. Trace of one environment
whose episode ends in slot 1 of 4 (x: a slot that counts)::

    SAME_STEP   x x(reset) . .     the step that ends gives the new observation
    NEXT_STEP   x x (reset) .      the step after it resets, whatever the action
    DISABLED    x x (we reset) .   nothing happens by itself

Where environments can be reset by mask (`options["reset_mask"]`; Gymnasium's own can),
those that went on without us are reset again when the chunk is over, so that every
episode begins with a chunk. Where they can't, the rest of the chunk is already part of
the new episode, whose beginning is then not recorded; and one whose episode ended in
the last slot spends the next chunk with its reset (NEXT_STEP), which is then void: no
slot counts, and its observation stays as it was.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
from gymnasium.vector import AsyncVectorEnv, AutoresetMode, SyncVectorEnv

from isoscope.core.collection.errors import CollectionError
from isoscope.core.collection.guarded import environments
from isoscope.core.collection.spaces import ActionSpec, copied, replaced_rows
from isoscope.core.errors import one_line

if TYPE_CHECKING:
    from gymnasium.vector import VectorEnv

Array = np.ndarray[Any, Any]
Info = dict[str, Any]


@dataclass(slots=True)
class ChunkRun:
    """What came of one chunk. B environments, C slots.

    Attributes
    ----------
    rewards
        float32 [B, C]; 0 in slots that don't count.
    terminated, truncated
        bool [B, C], in the slot that it happened in.
    valid
        bool [B, C]: slots that count, a leading run of each row.
    void
        bool [B]: rows in which nothing counts because the chunk went into a reset.
    before
        Raw observations before each slot, C of them.
    infos
        The vector environment's info of each slot; of an environment that ended in it,
        that of its last step.
    last
        The raw observation after the last slot that counts: a finished episode's end.
    next
        The raw observation that the next chunk begins with.
    """

    rewards: Array
    terminated: Array
    truncated: Array
    valid: Array
    void: Array
    before: list[Any] = field(default_factory=list)
    infos: list[Info] = field(default_factory=list)
    last: Any = None
    next: Any = None

    @property
    def ended(self) -> Array:
        """Environments whose episode ended, bool [B]."""
        return np.asarray((self.terminated | self.truncated).any(axis=1))


@dataclass(slots=True)
class EpisodeCounts:
    """Episodes that ended, in the order they did: returns, and control steps."""

    returns: list[float] = field(default_factory=list)
    lengths: list[int] = field(default_factory=list)


class SlotRunner:
    """Steps a vector environment chunk by chunk.

    Parameters
    ----------
    envs
        The environments. They are not closed here.
    auto_reset
        Whether an environment goes on with a new episode; otherwise it rests until
        `reset`.
    """

    def __init__(
        self, envs: VectorEnv[Any, Any, Any], *, auto_reset: bool = True
    ) -> None:
        self.envs = envs
        self.auto_reset = auto_reset
        self.num_envs = int(envs.num_envs)
        self.spec = ActionSpec.of(envs.single_action_space)
        self.mode = _mode_of(envs)
        self.by_mask = self.mode is AutoresetMode.DISABLED or isinstance(
            envs.unwrapped, (SyncVectorEnv, AsyncVectorEnv)
        )
        self.episodes = EpisodeCounts()
        self._observation: Any = None
        none = np.zeros(self.num_envs, dtype=bool)
        self._resting = none.copy()  # until the next reset of all
        self._resets_next = none.copy()  # its next step is its reset, or can't be taken
        self._returns = np.zeros(self.num_envs)
        self._lengths = np.zeros(self.num_envs, dtype=np.int64)

    def reset(self, seed: int | None = None) -> Any:
        """Reset all environments; gives the raw observation.

        Parameters
        ----------
        seed
            Of the first environment; the others take the numbers after it.
        """
        with environments("resetting the environments"):
            observation, _ = self.envs.reset(seed=seed)
        self._observation = copied(observation)
        for flags in (self._resting, self._resets_next):
            flags[:] = False
        self._forget(np.ones(self.num_envs, dtype=bool))
        return self._observation

    def run(self, actions: Array) -> ChunkRun:
        """Take the actions of a chunk.

        Parameters
        ----------
        actions
            Floats [B, C, A].

        Raises
        ------
        CollectionError
            If there are not as many rows as environments, an action is none of the
            space's, or the environments were not reset.
        """
        if self._observation is None:
            raise CollectionError("acting: the environments were not reset; reset them")
        batch, chunk = actions.shape[:2]
        if batch != self.num_envs:
            raise CollectionError(
                f"acting: there are actions for {batch} environments, and "
                f"{self.num_envs} of them; give a row for each"
            )
        taken = [self.spec.to_environment(actions[:, slot]) for slot in range(chunk)]
        void = self._resets_next & ~self._resting
        run = ChunkRun(
            rewards=np.zeros((batch, chunk), dtype=np.float32),
            terminated=np.zeros((batch, chunk), dtype=bool),
            truncated=np.zeros((batch, chunk), dtype=bool),
            valid=np.zeros((batch, chunk), dtype=bool),
            void=void,
        )
        counts = ~(self._resting | void)  # whose slots still count
        run.last = self._observation
        for slot in range(chunk):
            counts = self._step(run, slot, taken[slot], counts)
        self._begin_episodes(run)
        run.next = self._observation
        return run

    def _step(self, run: ChunkRun, slot: int, action: Array, counts: Array) -> Array:
        """Take one slot's actions; gives whose next slot counts."""
        run.before.append(self._observation)
        if self.mode is AutoresetMode.DISABLED and self._resets_next.any():
            self._reset(self._resets_next.copy())
        resetting = self._resets_next.copy()
        with environments("stepping the environments"):
            observation, rewards, terminated, truncated, info = self.envs.step(action)
        terminated = np.asarray(terminated, dtype=bool)
        truncated = np.asarray(truncated, dtype=bool)
        ended = terminated | truncated
        after = copied(observation)
        info = dict(info)
        final = after
        if self.mode is AutoresetMode.SAME_STEP and ended.any():
            final = _final(info, after, ended)
        else:
            self._resets_next = ended.copy()
        run.valid[:, slot] = counts
        run.rewards[counts, slot] = np.asarray(rewards)[counts]
        run.terminated[:, slot] = terminated & counts
        run.truncated[:, slot] = truncated & counts
        run.infos.append(info)
        run.last = final if counts.all() else replaced_rows(run.last, counts, final)
        # what we reset afterwards is no episode
        stepped = counts if self.by_mask else ~(resetting | self._resting)
        self._count(np.asarray(rewards), ended, stepped)
        if not self.auto_reset:
            self._resting |= ended
        self._observation = after
        counts_on: Array = counts & ~ended
        return counts_on

    def _count(self, rewards: Array, ended: Array, stepped: Array) -> None:
        """Add to the running episodes, and list those that ended."""
        self._returns[stepped] += rewards[stepped]
        self._lengths[stepped] += 1
        over = ended & stepped
        self.episodes.returns += self._returns[over].tolist()
        self.episodes.lengths += self._lengths[over].tolist()
        self._forget(over)

    def _begin_episodes(self, run: ChunkRun) -> None:
        """Let episodes begin with the next chunk, where that can be done."""
        rows = run.ended & ~self._resting
        if not self.by_mask or not self.auto_reset or not rows.any():
            if self._resting.any():  # what was seen last of them stays
                self._observation = replaced_rows(
                    self._observation, self._resting, run.last
                )
            return
        if self.mode is AutoresetMode.SAME_STEP:
            rows &= ~run.valid[:, -1]  # the others were reset in the last slot
        if rows.any():
            self._reset(rows)

    def _reset(self, rows: Array) -> None:
        with environments("resetting the environments whose episode ended"):
            observation, _ = self.envs.reset(options={"reset_mask": rows.copy()})
        self._observation = replaced_rows(self._observation, rows, observation)
        self._resets_next[rows] = False
        self._forget(rows)

    def _forget(self, rows: Array) -> None:
        self._returns[rows] = 0.0
        self._lengths[rows] = 0


def _mode_of(envs: VectorEnv[Any, Any, Any]) -> AutoresetMode:
    """How environments reset themselves; what says nothing does so in the next step."""
    said = (envs.metadata or {}).get("autoreset_mode", AutoresetMode.NEXT_STEP)
    try:
        return AutoresetMode(said)
    except ValueError as error:
        raise CollectionError(f"reading the environments: {one_line(error)}") from None


def _final(info: Info, after: Any, ended: Array) -> Any:
    """Take the last observations, and the last info, of those that were reset already.

    Gymnasium gives them as `final_obs` and `final_info`, with masks.
    """
    finals = info.pop("final_obs", None)
    last_info = info.pop("final_info", None)
    for name in ("_final_obs", "_final_info"):
        info.pop(name, None)
    if finals is None:
        raise CollectionError(
            "reading the environments: they reset in the same step and give no "
            "final_obs; without it an episode's last observation is unknown"
        )
    rows = np.flatnonzero(ended)
    if isinstance(last_info, dict):
        _put_rows(info, last_info, ended)
    return _with_rows(after, finals, rows)


def _with_rows(after: Any, finals: Any, rows: Array) -> Any:
    """Replace rows by those of an array, or of a sequence with one entry a row."""
    if isinstance(after, dict):
        return {
            key: _with_rows(after[key], _inside(finals, key), rows) for key in after
        }
    if isinstance(after, tuple):
        return tuple(
            _with_rows(item, _inside(finals, at), rows) for at, item in enumerate(after)
        )
    copy = np.array(after)
    for row in rows:
        copy[row] = finals[row]
    return copy


def _inside(finals: Any, key: Any) -> Any:
    if isinstance(finals, (dict, tuple)):
        return finals[key]
    return [None if item is None else item[key] for item in finals]


def _put_rows(info: Info, last: Info, ended: Array) -> None:
    for name, value in last.items():
        there = info.get(name)
        if isinstance(value, dict):
            inner = dict(there) if isinstance(there, dict) else {}
            _put_rows(inner, value, ended)
            info[name] = inner
        elif isinstance(value, np.ndarray) and len(value) == len(ended):
            base = there if isinstance(there, np.ndarray) else np.zeros_like(value)
            base = np.array(base)
            base[ended] = value[ended]
            info[name] = base

"""Which rows of a vector environment's stream are transitions, and what came next.

An environment that resets itself puts rows into the stream that no policy acted in, or
shows a new episode's observation where the old one's was due. The rule depends on the
autoreset mode, and `done` is terminated or truncated:

- NEXT_STEP, "reset row after done": a row is a transition unless the row before it, of
  the same environment, was done. That row is the reset: its action was ignored, its
  reward is 0 and no step's, and its observation is the next row's previous one.
- SAME_STEP, "final observation at done": every row is a transition. Where it is done
  the true next observation is ``final_obs``; the returned one is already the new
  episode's, so it is the next row's previous one.
- DISABLED, "caller resets": every row is a transition, and the returned observation is
  the true next one. After done the caller resets, and says so here.

Works on any Gymnasium vector environment's stream. Source of the rules: Gymnasium's
SyncVectorEnv, 1.1.1 to 1.4.0.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from gymnasium.vector import AutoresetMode

from isoscope.core.envs.vector.errors import VectorEnvError, listed

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from gymnasium.vector import VectorEnv

Array = np.ndarray[Any, Any]
StepOutput = tuple[Any, Any, Any, Any, Any, "Mapping[str, Any]"]
DOING = "reading a vector environment's steps"
# what it was called before Gymnasium 1.0
FINAL_KEYS = ("final_obs", "final_observation")


@dataclass(frozen=True, slots=True)
class Transitions:
    """One step of N environments, as transitions. All arrays lead with N.

    Attributes
    ----------
    valid
        bool [N]: rows that are transitions; the others hold nothing to learn from.
    obs
        The observations that the actions were chosen for.
    actions
        As they were given; in rows that are not valid, ignored by the environment.
    rewards, terminated, truncated
        As they were returned.
    next_obs
        What the actions led to; an episode's last observation where it ended.
    """

    valid: Array
    obs: Any
    actions: Any
    rewards: Array
    terminated: Array
    truncated: Array
    next_obs: Any

    @property
    def reset_rows(self) -> Array:
        """Rows that are a reset and no step, bool [N]."""
        return ~self.valid


class TransitionStream:
    """Turns steps into transitions as they come; keeps one observation and one flag.

    Parameters
    ----------
    mode
        How the environments reset themselves, see :func:`autoreset_mode_of`.
    num_envs
        N.
    """

    def __init__(self, mode: AutoresetMode, num_envs: int) -> None:
        self.mode = AutoresetMode(mode)
        self.num_envs = num_envs
        self._obs: Any = None
        self._done = np.zeros(num_envs, dtype=np.bool_)

    def reset(self, obs: Any, mask: Array | None = None) -> None:
        """Tell of a reset that the caller did.

        Parameters
        ----------
        obs
            What the reset returned; rows outside the mask are not looked at.
        mask
            bool [N], which were reset; None: all.

        Raises
        ------
        VectorEnvError
            If the first reset has a mask.
        """
        if mask is None:
            self._obs = _copied(obs)
            self._done[:] = False
            return
        if self._obs is None:
            raise VectorEnvError(
                f"{DOING}: the first reset is one of some; tell of all"
            )
        mask = np.asarray(mask, dtype=np.bool_)
        self._obs = _with_rows(self._obs, obs, np.flatnonzero(mask))
        self._done &= ~mask

    def step(
        self,
        actions: Any,
        obs: Any,
        rewards: Any,
        terminated: Any,
        truncated: Any,
        infos: Mapping[str, Any],
    ) -> Transitions:
        """Tell of a step; gives its transitions.

        Raises
        ------
        VectorEnvError
            If there was no reset; if (DISABLED) an environment went on after its end;
            if (SAME_STEP) a done row has no final observation.
        """
        if self._obs is None:
            raise VectorEnvError(
                f"{DOING}: there was no reset before them; begin there"
            )
        done_before = self._done
        terminated = np.array(terminated, dtype=np.bool_)
        truncated = np.array(truncated, dtype=np.bool_)
        done = terminated | truncated
        before, after = self._obs, _copied(obs)
        valid = np.ones(self.num_envs, dtype=np.bool_)
        next_obs = after
        match self.mode:
            case AutoresetMode.NEXT_STEP:
                valid = ~done_before
            case AutoresetMode.SAME_STEP:
                if done.any():
                    next_obs = _with_finals(after, infos, done)
            case AutoresetMode.DISABLED:
                if done_before.any():
                    raise VectorEnvError(
                        f"{DOING}: {listed(np.flatnonzero(done_before))} went on after "
                        "the end of an episode without a reset; reset by reset_mask"
                    )
        self._obs, self._done = after, done
        return Transitions(
            valid,
            before,
            _copied(actions),
            np.array(rewards),
            terminated,
            truncated,
            next_obs,
        )


def valid_transitions(
    mode: AutoresetMode, num_envs: int, reset_obs: Any, steps: Iterable[StepOutput]
) -> Iterator[Transitions]:
    """Yield the transitions of a stream without resets by the caller.

    Parameters
    ----------
    mode, num_envs
        See :class:`TransitionStream`.
    reset_obs
        What the reset at the beginning returned.
    steps
        (actions, obs, rewards, terminated, truncated, infos) of each step.
    """
    stream = TransitionStream(mode, num_envs)
    stream.reset(reset_obs)
    for step in steps:
        yield stream.step(*step)


def autoreset_mode_of(env: VectorEnv[Any, Any, Any]) -> AutoresetMode:
    """Say how a vector environment resets itself.

    The innermost environment's own attribute comes first: in Gymnasium before 1.4 the
    metadata is one dict for a whole class, and says what the last one made was.

    Raises
    ------
    VectorEnvError
        If it says nothing, or something unknown.
    """
    said = getattr(env.unwrapped, "autoreset_mode", None)
    if said is None:
        said = (env.metadata or {}).get("autoreset_mode")
    if said is None:
        raise VectorEnvError(
            f"{DOING}: {env} does not say how it resets itself; set its "
            "metadata['autoreset_mode'] to an AutoresetMode"
        )
    try:
        return AutoresetMode(said)
    except ValueError:
        raise VectorEnvError(
            f"{DOING}: {env} says that its autoreset mode is {said!r}, which is none"
        ) from None


def _with_finals(after: Any, infos: Mapping[str, Any], done: Array) -> Any:
    """Replace the done rows by the final observations that the infos hold."""
    key = next((key for key in FINAL_KEYS if key in infos), None)
    rows = np.flatnonzero(done)
    if key is None:
        raise VectorEnvError(
            f"{DOING}: {listed(rows)} ended and reset in the same step, and the infos "
            "have no final_obs; without it the true next observation is not known"
        )
    finals, mask = infos[key], infos.get(f"_{key}")
    there = (
        _present(finals, len(done))
        if mask is None
        else np.asarray(mask, dtype=np.bool_) & _present(finals, len(done))
    )
    missing = rows[~there[rows]]
    if missing.size:
        raise VectorEnvError(
            f"{DOING}: {listed(missing)} ended and reset in the same step without a "
            "final_obs; the true next observation is not known"
        )
    return _with_rows(after, finals, rows)


def _present(finals: Any, count: int) -> Array:
    """Which rows are there: an object array has None where nothing was written."""
    if _is_listed(finals):
        return np.array([item is not None for item in finals], dtype=np.bool_)
    return np.ones(count, dtype=np.bool_)


def _is_listed(rows: Any) -> bool:
    """Whether there is one object a row, and not arrays that lead with N."""
    return isinstance(rows, list) or (
        isinstance(rows, np.ndarray) and rows.dtype == object
    )


def _with_rows(batch: Any, source: Any, rows: Array) -> Any:
    """Copy a batch with some rows taken from a batch, or from one object a row."""
    if isinstance(batch, dict):
        return {
            key: _with_rows(inner, _inside(source, key), rows)
            for key, inner in batch.items()
        }
    if isinstance(batch, tuple):
        return tuple(
            _with_rows(inner, _inside(source, at), rows)
            for at, inner in enumerate(batch)
        )
    copy = np.array(batch)
    for row in rows:
        copy[row] = source[row]
    return copy


def _inside(source: Any, key: Any) -> Any:
    if _is_listed(source):
        return [None if item is None else item[key] for item in source]
    return source[key]


def _copied(batch: Any) -> Any:
    """Copy: an environment may write into what it returned."""
    if isinstance(batch, dict):
        return {key: _copied(inner) for key, inner in batch.items()}
    if isinstance(batch, tuple):
        return tuple(_copied(inner) for inner in batch)
    return np.array(batch)

"""Where a rollout's rounds come from: environments in turn, or a resident batch."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np
from gymnasium.vector import AutoresetMode

from isoscope.core.envs.rollout.records import Array, InfoValues
from isoscope.core.envs.vector.transitions import TransitionStream

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from isoscope.core.envs.resident_env import ResidentVectorEnv
    from isoscope.core.envs.vector.hybrid import HybridVectorEnv


@dataclass(frozen=True, slots=True)
class Answer:
    """One round of steps.

    `acted` and `began` are of all N environments and of their kind: where an action was
    really taken, and where an episode begins after it. All else is on the host and of
    the W environments that are watched: `obs` is what was acted on, `next_obs` what it
    led to, `returned` what the environments gave back.
    """

    acted: Any
    began: Any
    obs: Array
    action: Array
    next_obs: Array
    returned: Array
    reward: Array
    terminated: Array
    truncated: Array
    transition: Array
    usable: Array
    starts: Array
    info: Mapping[str, InfoValues]


class Source(Protocol):
    """Environments that a rollout acts in.

    Attributes
    ----------
    watched
        int64 [W]: the environments whose rows come to the host.
    mode
        How they reset.
    xp
        The array namespace of `Answer.acted`.
    """

    num_envs: int
    watched: Array
    mode: AutoresetMode
    xp: Any

    def up(self, array: Array) -> Any:
        """An array of the environments' kind."""
        ...

    def down(self, array: Any) -> Array:
        """Rows of the watched environments, on the host."""
        ...

    def reset(self, seeds: Sequence[int]) -> Any:
        """Begin; the observations, of the environments' kind."""
        ...

    def step(self, action: Any) -> Answer:
        """Take a round of steps; ended environments are reset by their mode's rule."""
        ...

    def observation(self) -> Any:
        """What to act on next, [N, O] of the environments' kind."""
        ...

    def look(self, row: int, field: str) -> list[Array | None]:
        """A native field of every watched environment."""
        ...

    def places(self) -> list[Array | None]:
        """Where the bodies of every watched environment are."""
        ...


class TurnSource:
    """Environments that are stepped in turn, here or in workers; all are watched."""

    def __init__(self, envs: HybridVectorEnv) -> None:
        self.envs = envs
        self.num_envs = envs.num_envs
        self.watched: Array = np.arange(self.num_envs)
        self.mode = envs.autoreset_mode
        self.xp: Any = np
        self._stream = TransitionStream(self.mode, self.num_envs)
        self._now: Array = np.zeros((0, 0), np.float32)
        self._keys: dict[str, None] = {}

    def up(self, array: Array) -> Array:
        """The array itself."""
        return array

    def down(self, array: Array) -> Array:
        """The array itself."""
        return array

    def reset(self, seeds: Sequence[int]) -> Array:
        """Reset all; an int seed where they follow each other, as users give it."""
        first = seeds[0]
        following = list(seeds) == list(range(first, first + len(seeds)))
        obs, _ = self.envs.reset(seed=first if following else list(seeds))
        self._stream.reset(obs)
        self._now = obs
        return self._now

    def step(self, action: Array) -> Answer:
        """See `Source.step`."""
        obs, reward, terminated, truncated, infos = self.envs.step(action)
        rows = self._stream.step(action, obs, reward, terminated, truncated, infos)
        done = terminated | truncated
        starts, valid = np.zeros_like(done), _flag(infos, "valid", self.num_envs)
        self._now = obs
        match self.mode:
            case AutoresetMode.NEXT_STEP:
                starts = rows.reset_rows
            case AutoresetMode.SAME_STEP:
                starts = done
                final = infos.get("final_info", {})
                mask = infos.get("_final_info", starts)
                ended = _flag(final, "valid", self.num_envs)
                valid = np.where(np.asarray(mask, np.bool_), ended, valid)
            case AutoresetMode.DISABLED:
                if done.any():
                    fresh, _ = self.envs.reset(options={"reset_mask": done})
                    self._stream.reset(fresh, done)
                    self._now, starts = fresh, done
        return Answer(
            acted=rows.valid,
            began=starts,
            obs=rows.obs,
            action=rows.actions,
            next_obs=rows.next_obs,
            returned=obs,
            reward=np.asarray(rows.rewards, np.float64),
            terminated=rows.terminated,
            truncated=rows.truncated,
            transition=rows.valid,
            usable=rows.valid & valid,
            starts=starts,
            info=self._info(infos),
        )

    def _info(self, infos: Mapping[str, Any]) -> dict[str, InfoValues]:
        """By key; absent for all where no environment gave a key that is known."""
        found = _infos(infos, self.num_envs)
        self._keys |= dict.fromkeys(found)
        nothing = np.full(self.num_envs, np.nan), np.zeros(self.num_envs, np.bool_)
        return {key: found.get(key) or InfoValues(*nothing) for key in self._keys}

    def observation(self) -> Array:
        """See `Source.observation`."""
        return self._now

    def look(self, row: int, field: str) -> list[Array | None]:
        """See `Source.look`."""
        return list(self.envs.call("looked", row, field))

    def places(self) -> list[Array | None]:
        """See `Source.places`."""
        return list(self.envs.call("places"))


class ResidentSource:
    """A batch on the device; only rows that are watched come to the host.

    Parameters
    ----------
    watched
        Lanes to watch, none by default: then nothing is read back.
    """

    def __init__(self, batch: ResidentVectorEnv, watched: Sequence[int] = ()) -> None:
        self.batch = batch
        self.num_envs = batch.num_envs
        self.watched: Array = np.array(sorted(set(watched)), np.int64)
        self.mode = batch.autoreset_mode
        self.xp = batch.lanes.xp
        self._all = len(self.watched) == self.num_envs
        self._rows = self.up(self.watched)
        # on the device: of the episode, then of all that ended (sum, least, most, how
        # many); it is read when somebody asks
        scene = batch.scene
        self._sum = scene.to_device(np.zeros(self.num_envs), "returns")
        ends = np.array([0.0, np.inf, -np.inf, 0.0])
        self._ends = scene.to_device(ends, "returns")

    def up(self, array: Array) -> Any:
        """Cross over."""
        return self.batch.scene.to_device(array, "action")

    def reset(self, seeds: Sequence[int]) -> Any:
        """See `Source.reset`."""
        self.batch.reset(seed=list(seeds))
        return self.batch.lanes.observation

    def step(self, action: Any) -> Answer:
        """See `Source.step`; as Gymnasium has it, but what is not watched stays."""
        batch, xp = self.batch, self.xp
        before = batch.lanes.observation
        told = batch.step(action)
        info = told[4]
        observation, reward, terminated, truncated = (lazy.array for lazy in told[:4])
        transition, usable = info["transition"].array, info["usable"].array
        ended = xp.logical_or(terminated, truncated)
        self._count(reward, usable, ended)
        after = observation
        began = xp.logical_not(transition)
        present = self.down(transition)
        if self.mode is AutoresetMode.SAME_STEP:
            began = ended
            if "final_obs" in info:
                after = info["final_obs"].array
            present = present & ~self.down(ended)
        elif self.mode is AutoresetMode.DISABLED:
            began = ended
            # here the caller resets, and so has to look
            mask = batch.scene.to_host(ended, "flags")
            if mask.any():
                batch.reset(options={"reset_mask": mask})
        terms = {
            name: lazy.array
            for name, lazy in info["reward_terms"].items()
            if not name.startswith("_")
        }
        return Answer(
            acted=transition,
            began=began,
            obs=self.down(before),
            action=self.down(action),
            next_obs=self.down(after),
            returned=self.down(observation),
            reward=self.down(reward).astype(np.float64),
            terminated=self.down(terminated),
            truncated=self.down(truncated),
            transition=self.down(transition),
            usable=self.down(usable),
            starts=self.down(began),
            info={
                f"reward {name}": InfoValues(
                    self.down(value), present, self._ended(info, name)
                )
                for name, value in terms.items()
            },
        )

    def _ended(self, info: Mapping[str, Any], name: str) -> Callable[[], Array] | None:
        """Gives a reward term as told apart; it crosses over only if asked for."""
        if "final_info" not in info:
            return None
        return partial(self.down, info["final_info"]["reward_terms"][name].array)

    def observation(self) -> Any:
        """See `Source.observation`."""
        return self.batch.lanes.observation

    def look(self, row: int, field: str) -> list[Array | None]:
        """See `Source.look`; the field of the whole batch crosses over."""
        lanes = self.batch.lanes
        if field not in lanes.scene.rows[row].fields:
            return [None] * len(self.watched)
        whole = np.asarray(lanes.stages.read(lanes, row, field), np.float64)
        return list(whole[self.watched])

    def places(self) -> list[Array | None]:
        """See `Source.places`."""
        rows = [
            self.look(row.index, "translation")
            for row in self.batch.scene.rows
            if row.actor is not None and "translation" in row.fields
        ]
        return [np.stack(list(bodies)) for bodies in zip(*rows, strict=True)]

    def returns(self) -> tuple[float, float, float, int]:
        """Sum, least and most of the returns of episodes that ended, and how many."""
        total, least, most, count = self.batch.scene.to_host(self._ends, "returns")
        return float(total), float(least), float(most), int(count)

    def _count(self, reward: Any, usable: Any, ended: Any) -> None:
        xp, ends = self.xp, self._ends
        zeros = xp.zeros_like(self._sum)
        total = self._sum + xp.where(usable, reward, zeros)
        some = xp.where(ended, total, zeros)
        least = xp.where(ended, total, zeros + np.inf).min()
        most = xp.where(ended, total, zeros - np.inf).max()
        self._ends = xp.stack(
            [
                ends[0] + some.sum(),
                xp.minimum(ends[1], least),
                xp.maximum(ends[2], most),
                ends[3] + ended.sum(),
            ]
        )
        self._sum = xp.where(ended, zeros, total)

    def down(self, array: Any) -> Array:
        """See `Source.down`; the device is not asked where nothing is watched."""
        if not len(self.watched):
            kind = np.bool_ if "bool" in str(array.dtype) else np.float32
            return np.zeros((0, *array.shape[1:]), kind)
        rows = array if self._all else array[self._rows]
        return self.batch.scene.to_host(rows, "watched")


def _flag(infos: Mapping[str, Any], key: str, n: int) -> Array:
    """A flag of the infos; True where no environment gave it."""
    if key not in infos:
        return np.ones(n, np.bool_)
    mask = np.asarray(infos.get(f"_{key}", np.ones(n, np.bool_)), np.bool_)
    # where the mask is unset the value may be anything, and is not looked at
    values = [not set_ or bool(v) for v, set_ in zip(infos[key], mask, strict=True)]
    return np.array(values, np.bool_)


def _infos(infos: Mapping[str, Any], n: int) -> dict[str, InfoValues]:
    """Reward terms, with their masks at every level: absent where one is unset."""
    terms = infos.get("reward_terms")
    if not isinstance(terms, dict):
        return {}
    outer = np.asarray(infos.get("_reward_terms", np.ones(n, np.bool_)), np.bool_)
    found: dict[str, InfoValues] = {}
    for name, values in terms.items():
        if name.startswith("_"):
            continue
        inner = np.asarray(terms.get(f"_{name}", outer), np.bool_)
        values = np.asarray(values, np.float64)
        found[f"reward {name}"] = InfoValues(values, outer & inner)
    final = infos.get("final_info")
    ended = _infos(final, n) if isinstance(final, dict) else {}
    for key in found.keys() & ended.keys():
        found[key] = replace(found[key], ends=partial(_values, ended[key]))
    return found


def _values(info: InfoValues) -> Array:
    """NaN where an environment gave none."""
    return np.where(info.present, info.values, np.nan)

"""Any Gymnasium `VectorEnv`: every environment's rows, reset rows told apart.

A vector environment whose factories are tapped is seen from inside, by each process:
then only what its processes can't know is told here.
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

import numpy as np

from isoscope.core.errors import one_line
from isoscope.core.recording.labelled import records as r
from isoscope.core.recording.labelled.forms import to_json
from isoscope.core.recording.labelled.intake_recorder import transition_rows
from isoscope.core.tap.adapters import run as runs
from isoscope.core.tap.adapters.control_steps import AFTER, BEFORE, CLIPPED, RAW
from isoscope.core.tap.adapters.generators import Watched
from isoscope.core.tap.adapters.halves import Halves, has_halves
from isoscope.core.tap.adapters.hooks import hook, is_hooked
from isoscope.core.tap.adapters.inside import mode_within, processes_of, tapped_inside
from isoscope.core.tap.adapters.kinds import innermost
from isoscope.core.tap.adapters.leaves import Leaf, leaves
from isoscope.core.tap.adapters.rows import (
    FINALS,
    TERMS,
    columns,
    limits_of,
    named_in,
    reasons_in,
    within,
)
from isoscope.core.tap.adapters.stage_times import (
    record_stages,
    times_itself,
    watch_stages,
)
from isoscope.core.tap.adapters.values import (
    NUMBERS,
    fitted,
    fitted_parts,
    kept,
    owned_batch,
    picked,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from isoscope.core.recording.tracks import Array
    from isoscope.core.tap.adapters.scalars import Name
    from isoscope.core.tap.session import TapSession

SAME_STEP, DISABLED = "same_step", "disabled"
MOST_REASONS = 64  # rows of a step whose reasons are looked for


class VectorAdapter:
    """Wraps a Gymnasium `VectorEnv`."""

    def wrap(self, env: Any, session: TapSession, index: int | None) -> Any:
        """See `isoscope.core.tap.adapter.Adapter`."""
        if not is_hooked(env, "step"):
            VectorTap(env, session, index).attach(env)
        return env


class VectorTap:
    """Watches a vector environment of N.

    Attributes
    ----------
    first
        Number of its first environment.
    episode, control_step
        int64 [N]: where each is; -1 before its first reset that is seen.
    within
        Whether a reset or a step is being done.
    """

    def __init__(self, env: Any, session: TapSession, index: int | None) -> None:
        self.session = session
        self.recorder = session.recorder
        self.count = int(env.num_envs)
        self.first = -1
        self.begun = False
        self.episode = np.full(self.count, -1, np.int64)
        self.control_step = np.full(self.count, -1, np.int64)
        self.inside = tapped_inside(env)
        self.within = False
        self._index = index
        self._stream: Any = None
        self._leaves: tuple[Sequence[Leaf], Sequence[Leaf]] = ([], [])
        self._space_watched = Watched()
        self._told_failure = False
        self._ended = np.zeros(self.count, np.bool_)
        self._seen = False  # whether the stream knows what was seen last

    def attach(self, env: Any) -> None:
        """Put the tap around the environment's methods."""
        hook(env, "reset", self._reset)
        hook(env, "step", self._step)
        if has_halves(env) and not self.inside:
            Halves(self).attach(env)

    # -- resets ------------------------------------------------------------------------

    def _reset(
        self, env: Any, original: Callable[..., Any], *args: Any, **kwargs: Any
    ) -> Any:
        asked = self.asks_reset(env, *args, **kwargs)
        result = self.call(env, "reset", original, *args, **kwargs)
        self.resets(env, asked, result)
        return result

    def asks_reset(
        self, env: Any, seed: Any = None, options: Any = None, *_: Any, **__: Any
    ) -> Any:
        """Be told that a reset is asked for; returns what `resets` is told."""
        # Gymnasium's take the mask out of the dict that they are given.
        return seed, {**options} if isinstance(options, dict) else options

    def resets(self, env: Any, asked: tuple[Any, Any], result: Any) -> None:
        """Be told that a reset is done."""
        if self.session.on:
            with self.session.guard:
                self._begin(env)
                if not self.inside:
                    self._was_reset(env, result, *asked)

    def _was_reset(
        self, env: Any, result: Any, seed: Any = None, options: Any = None
    ) -> None:
        observation, info = result
        mask = None
        if isinstance(options, dict) and "reset_mask" in options:
            mask = np.array(options["reset_mask"], np.bool_)
            options = {k: v for k, v in options.items() if k != "reset_mask"} or None
        observation = kept(self._leaves[1], observation)
        # A reset of some gives what was seen last of the others.
        self._stream.reset(observation, mask if self._seen else None)
        self._seen = True
        which = np.arange(self.count) if mask is None else np.flatnonzero(mask)
        seeds = self.seeds(env, seed)
        self._ended[which] = False
        self._episodes_begin(which)
        rows = self._rows(env, which)
        rows["valid"] = 0
        for k, lane in enumerate(which.tolist()):
            own = seeds[lane]
            if own is not None and 0 <= own < 1 << 63:
                rows["seed"][k] = own
        named = columns(info, self.count, FINALS)
        told = self._batch(rows, which, {AFTER: observation}, {}, named)
        wall, row = time.time_ns(), self.recorder.rows
        for k, lane in enumerate(which.tolist()):
            number, own = self.first + lane, seeds[lane]
            runs.of(self.session).environment(number, own)
            at, episode = told + k if told >= 0 else -1, int(self.episode[lane])
            self.recorder.reset(
                r.Reset(number, episode, row, at, wall, 0, own, options)
            )
        runs.of(self.session).tell()

    def seeds(self, env: Any, seed: Any) -> list[int | None]:
        """By environment the seed that arrives there, as far as that can be told."""
        if seed is None:
            return [None] * self.count
        known = getattr(innermost(env), "lane_seeds", None)
        if known is not None:  # expands them in a way of its own
            return list(known)
        if isinstance(seed, (int, np.integer)):
            return [int(seed) + k for k in range(self.count)]
        given = [None if one is None else int(one) for one in seed]
        return given if len(given) == self.count else [None] * self.count

    # -- control steps -----------------------------------------------------------------

    def _step(
        self,
        env: Any,
        original: Callable[..., Any],
        actions: Any,
        *args: Any,
        **kwargs: Any,
    ) -> Any:
        raw = self.asks_step(env, actions)
        result = self.call(env, "step", original, actions, *args, **kwargs)
        self.steps(env, raw, result)
        return result

    def asks_step(self, env: Any, actions: Any, *_: Any, **__: Any) -> Any:
        """Be told that a step is asked for; returns what `steps` is told."""
        raw = None
        if self.session.on and not self.inside:
            with self.session.guard:
                self._begin(env)
                raw = owned_batch(actions)
        return raw

    def steps(self, env: Any, raw: Any, result: Any) -> None:
        """Be told that a step is done."""
        if self.session.on:
            with self.session.guard:
                self._begin(env)
                if not self.inside:
                    self._was_stepped(env, raw, result)
                if times_itself(innermost(env)):
                    record_stages(self.session, innermost(env).profiler.take(), -1, -1)

    def _was_stepped(self, env: Any, raw: Any, result: Any) -> None:
        observation, rewards, terminated, truncated, infos = result
        observation = kept(self._leaves[1], observation)
        late = not self._seen  # nobody told what was seen before
        if late:
            self._stream.reset(observation)
            self._seen = True
        step = self._transitions(
            raw, observation, rewards, terminated, truncated, infos
        )
        every = np.arange(self.count)
        done = step.terminated | step.truncated
        acted, resets = step.valid, ~step.valid
        self._episodes_begin(np.flatnonzero(resets))
        self.control_step += acted & (self.episode > 0)
        rows = self._rows(env, every)
        rows["reward"] = np.where(resets, np.nan, step.rewards.astype(np.float64))
        rows["terminated"] = np.where(resets, -1, step.terminated)
        rows["truncated"] = np.where(resets, -1, step.truncated)
        rows["valid"] = acted if self._mode else -1
        rows["valid"][self.episode < 1] = -1  # it may have been a reset
        if self._mode == DISABLED:
            # What comes after the end is no transition that anybody has defined.
            rows["valid"][self._ended] = -1
            self._ended |= done
        groups = {RAW: step.actions, BEFORE: step.obs, AFTER: step.next_obs}
        present = {RAW: acted, BEFORE: acted & (not late)}
        present[AFTER] = np.ones(self.count, np.bool_)
        clipped = within(step.actions, self._limits)
        if clipped is not None:
            groups[CLIPPED], present[CLIPPED] = step.actions, acted & clipped
        groups = {group: batch for group, batch in groups.items() if batch is not None}
        again = self._mode == SAME_STEP and bool(done.any())
        named = named_in(infos, self.count, done if again else None)
        self._reasons(rows, infos, done, again)
        first = self._batch(rows, every, groups, present, named)
        wall, row = time.time_ns(), self.recorder.rows
        for lane in np.flatnonzero(resets).tolist():
            self._automatic(lane, row, first, wall, lane)
        if again:
            self._reset_within(env, np.flatnonzero(done), observation, infos)

    def _transitions(self, *told: Any) -> Any:
        """The step as transitions; the user's mistakes are told, and end nothing."""
        from isoscope.core.envs.vector.errors import VectorEnvError
        from isoscope.core.envs.vector.transitions import Transitions

        try:
            return self._stream.step(*told)
        except VectorEnvError as error:
            if not self._told_failure:
                self._told_failure = True
                self.recorder.failure(
                    r.Failure("transitions", one_line(error), wall_ns=time.time_ns())
                )
        # Goes on from what was returned, as the user does; what it was is not known.
        raw, observation, rewards, *flags, _ = told
        self._stream.reset(observation)
        terminated, truncated = (np.array(flag, np.bool_) for flag in flags)
        every = np.ones(self.count, np.bool_)
        return Transitions(
            every, None, raw, np.array(rewards), terminated, truncated, None
        )

    def _reasons(self, rows: Array, infos: Any, done: Array, again: bool) -> None:
        """Why episodes ended, where the infos tell."""
        told = infos.get("final_info") if again and isinstance(infos, dict) else infos
        for lane, why in reasons_in(told, np.flatnonzero(done)[:MOST_REASONS]):
            rows["reasons"][lane] = self.recorder.intake.blob(to_json(why))

    def _reset_within(
        self, env: Any, which: Array, observation: Any, infos: Any
    ) -> None:
        """The resets that the step did after episodes' ends: rows of their own."""
        self._episodes_begin(which)
        rows = self._rows(env, which)
        rows["valid"] = 0
        named = columns(infos, self.count, (*FINALS, TERMS))
        told = self._batch(rows, which, {AFTER: observation}, {}, named)
        wall, row = time.time_ns(), self.recorder.rows
        for k, lane in enumerate(which.tolist()):
            self._automatic(lane, row, told, wall, k)

    def _automatic(self, lane: int, row: int, told: int, wall: int, at: int) -> None:
        number = told + at if told >= 0 else -1
        episode = int(self.episode[lane])
        self.recorder.reset(r.Reset(self.first + lane, episode, row, number, wall, 1))

    # -- both --------------------------------------------------------------------------

    def _episodes_begin(self, which: Array) -> None:
        self.episode[which] = np.maximum(self.episode[which], 0) + 1
        self.control_step[which] = 0

    def _rows(self, env: Any, which: Array) -> Array:
        rows = transition_rows(len(which))
        rows["env"] = self.first + which
        rows["episode"] = self.episode[which]
        rows["control_step"] = self.control_step[which]
        rows["wall_ns"] = time.time_ns()
        digest = self._space_watched.digest(env.action_space)
        if digest:
            rows["action_rng_digest"] = np.frombuffer(digest, np.uint8)
        return rows

    def _batch(
        self,
        rows: Array,
        which: Array,
        groups: dict[str, Any],
        present: dict[str, Array],
        named: dict[Name, tuple[Array, Array]],
    ) -> int:
        part = len(which) != self.count
        values = {}
        for group, batch in groups.items():
            there = present.get(group)
            if there is None:
                there = np.ones(len(which), np.bool_)
            values[group] = (picked(batch, which) if part else batch), there
        if part:
            named = {name: (v[which], m[which]) for name, (v, m) in named.items()}
        raw, (actions, seen) = None, self._leaves
        for group, (batch, _) in values.items():
            if group in (RAW, CLIPPED):
                actions = fitted_parts(actions, batch, len(which))
            else:
                seen = fitted(seen, batch, len(which))
        self._leaves = actions, seen
        if RAW in groups:
            raw = getattr(groups[RAW], "dtype", None)
            raw = raw if getattr(raw, "kind", "O") in NUMBERS else np.dtype(np.float64)
        writer = runs.of(self.session).writer(*self._leaves, raw=raw)
        return writer.batch(rows, values, named)

    def _begin(self, env: Any) -> None:
        if self.begun:
            return
        self.begun = True
        if times_itself(innermost(env)):
            watch_stages(self.session)
        from isoscope.core.envs.vector.errors import VectorEnvError
        from isoscope.core.envs.vector.transitions import (
            TransitionStream,
            autoreset_mode_of,
        )

        run = runs.of(self.session)
        mode: Any = None
        try:
            mode = mode_within(env) or autoreset_mode_of(env)
        except VectorEnvError as error:
            if not self.inside:
                self.recorder.failure(
                    r.Failure("transitions", one_line(error), wall_ns=time.time_ns())
                )
        self._mode = "" if mode is None else mode.name.lower()
        processes = processes_of(env)
        each = None if processes is None else self.count // max(processes, 1)
        run.learn(
            f"vector {id(self)}",
            r.Identity(
                autoreset_mode=self._mode,
                processes=processes,
                environments_per_process=each,
                extra={"vector_environment": type(env).__qualname__},
            ),
        )
        if self.inside:
            run.tell()
            return
        from gymnasium.vector import AutoresetMode

        self._stream = TransitionStream(mode or AutoresetMode.DISABLED, self.count)
        self.first = self.session.env_index(self.count, self._index)
        actions, seen = self.leaves(env)
        self._limits = limits_of(actions)
        self._leaves = actions, seen
        single = env.single_observation_space, env.single_action_space
        run.has(env, (single[0], seen), (single[1], actions))
        run.environment(self.first + self.count - 1, None)
        run.tell()

    def leaves(self, env: Any) -> tuple[list[Leaf], list[Leaf]]:
        """Of a single environment's action and observation."""
        return leaves(env.single_action_space), leaves(env.single_observation_space)

    def call(
        self,
        env: Any,
        doing: str,
        original: Callable[..., Any],
        *args: Any,
        **kwargs: Any,
    ) -> Any:
        """Do what was asked for; what it raises is recorded, and raised."""
        try:
            self.within = True
            return original(*args, **kwargs)
        except BaseException as error:
            if self.session.on:
                with self.session.guard:
                    told = f"{type(error).__name__}: {one_line(error)}"
                    self.recorder.failure(
                        r.Failure(doing, told, wall_ns=time.time_ns())
                    )
            raise
        finally:
            self.within = False

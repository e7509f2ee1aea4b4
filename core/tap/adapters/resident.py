"""Isoscope's `ResidentVectorEnv`: a batch in one scene, of which some worlds are seen.

Only the worlds that are seen are read back from the device. Which: the option
``visible``, numbers of worlds or how many of the first; 8 if nothing was said.
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

import numpy as np

from isoscope.core.errors import UsageError
from isoscope.core.recording.labelled import records as r
from isoscope.core.recording.labelled.forms import to_json
from isoscope.core.recording.labelled.intake_recorder import transition_rows
from isoscope.core.tap.adapters import run as runs
from isoscope.core.tap.adapters.control_steps import AFTER, BEFORE, CLIPPED, RAW
from isoscope.core.tap.adapters.hooks import hook, is_hooked
from isoscope.core.tap.adapters.kinds import innermost
from isoscope.core.tap.adapters.leaves import described, leaves
from isoscope.core.tap.adapters.scene import task_identity, task_names, watch_of
from isoscope.core.tap.adapters.seen import CAUSE
from isoscope.core.tap.adapters.stage_times import record_stages, watch_stages

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from isoscope.core.envs.lanes import LaneGroup
    from isoscope.core.envs.records import ControlStep
    from isoscope.core.recording.tracks import Array
    from isoscope.core.tap.adapters.scene_watch import SceneWatch
    from isoscope.core.tap.session import TapSession

VISIBLE = 8
# As the infos of single environments name them.
REASONS = ("terminated_reason", "truncated_reason")
MOST_REASONS = 64  # ends of one step of which it is told
# Of more worlds than these no snapshot is taken at every single reset.
MOST_AT_RESETS = 256


class ResidentAdapter:
    """Wraps a `ResidentVectorEnv`, or what wraps one."""

    def wrap(self, env: Any, session: TapSession, index: int | None) -> Any:
        """See `isoscope.core.tap.adapter.Adapter`."""
        if not is_hooked(env, "step"):
            tap = ResidentTap(innermost(env), session, index)
            hook(env, "reset", tap.reset)
            hook(env, "step", tap.step)
            hook(env, "close", tap.close)
        return env


class ResidentTap:
    """Watches the worlds of a batch that are seen.

    Attributes
    ----------
    seen
        Numbers of the worlds, ascending.
    """

    def __init__(self, env: Any, session: TapSession, index: int | None) -> None:
        self.session = session
        self.recorder = session.recorder
        self.count = int(env.num_envs)
        self.seen = worlds_seen(session.options.get("visible", VISIBLE), self.count)
        self.first = -1
        self._index = index
        self._watch: SceneWatch | None = None
        self._before: Any = None
        self._seeds: list[int | None] = []
        self._begun = False
        self._resetting = False
        self._rounds = 0
        self._asked = session.snapshots_asked

    # -- around the methods ------------------------------------------------------------

    def reset(
        self, env: Any, original: Callable[..., Any], *args: Any, **kwargs: Any
    ) -> Any:
        """Around ``reset``."""
        with self.session.guard:
            self._begin(innermost(env), kwargs.get("seed"))
            self._resetting = True
        try:
            result = original(*args, **kwargs)
        finally:
            self._resetting = False
            self._seeds = []
        self._record_stages(env)
        return result

    def step(
        self, env: Any, original: Callable[..., Any], *args: Any, **kwargs: Any
    ) -> Any:
        """Around ``step``."""
        with self.session.guard:
            self._begin(innermost(env), None)
        result = original(*args, **kwargs)
        self._record_stages(env)
        return result

    def _record_stages(self, env: Any) -> None:
        with self.session.guard:
            record_stages(self.session, innermost(env).profiler.take(), -1, -1)

    def close(
        self, env: Any, original: Callable[..., Any], *args: Any, **kwargs: Any
    ) -> Any:
        """Around ``close``."""
        result = original(*args, **kwargs)
        with self.session.guard:
            if self._begun:
                lanes: LaneGroup = innermost(env).lanes
                lanes.control_stepped.disconnect(self._on_step, missing_ok=True)
                lanes.was_reset.disconnect(self._on_reset, missing_ok=True)
            if self._watch is not None:
                self._watch.close()
                self._watch = None
        return result

    # -- what the lanes tell -----------------------------------------------------------

    def _stepped(self, lanes: LaneGroup, step: ControlStep) -> None:
        if lanes is not self._lanes or not self.session.on:
            return
        host = self._host
        took = np.ones(len(self.seen), np.bool_)
        if step.worlds is not None:
            took = host(step.worlds)
        which = np.flatnonzero(took)
        before, self._before = host(step.before), host(step.after)
        if not which.size:
            self._spans_end()
            return
        rows = self._rows(which, host(step.episode), host(step.control_step))
        rows["reward"] = host(step.reward)[which]
        rows["terminated"] = host(step.terminated)[which]
        rows["truncated"] = host(step.truncated)[which]
        rows["valid"] = 1
        groups = {
            RAW: host(step.raw),
            CLIPPED: host(step.clipped),
            BEFORE: before,
            AFTER: self._before,
        }
        named = {("reward_term", n): host(term) for n, term in step.terms.items()}
        named["info", "valid"] = host(step.valid)
        masks = {key: host(m) for key, m in step.terminations.items()}
        cut = {key: host(m) for key, m in step.truncations.items()}
        for name, mask in {**masks, **cut}.items():
            named["info", f"reason/{name}"] = mask
        self._reasons(rows, which, masks, cut)
        self._write(rows, which, groups, named)
        self._spans_end()
        self._rounds += 1
        every, asked = self.session.snapshots_every, self.session.snapshots_asked
        if every and self._rounds % every == 0:
            self._snapshot("every")
        elif asked != self._asked and self._watch is not None:
            self._watch.snapshot("asked", -1, None, -1, -1)
        self._asked = asked

    def _reasons(
        self,
        rows: Array,
        which: Array,
        ends: dict[str, Array],
        cuts: dict[str, Array],
    ) -> None:
        """Say in words why episodes ended, as one environment's infos do."""
        done = np.flatnonzero((rows["terminated"] == 1) | (rows["truncated"] == 1))
        for at in done[:MOST_REASONS].tolist():
            lane = int(which[at])
            why = {
                key: ", ".join(name for name, mask in masks.items() if mask[lane])
                for key, masks in zip(REASONS, (ends, cuts), strict=True)
            }
            told = {key: text for key, text in why.items() if text}
            if told:
                rows["reasons"][at] = self.recorder.intake.blob(to_json(told))

    def _was_reset(self, lanes: LaneGroup, worlds: Any) -> None:
        if lanes is not self._lanes or not self.session.on:
            return
        host = self._host
        took = np.ones(len(self.seen), np.bool_) if worlds is None else host(worlds)
        which = np.flatnonzero(took)
        self._before = host(lanes.observation)
        if which.size:
            rows = self._rows(which, host(lanes.episode), host(lanes.count))
            rows["valid"] = 0
            by_user = self._resetting
            seeds = [self._seed(self.seen[k]) for k in which.tolist()]
            known = [-1 if s is None or not 0 <= s < 1 << 63 else s for s in seeds]
            rows["seed"] = known
            told = self._write(rows, which, {AFTER: self._before}, {})
            wall = time.time_ns()
            for at, seed in enumerate(seeds):
                row = rows[at]
                first = int(row["first_row"])
                self.recorder.reset(
                    r.Reset(
                        int(row["env"]),
                        int(row["episode"]),
                        first if first >= 0 else self.recorder.rows,
                        told + at if told >= 0 else -1,
                        wall,
                        0 if by_user else 1,
                        seed,
                    )
                )
                runs.of(self.session).environment(int(row["env"]), seed)
            runs.of(self.session).tell()
            if by_user or self.count <= MOST_AT_RESETS:
                self._snapshot("reset")
        self._spans_end()

    # -- helpers -----------------------------------------------------------------------

    def _snapshot(self, why: str) -> None:
        """Record the state of all worlds: they can be stepped again from it only."""
        if self._watch is not None and self.session.snapshots_every:
            self._watch.snapshot(why, -1, None, -1, -1)

    def _begin(self, env: Any, seed: Any) -> None:
        self._seeds = [] if seed is None else list(env._expanded(seed) or [])
        if self._begun:
            return
        self._begun = True
        session = self.session
        watch_stages(session)
        self._lanes: LaneGroup = env.lanes
        self.first = session.env_index(self.count, self._index)
        run = runs.of(session)
        known = task_names(env.task)
        actions = leaves(env.single_action_space, *known["action"])
        seen = leaves(env.single_observation_space, *known["observation"])
        self._leaves = actions, seen
        spaces = [
            described(env.single_observation_space, "observation", -1, seen),
            described(env.single_action_space, "action", -1, actions),
        ]
        run.learn(f"spaces {spaces}", r.Identity(spaces=spaces))
        run.learn("isoscope", task_identity(env.task, env.lanes))
        told = {"visible": [self.first + world for world in self.seen]}
        run.learn(
            f"resident {id(self)}",
            r.Identity(
                autoreset_mode=env.autoreset_mode.name.lower(),
                processes=1,
                environments_per_process=self.count,
                extra=told,
            ),
        )
        run.origin(env)
        run.environment(self.first + self.count - 1, None)
        run.tell()
        self._watch = watch_of(session, env.lanes, self.seen)
        session.takes_snapshots()
        self._watch.numbers[env.lanes] = range(self.first, self.first + self.count)
        self._on_step = session.guard(self._stepped)
        self._on_reset = session.guard(self._was_reset)
        env.lanes.control_stepped.connect(self._on_step)
        env.lanes.was_reset.connect(self._on_reset)

    def _seed(self, world: int) -> int | None:
        return self._seeds[world] if world < len(self._seeds) else None

    def _host(self, array: Any) -> Array:
        """The rows that are seen, on the host."""
        found: Array = self._lanes.scene.to_host(array[self.seen], CAUSE)
        return found

    def _rows(self, which: Array, episode: Array, control_step: Array) -> Array:
        rows = transition_rows(len(which))
        rows["env"] = [self.first + self.seen[k] for k in which.tolist()]
        rows["episode"] = episode[which]
        rows["control_step"] = control_step[which]
        rows["wall_ns"] = time.time_ns()
        for k, env in enumerate(rows["env"].tolist()):
            span = (-1, -1) if self._watch is None else self._watch.steps.span(env)
            rows["first_row"][k], rows["last_row"][k] = span
        return rows

    def _spans_end(self) -> None:
        if self._watch is not None:
            self._watch.steps.begin()

    def _write(
        self,
        rows: Array,
        which: Array,
        groups: Mapping[str, Array],
        named: Mapping[tuple[str, str], Array],
    ) -> int:
        there = np.ones(len(which), np.bool_)
        raw = groups[RAW].dtype if RAW in groups else None
        return (
            runs.of(self.session)
            .writer(*self._leaves, raw=raw)
            .batch(
                rows,
                {group: (values[which], there) for group, values in groups.items()},
                {n: (v[which].astype(np.float64), there) for n, v in named.items()},
            )
        )


def worlds_seen(wish: Any, count: int) -> list[int]:
    """The worlds that are seen.

    Parameters
    ----------
    wish
        How many of the first, or their numbers.

    Raises
    ------
    UsageError
        If it is neither, or there is no such world.
    """
    if isinstance(wish, int) and not isinstance(wish, bool) and wish >= 0:
        return list(range(min(wish, count)))
    try:
        chosen = sorted({int(world) for world in wish})
    except (TypeError, ValueError):
        chosen = [-1]
    if chosen and not 0 <= chosen[0] <= chosen[-1] < count:
        raise UsageError(
            f"tapping a batch of {count}: visible={wish!r}; give how many of the "
            "first worlds to see, or a list of their numbers"
        )
    return chosen

"""Recorded runs of RLinf's whole collector, event by event, through ours.

What differs, and why, is told by what the events hold, not by the names of cases, so
that it also holds for other recorded runs.
"""

from __future__ import annotations

import builtins
import dataclasses
import functools
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any, TypeVar

import torch

from isoscope.core.channel.hooks import ChannelContext
from isoscope.core.trajectory.collector import TrajectoryCollector
from isoscope.core.trajectory.errors import TrajectoryError
from tests.golden import ACCIDENTS, Case, assert_same, decode

if TYPE_CHECKING:
    from collections.abc import Callable

T = TypeVar("T")

UNEVEN = "H17: environments that sources can't share; some are lost in RLinf"
LATE = "H1: chunks stay in the order of arrival in RLinf, and are put in order here"
AGAIN = "H3: what went out is taken anew in RLinf, and refused here"
SOME = "H5: a field of some chunks only gets shorter in RLinf, and is refused here"

Key = tuple[int, int, int, int, int]
# What a chunk may have or not; tensors of a trajectory, by the record that brings them.
OPTIONAL = {
    "output": ("prev_logprobs", "prev_values", "versions"),
    "transition": ("rewards", "dones", "terminations", "truncations"),
}


@dataclass
class Story:
    """What happens in a recorded run, read from its events alone."""

    case: Case
    config: dict[str, Any] = field(init=False)

    def __post_init__(self) -> None:
        self.config = self.case.setup["config"]

    @property
    def mode(self) -> str:
        dagger = self.config["algorithm"].get("dagger", {})
        if dagger.get("online_lerobot", {}).get("enabled"):
            return "lerobot"
        pipeline = self.config["runner"].get("use_training_pipeline")
        return "pipeline" if pipeline else "rollout"

    @property
    def shuffles(self) -> bool:
        wanted: bool = self.config["algorithm"].get("shuffle_rollout", True)
        return self.mode == "pipeline" and wanted

    @property
    def sources(self) -> int:
        stages: int = self.config["rollout"]["pipeline_stage_num"]
        return int(self.case.setup["world"]["env"]) * stages

    @property
    def rows(self) -> int:
        return int(self.config["env"]["train"]["total_num_envs"]) // self.sources

    @property
    def expected(self) -> int:
        """How many chunks complete a scope."""
        train = self.config["env"]["train"]
        width = self.config["actor"]["model"]["num_action_chunks"]
        chunks = int(train["max_steps_per_rollout_epoch"]) // int(width)
        times = self.sources if self.mode == "pipeline" else train["rollout_epoch"]
        return int(chunks * times)

    def scope(self, key: Key) -> Key | tuple[int, ...]:
        step, epoch, rank, stage, _ = key
        return (step, epoch) if self.mode == "pipeline" else (step, rank, stage)

    def order(self, ends: dict[Any, int], key: Any) -> tuple[Any, ...]:
        """Where a chunk belongs: scopes as they ended, in each as they were made."""
        scope = self.scope(dataclasses.astuple(key))
        return (key,) if self.mode == "lerobot" else (ends.get(scope, len(ends)), key)

    @cached_property
    def stored(self) -> list[Key]:
        """The chunks in the order in which they were stored, repeated ones once."""
        return self._read[0]

    @cached_property
    def again(self) -> set[int]:
        """Events that bring something of a scope that had gone out."""
        return self._read[1]

    @cached_property
    def _read(self) -> tuple[list[Key], set[int]]:
        came: dict[tuple[str, Key], int] = {}
        stored: list[Key] = []
        again = set()
        for at, event in enumerate(self.case.events):
            for key, size in keys_of(event["in"]):
                scope = self.scope(key)
                done = sum(self.scope(other) == scope for other in stored)
                if done >= self.expected:
                    again.add(at)
                    continue
                half = event["in"]["$type"], key
                came[half] = came.get(half, 0) + size
                both = (came.get((kind, key), 0) for kind in ("PolicyPart", "EnvPart"))
                if min(both) < self.rows or key in stored or "raises" in event:
                    continue
                stored.append(key)
        return stored, again

    @property
    def late(self) -> bool:
        """Whether a chunk of a source was stored after a later one."""
        latest: dict[tuple[int, ...], Key] = {}
        for key in self.stored:
            step, epoch, rank, stage, chunk = key
            track = rank, stage
            if self.mode != "lerobot":  # there, episodes go on from step to step
                track = *track, *self.scope(key)
            now = (step, epoch, rank, stage, chunk)
            if latest.get(track, now) > now:
                return True
            latest[track] = now
        return False

    @property
    def holes(self) -> bool:
        """Whether a scope has a field in some of its chunks only."""
        if self.mode == "lerobot":
            return False
        has: dict[Any, set[bool]] = {}
        infos = self.config["rollout"].get("collect_prev_infos", True)
        for event in self.case.events:
            part = event["in"]
            for record, names in OPTIONAL.items():
                if record not in part:
                    continue
                for name in names:
                    if not infos and name.startswith("prev_"):
                        continue
                    for key, _ in keys_of(part):
                        seen = has.setdefault((self.scope(key), record, name), set())
                        seen.add(name in part[record])
            for record, extras in self._extras(part).items():
                for key, _ in keys_of(part):
                    seen = has.setdefault((self.scope(key), record), set())
                    seen.add(extras)
        return any(len(seen) > 1 for seen in has.values())

    def _extras(self, part: dict[str, Any]) -> dict[str, bool]:
        """Which rows more an epoch has, where the part is one that may bring some."""
        found: dict[str, bool] = {}
        if part["$type"] != "EnvPart":
            return found
        initial = part.get("initial_transition")
        if initial is not None:
            for name in ("dones", "terminations", "truncations"):
                found[f"initial_{name}"] = name in initial
        width = self.config["actor"]["model"]["num_action_chunks"]
        steps = self.config["env"]["train"]["max_steps_per_rollout_epoch"]
        last = all(key[4] == steps // width - 1 for key, _ in keys_of(part))
        if last and self.config["rollout"].get("collect_prev_infos", True):
            found["final_prev_values"] = "final_prev_values" in part
        return found

    def differences(self) -> set[str]:
        """Why ours gives something else than what was recorded; empty if it mustn't."""
        if self.config["env"]["train"]["total_num_envs"] % self.sources:
            return {UNEVEN}
        found = {LATE: self.late, AGAIN: bool(self.again), SOME: self.holes}
        return {reason for reason, holds in found.items() if holds}


def keys_of(part: dict[str, Any]) -> list[tuple[Key, int]]:
    """Whose rows a written part carries, and how many."""
    sources = [each["$source"] for each in part["sources"]]
    return [(tuple(each["key"]["$key"]), each["size"]) for each in sources]


def collector(case: Case, cfg: dict[str, Any] | None = None) -> TrajectoryCollector:
    """A collector set up as the case says; `cfg` instead of its configuration."""
    made = TrajectoryCollector()
    world = case.setup["world"]
    made.setup(
        ChannelContext(
            "trajectory",
            cfg=cfg or decode(case.setup["config"], case.tensors),
            options={
                "env_world_size": world["env"],
                "actor_world_size": world["actor"],
            },
        )
    )
    return made


def overwriting(case: Case) -> dict[str, Any]:
    """Its configuration, with RLinf's rule for flags of both sides by name (H13)."""
    cfg: dict[str, Any] = decode(case.setup["config"], case.tensors)
    cfg["algorithm"]["intervene_flags"] = "policy_overwrites"
    return cfg


def emitted(made: TrajectoryCollector, part: Any) -> list[list[Any]]:
    return [list(pair) for pair in made.collect(part, None)]


def check(case: Case, cfg: dict[str, Any] | None = None) -> TrajectoryError | None:
    """Hold ours against a recorded run; what ours refused first, if anything.

    Every event gives what was recorded, or is refused as it was. Ours may refuse
    earlier what fails later in RLinf, and with another type where that was an accident.
    """
    story = Story(case)
    differences = story.differences()
    made, refused = tried(lambda: collector(case, cfg))
    if refused is not None:
        assert UNEVEN in differences or raises(case), refused
        return refused
    assert made is not None
    assert UNEVEN not in differences, "it was not refused"
    first: TrajectoryError | None = None
    found: list[list[Any]] = []
    for at, event in enumerate(case.events):
        where = f"event {at}"
        part = decode(event["in"], case.tensors)
        pairs, error = tried(functools.partial(emitted, made, part))
        if error is not None:
            check_refusal(error)
            first = first or error
            if not check_refused_event(story, at, error):
                assert SOME in differences or later_raises(case, at), repr(error)
                return first  # of what comes after it, RLinf tells nothing
            continue
        assert pairs is not None
        found += pairs
        if "raises" in event:
            # H2: what failed once can't be tried again in RLinf.
            assert first is not None, f"{where}: it was not refused"
        elif at in story.again:
            assert pairs == [], where
        elif LATE in differences:  # episodes of a later step also wait for earlier ones
            held = story.mode == "lerobot"
            assert held or len(pairs) == len(event["expect"]), where
        elif first is not None and story.shuffles:
            # H2: in RLinf a flush that fails has moved the permutations on.
            assert len(pairs) == len(event["expect"]), where
        else:
            assert_same(event["expect"], pairs, case.tensors, where)
    assert SOME not in differences or first is not None, "it was not refused"
    if LATE in differences:
        check_in_order(case, cfg, found, story)
    return first


def tried(make: Callable[[], T]) -> tuple[T | None, TrajectoryError | None]:
    """What comes of a call, or what it is refused with."""
    try:
        return make(), None
    except TrajectoryError as error:
        return None, error


def check_refused_event(story: Story, at: int, error: TrajectoryError) -> bool:
    """Whether the event was to be refused; then as it was in RLinf."""
    recorded = story.case.events[at].get("raises")
    if recorded is not None:
        accident = recorded in ACCIDENTS
        assert accident or isinstance(error, getattr(builtins, recorded)), repr(error)
        return True
    if at in story.again:
        assert "duplicate" in str(error)
        return True
    return False


def later_raises(case: Case, at: int) -> bool:
    """Whether a later event fails in RLinf."""
    return any("raises" in event for event in case.events[at:])


def check_refusal(error: TrajectoryError) -> None:
    """It says in a line what was wrong and what to do."""
    assert "\n" not in str(error)
    assert len(str(error)) > 40
    assert ":" in str(error)


def check_in_order(
    case: Case, cfg: dict[str, Any] | None, found: list[list[Any]], story: Story
) -> None:
    """What came out is what comes out of the same parts sent in order."""
    made = collector(case, cfg)
    parts = [decode(event["in"], case.tensors) for event in case.events]
    ends = {story.scope(key): at for at, key in enumerate(story.stored)}
    parts.sort(key=lambda part: story.order(ends, part.sources[0].key))
    wanted = [pair for part in parts for pair in emitted(made, part)]
    assert found
    if story.mode == "lerobot":  # those of several sources come in another order
        assert sorted(map(repr, found)) == sorted(map(repr, wanted))
    else:
        assert same_items(found, wanted)
    if story.mode == "rollout":
        check_rows(case, found, story)


def same_items(found: Any, wanted: Any) -> bool:
    """Whether two lists of emitted items hold the same."""
    if isinstance(found, torch.Tensor):
        return isinstance(wanted, torch.Tensor) and found.equal(wanted)
    if isinstance(found, list):
        return len(found) == len(wanted) and all(map(same_items, found, wanted))
    if isinstance(found, dict):
        return found.keys() == wanted.keys() and all(
            same_items(found[name], wanted[name]) for name in found
        )
    if hasattr(found, "actions"):
        return same_items(tensors_of(found), tensors_of(wanted))
    return repr(found) == repr(wanted)


def tensors_of(trajectory: Any) -> dict[str, Any]:
    return {
        name: value
        for name, value in vars(trajectory).items()
        if isinstance(value, torch.Tensor | dict)
    }


def check_rows(case: Case, found: list[list[Any]], story: Story) -> None:
    """Each row is the recorded one of its chunk, at its own place."""
    recorded = [pair for event in case.events for pair in event.get("expect", [])]
    scopes: dict[Any, list[Key]] = {}
    for key in story.stored:
        scopes.setdefault(story.scope(key), []).append(key)
    done = [keys for keys in scopes.values() if len(keys) == story.expected]
    done.sort(key=lambda keys: story.stored.index(keys[-1]))
    assert len(found) % len(done) == 0
    shards = len(found) // len(done)
    for at, (pair, told) in enumerate(zip(found, recorded, strict=True)):
        keys = done[at // shards]
        order = [keys.index(key) for key in sorted(keys)]
        for name in ("actions", "prev_logprobs", "versions"):
            if name in told[1]:
                rows = case.tensors[told[1][name]["$t"]][order]
                assert getattr(pair[1], name).equal(rows), name


def raises(case: Case) -> str | None:
    """The first error that was recorded."""
    return next((e["raises"] for e in case.events if "raises" in e), None)

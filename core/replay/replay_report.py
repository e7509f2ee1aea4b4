"""Makes the report of a re-simulation from what was seen on the way."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from isoscope.core.replay.divergence import place
from isoscope.core.replay.forms import (
    ConfigurationDifference,
    Divergence,
    FieldMaximum,
    PairOfEnvironments,
)
from isoscope.core.replay.replay_claims import replay_claims
from isoscope.core.replay.replay_forms import Growth, Replay
from isoscope.core.summary import counted

if TYPE_CHECKING:
    from isoscope.core.isolation.context import Examined
    from isoscope.core.replay.driver import Driven
    from isoscope.core.replay.replay_forms import Mode, RestoreTwice
    from isoscope.core.replay.stepwise import EnvSeen, FieldSeen, First, Stepwise
    from isoscope.core.replay.tape import Tape


@dataclass(slots=True)
class Outcome:
    """What was seen, scene by scene."""

    examined: Examined
    mode: Mode
    tolerances: dict[str, float]
    relative: float
    engine: str = ""
    absent: list[int] = field(default_factory=list)
    envs: list[EnvSeen] = field(default_factory=list)
    drives: list[tuple[Tape, Driven]] = field(default_factory=list)
    twice: list[RestoreTwice] = field(default_factory=list)
    unchecked: list[str] = field(default_factory=list)
    doubts: list[str] = field(default_factory=list)

    @property
    def stopped(self) -> bool:
        """Whether an engine ended early."""
        return any(driven.stopped for _, driven in self.drives)

    def take(self, tape: Tape, seen: Stepwise, driven: Driven) -> None:
        """Take what one engine's run gave."""
        self.envs += seen.envs.values()
        self.drives.append((tape, driven))


def report(outcome: Outcome) -> Replay:
    """Judge it."""
    envs = sorted(outcome.envs, key=lambda one: one.env)
    drives = [driven for _, driven in outcome.drives]
    unchecked = [*outcome.unchecked, *_unchecked(outcome)]
    changed = {k: v for d in drives for k, v in d.configuration.items()}
    pairs = [_pair(outcome, one) for one in envs]
    diverging = [e for e in envs if e.first is not None]
    first = min(diverging, key=_row, default=None)
    divergence = next(
        (p.first_divergence for p in pairs if first and p.env_a == first.env), None
    )
    stopped = next((d.stopped for d in drives if d.stopped), None)
    equal = sum(one.states_equal for one in envs)
    return Replay(
        a=outcome.examined.file,
        b=outcome.engine or "no engine",
        engine=outcome.engine or None,
        claims=replay_claims(
            envs, drives, _allowed(outcome), unchecked, outcome.doubts
        ),
        first_divergence=divergence,
        judged_by="tolerance" if outcome.tolerances else "bits",
        tolerance=outcome.relative,
        max_difference=_maxima(outcome, envs),
        configuration_differences=[
            ConfigurationDifference(key=key, a=recorded, b=here)
            for key, (recorded, here) in sorted(changed.items())
        ],
        snapshots_used=[str(n) for d in drives for n in d.snapshots],
        compared_steps=sum(one.compared for one in envs),
        not_checkable=unchecked,
        pairs=pairs,
        notes=_notes(outcome, envs),
        mode=outcome.mode,
        tolerances=outcome.tolerances,
        growth=[
            Growth(native=row, size=size)
            for row, size in (first.growth if first is not None else ())
        ],
        states_compared=equal + sum(one.states_other for one in envs),
        states_equal=equal,
        twice=outcome.twice,
        stopped=stopped,
    )


def _row(env: EnvSeen) -> int:
    assert env.first is not None
    return env.first.row


def _allowed(outcome: Outcome) -> str:
    own = [f"{value:g} in {name}" for name, value in outcome.tolerances.items()]
    other = f"{outcome.relative:g} times (1 + the larger value)"
    return ", ".join([*own, f"{other} elsewhere" if own else other])


def _pair(outcome: Outcome, seen: EnvSeen) -> PairOfEnvironments:
    first = None if seen.first is None else _divergence(outcome, seen, seen.first)
    return PairOfEnvironments(
        env_a=seen.env,
        env_b=seen.env,
        how="number",
        compared_steps=seen.compared,
        first_divergence=first,
    )


def _divergence(outcome: Outcome, seen: EnvSeen, first: First) -> Divergence:
    one = first.field
    unit = f" {one.unit}" if one.unit else ""
    off = (
        f"is off by {first.size:.3g}{unit}"
        if np.isfinite(first.size)
        else "is finite in one only"
    )
    alike = "similar" if outcome.tolerances else "equal"
    why = f"{one.full_name} {off} after "
    why += counted(first.equal_steps, f"{alike} native step")
    why += "".join(f"; {reason}" for reason in _reasons(outcome, seen.env, first.row))
    at = place(outcome.examined, first.row)
    return Divergence(
        env=seen.env,
        episode=at.episode,
        control_step=at.control_step,
        substep=at.substep,
        native=first.row,
        actor=one.actor,
        field=one.name,
        size=first.size,
        unit=one.unit,
        value_a=first.recorded,
        value_b=first.here,
        in_b=None,
        equal_steps=first.equal_steps,
        why=why,
    )


def _reasons(outcome: Outcome, env: int, row: int) -> list[str]:
    """What the recording itself shows at such a step."""
    found = []
    labels = outcome.examined.attribution.labels
    own = np.flatnonzero(labels.env == env)
    before = own[own < row]
    since = int(before[-1]) if len(before) else -1
    for missed in outcome.examined.attribution.missed_restores:
        first, last = missed.tainted
        if missed.place.env == env and first <= row <= last:
            whose = missed.victim.env
            other = f"env {whose}'s" if whose >= 0 else "another environment's"
            found.append(f"the recording goes on from {other} state")
    for tape, driven in outcome.drives:
        if any(since < at <= row for at in driven.moved if env in tape.envs):
            found.append("somebody set the state before it, in the recording")
        if env in tape.envs and driven.configuration:
            keys = ", ".join(sorted(driven.configuration))
            found.append(f"not the same in both: {keys}")
            break
    if outcome.mode == "alone" and since >= 0:
        others = np.unique(labels.env[since + 1 : row])
        names = [f"env {e}" for e in others.tolist() if e >= 0 and e != env]
        if names:
            found.append(f"since its last step stepped {', '.join(names)}")
    return list(dict.fromkeys(found))


def _maxima(outcome: Outcome, envs: list[EnvSeen]) -> list[FieldMaximum]:
    by_field: dict[str, list[FieldSeen]] = {}
    for env in envs:
        for one in env.fields:
            by_field.setdefault(one.field.full_name, []).append(one)
    found = []
    for several in by_field.values():
        worst = max(several, key=lambda one: one.largest)
        found.append(
            FieldMaximum(
                actor=worst.field.actor,
                field=worst.field.name,
                value=worst.largest,
                unit=worst.field.unit,
                at=place(outcome.examined, worst.at) if worst.at >= 0 else None,
                differing_steps=sum(one.differing for one in several),
                compared_steps=sum(one.compared for one in several),
            )
        )
    return sorted(found, key=lambda one: -one.value)


def _unchecked(outcome: Outcome) -> list[str]:
    found = [f"env {env} has no snapshot to begin from" for env in outcome.absent]
    unknown: dict[int, int] = {}
    for _, driven in outcome.drives:
        for env, count in driven.unknown.items():
            unknown[env] = unknown.get(env, 0) + count
        if driven.stopped:
            found.append(f"it stopped early: {driven.stopped}")
    found += [
        f"the state of env {env} is not known in {counted(count, 'native step')}: no "
        "snapshot was taken before them"
        for env, count in sorted(unknown.items())
    ]
    return found


def _notes(outcome: Outcome, envs: list[EnvSeen]) -> list[str]:
    found = []
    if outcome.mode != "pinned":
        found.append("an episode begins from the snapshot after its reset")
    else:
        found.append("the state goes back to the recorded one at every snapshot")
    for env in envs:
        if env.states_other:
            found.append(
                f"env {env.env}: the whole state is another one at "
                f"{counted(env.states_other, 'place')} where it was compared, first "
                f"after native step {env.first_other_state}"
            )
        for one in env.fields:
            if one.both_nan and one.field.kind != "target":
                found.append(
                    f"env {env.env}: {one.field.full_name} is NaN in both in "
                    f"{counted(one.both_nan, 'step')}"
                )
    moved = sum(len(driven.moved) for _, driven in outcome.drives)
    if moved:
        found.append(
            f"the state was set by hand {counted(moved, 'time')} outside of resets; "
            "the recording holds no values of that, so it was not done again"
        )
    return found

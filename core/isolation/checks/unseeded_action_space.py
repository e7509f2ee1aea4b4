"""An action space that is sampled from and was never seeded."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from isoscope.core.isolation.control_steps import ControlSteps
from isoscope.core.isolation.findings import Finding
from isoscope.core.isolation.registry import CannotRunError
from isoscope.core.isolation.seeding import seeded
from isoscope.core.isolation.words import env_named, place_text

if TYPE_CHECKING:
    from collections.abc import Iterator

    from isoscope.core.isolation.context import Context
    from isoscope.core.isolation.findings import Severity
    from isoscope.core.isolation.labelled_context import LabelledContext

ID = "unseeded-action-space"
SEVERITY: Severity = "warning"
ABOUT = "action spaces that were sampled from without a seed of their own"
NEEDS = (
    "digests of the action spaces' generators, and their states at resets or their "
    "seeds (`action_space_seeds` in the identity's `extra`); or `stored/action_seeded`"
)
STORED = "action_seeded"  # by whoever draws actions from spaces of its own
SPACE = "action_space"  # among a reset's generators
SMALL_SEEDS = 4096  # which people take
GUESSED = 0.7  # confidence without being told: a seed may be any number


def run(context: Context) -> Iterator[Finding]:
    """Yield one finding an environment."""
    window = context.tells(NEEDS)
    table = window.transitions
    kept = _consumers(window)
    for env, first in kept.items():
        if first is not None:
            yield _finding(window, env, (first,), 1.0)
    told = _told(window)
    own = [env for env in table.environments if env not in kept]
    sampled = {env: at for env in own if (at := _sampled(window, env))}
    if own and not table.action_rng.any() and told is None:
        # A generator is made when it is first asked for: here none ever was.
        if any(window.resets.rng(i) is not None for i in range(len(window.resets))):
            return
        raise CannotRunError("no generator of an action space is recorded", NEEDS)
    candidates: set[str] | None = None
    for env, at in sampled.items():
        if told is not None and env in told:
            if told[env] is None:
                yield _finding(window, env, at, 1.0)
            continue
        streams = _streams(window, env)
        if not streams:
            raise CannotRunError("the generators' states aren't told at resets", NEEDS)
        if candidates is None:
            candidates = _known_streams(window)
        if not streams & candidates and _made_by_sampling(window, env, at):
            yield _finding(window, env, at, GUESSED)


def _consumers(window: LabelledContext) -> dict[int, int | None]:
    """By environment whose consumer says it, the first action from no seeded space."""
    steps = ControlSteps.of(window)
    seeded_ = steps.stored.get(STORED)
    if seeded_ is None:
        return {}
    found: dict[int, int | None] = {}
    for env in steps.table.environments:
        own = steps.table.of(env)
        own = own[seeded_.there[own]]
        if len(own):
            none = own[seeded_.values[own, 0] == 0]
            found[env] = int(none[0]) if len(none) else None
    return found


def _told(window: LabelledContext) -> dict[int, Any] | None:
    """Seeds of the action spaces by environment, as the identity says them."""
    found = window.identity.extra.get("action_space_seeds")
    if isinstance(found, list):
        return dict(enumerate(found))
    if isinstance(found, dict):
        return {int(env): seed for env, seed in found.items() if str(env).isdigit()}
    return None


def _sampled(window: LabelledContext, env: int) -> tuple[int, ...]:
    """The first transition at which the generator had moved; empty if it never did."""
    own = window.transitions.of(env)
    key = window.transitions.action_rng[own]
    moved = np.flatnonzero((key[1:] != key[:-1]) & (key[1:] != 0)) + 1
    return (int(own[moved[0]]),) if len(moved) else ()


def _made_by_sampling(window: LabelledContext, env: int, at: tuple[int, ...]) -> bool:
    """Whether there was no generator before it was first sampled from."""
    own = window.transitions.of(env)
    before = own[own < at[0]]
    return bool((window.transitions.action_rng[before] == 0).all())


def _streams(window: LabelledContext, env: int) -> set[str]:
    """Which streams the action space had at resets: the increments of PCG64."""
    found = set()
    for i in window.resets.of(env).tolist():
        states = window.resets.rng(i)
        state = states.get(SPACE) if isinstance(states, dict) else None
        increment = increment_of(state)
        if increment is not None:
            found.add(increment)
    return found


def increment_of(state: Any) -> str | None:
    """The increment in a PCG64's state as NumPy gives it: equal for one stream."""
    inner = state.get("state") if isinstance(state, dict) else None
    if isinstance(inner, dict) and inner.get("inc") is not None:
        return str(inner["inc"])
    return None


def _known_streams(window: LabelledContext) -> set[str]:
    """The streams of small seeds, and of those that the run gives environments.

    Gymnasium seeds a space by ``PCG64(SeedSequence(seed))``.
    """
    seeds = {one.seed for one in seeded(window)}
    seeds |= set(range(SMALL_SEEDS))
    found = set()
    for seed in seeds:
        if isinstance(seed, int) and seed >= 0:
            found.add(stream_of(seed))
    return found


def stream_of(seed: int) -> str:
    """What `increment_of` gives for a generator that Gymnasium seeds with it."""
    state: Any = np.random.PCG64(np.random.SeedSequence(seed)).state
    return str(state["state"]["inc"])


def _finding(
    window: LabelledContext, env: int, at: tuple[int, ...], confidence: float
) -> Finding:
    table, t = window.transitions, at[0]
    episode, k = (
        int(column[t]) if column[t] >= 0 else None
        for column in (table.episode, table.control_step)
    )
    row = int(table.first_row[t])
    place = place_text(episode, k) or f"transition {t}"
    headline = f"the action space of {env_named(env)} was never seeded"
    return Finding(
        id=ID,
        severity=SEVERITY,
        env=env,
        episode=episode,
        control_step=k,
        native=(row, row) if row >= 0 else None,
        field="action_space",
        confidence=confidence,
        headline=headline,
        message=(
            f"{headline}, and is sampled from, first at {place}: these actions can't "
            "be had again"
        ),
        remedy=(
            "Call env.action_space.seed(seed) once: env.reset(seed=…) doesn't seed it."
        ),
        evidence={"told": confidence == 1.0},
        transition=t,
    )

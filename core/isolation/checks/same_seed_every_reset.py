"""An environment that is given the same seed at every reset."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING

from isoscope.core.isolation.findings import Finding
from isoscope.core.isolation.registry import CannotRunError
from isoscope.core.isolation.seeding import NEEDS, Seeded, alike, seeded
from isoscope.core.isolation.words import env_named
from isoscope.core.summary import counted

if TYPE_CHECKING:
    from collections.abc import Iterator

    from isoscope.core.isolation.context import Context
    from isoscope.core.isolation.findings import Severity

ID = "same-seed-every-reset"
SEVERITY: Severity = "warning"
ABOUT = "environments whose episodes all draw the same numbers"


def run(context: Context) -> Iterator[Finding]:
    """Yield one finding an environment."""
    window = context.tells(NEEDS)
    if len(window.environments) and not len(window.resets):
        raise CannotRunError("no reset is recorded", NEEDS)
    by_env: dict[int, list[Seeded]] = {}
    for one in seeded(window):
        by_env.setdefault(one.env, []).append(one)
    for one, again in alike(window):
        if one.env == again.env and _again(by_env.get(one.env, [])) is None:
            by_env[one.env] = [one, again]
    for env, given in sorted(by_env.items()):
        repeated = _again(given)
        if repeated is not None:
            yield _finding(env, given, repeated)


def _again(given: list[Seeded]) -> Seeded | None:
    """The first reset that got the seed of the one before; None where none did."""
    for one, after in pairwise(given):
        if one.seed == after.seed and one.episode != after.episode:
            return after
    return None


def _finding(env: int, given: list[Seeded], again: Seeded) -> Finding:
    count = sum(one.seed == again.seed for one in given)
    episode = again.episode if again.episode >= 0 else None
    seed = "its generator begins anew" if again.seed is None else again.seed
    headline = f"{env_named(env)} is reset with the same seed again and again"
    return Finding(
        id=ID,
        severity=SEVERITY,
        env=env,
        episode=episode,
        control_step=0,
        native=(again.row, again.row) if again.row >= 0 else None,
        field="seed",
        value=again.seed,
        headline=headline,
        message=(
            f"{headline}: {seed}, at {counted(count, 'reset')}, again first at that of "
            f"episode {again.episode}; its episodes draw the same numbers"
        ),
        remedy=(
            "Give a seed at the first reset only. For evaluation on fixed starts it is "
            "right; then don't train on them."
        ),
        evidence={"resets": count, "seeded": len(given)},
        transition=again.transition if again.transition >= 0 else None,
    )

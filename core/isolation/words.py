"""How findings name environments, vectors and ranges, so that all say it alike."""

from __future__ import annotations

from typing import TYPE_CHECKING

from isoscope.core.summary import listed

if TYPE_CHECKING:
    from collections.abc import Sequence

NAMED_AT_MOST = 8


def env_named(env: int | None) -> str:
    """``"env 3"``, or words for one that is unknown."""
    return "an unknown environment" if env is None or env < 0 else f"env {env}"


def envs_named(envs: Sequence[int]) -> str:
    """``"env 3"``, ``"envs 0, 1 and 2"``, ``"envs 0, 1, …, 7 and 56 more"``."""
    if len(envs) == 1:
        return f"env {envs[0]}"
    names = [str(env) for env in envs[:NAMED_AT_MOST]]
    more = len(envs) - len(names)
    return f"envs {listed([*names, f'{more} more'] if more else names)}"


def vector(values: Sequence[float]) -> str:
    """``"(0, -9.8, 0)"``."""
    return "(" + ", ".join(f"{value:.6g}" for value in values) + ")"


def natives(first: int, last: int) -> str:
    """``"native step 8"`` or ``"native steps 8 to 11"``."""
    return (
        f"native step {first}" if first == last else f"native steps {first} to {last}"
    )


def place_text(episode: int | None, control_step: int | None) -> str:
    """``"episode 2, control step 4"``; empty where the episode is unknown."""
    if episode is None:
        return ""
    if control_step is None:
        return f"episode {episode}"
    if control_step == 0:
        return f"the reset of episode {episode}"
    return f"episode {episode}, control step {control_step}"

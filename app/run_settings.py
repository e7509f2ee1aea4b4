"""What `isoscope record` is asked for; imports nothing heavy."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path

RANDOM, ZERO = "random", "zero"


class Vector(StrEnum):
    """How environments are put together."""

    NONE = "none"
    SYNC = "sync"
    ASYNC = "async"
    HYBRID = "hybrid"


@dataclass(frozen=True)
class RunSettings:
    """What to run.

    Attributes
    ----------
    env, module
        A Gymnasium id, or ``FILE:FACTORY``; one of them.
    steps
        Control steps of every environment.
    policy
        ``random``, ``zero``, ``FILE:FUNCTION``, called with the observations, or a
        checkpoint's file.
    policy_parts
        Of a checkpoint, the parts to restore; None for all.
    """

    out: Path
    env: str | None = None
    module: str | None = None
    envs: int = 1
    steps: int = 256
    vector: Vector = Vector.SYNC
    policy: str = RANDOM
    policy_parts: list[str] | None = None
    seed: int = 0
    snapshots_every: int = 50
    overwrite: bool = False

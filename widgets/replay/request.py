"""What is asked of a re-simulation, and the command line that does the same. No Qt."""

from __future__ import annotations

import shlex
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal, TypeAlias

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

Way: TypeAlias = Literal["actions", "alone", "pinned", "twice"]
# "" is the recorded one; "model" stands in, by the command line only.
EngineName: TypeAlias = Literal["", "builtin", "superdex", "model"]

# By the key: what it is called, what is done, and what it shows.
WAYS: dict[Way, tuple[str, str]] = {
    "actions": (
        "As recorded",
        "All environments in the recorded order, from one snapshot on: is the run the "
        "same once more?",
    ),
    "alone": (
        "Alone",
        "Each environment with its own steps only: where together departs from alone, "
        "another one reached it.",
    ),
    "pinned": (
        "Pinned",
        "The state goes back to the recorded one at every snapshot: a divergence "
        "doesn't go on into the next.",
    ),
    "twice": (
        "Twice",
        "Each environment's snapshot is restored twice, with other steps between: what "
        "follows has to be the same.",
    ),
}


@dataclass(frozen=True, slots=True)
class Request:
    """What is asked for.

    Attributes
    ----------
    way
        How it is stepped.
    env
        The environment that is compared; None for all.
    start
        The native row to begin at; None for the beginning.
    steps
        Control steps of each environment; None for all.
    tolerances
        By field's name, in its unit; without any, every bit counts.
    engine
        What steps it; empty for the one that it was recorded with.
    module
        ``FILE:FACTORY`` of the user's own scene, for engines that need it; the model,
        where one stands in.
    """

    way: Way = "actions"
    env: int | None = None
    start: int | None = None
    steps: int | None = None
    tolerances: Mapping[str, float] = field(default_factory=dict)
    engine: EngineName = ""
    module: str = ""

    @property
    def name(self) -> str:
        """What to call what comes out."""
        return {
            "actions": "stepped again",
            "alone": "stepped alone",
            "pinned": "stepped again, pinned",
            "twice": "stepped again, twice",
        }[self.way]


def command(request: Request, path: Path) -> str:
    """The command line that does the same."""
    parts = ["isoscope", "replay", str(path)]
    by_model = request.engine == "model"
    # A model predicts each step from the recorded state; there is nobody to be alone.
    if request.way != "actions" and (not by_model or request.way == "pinned"):
        parts.append(f"--{request.way}")
    if request.start is not None:
        parts += ["--from", f"native:{request.start}"]
    for option, value in (("--env", request.env), ("--steps", request.steps)):
        if value is not None:
            parts += [option, str(value)]
    if by_model:
        parts += ["--model", request.module or "MODEL"]
    else:
        parts += ["--engine", request.engine] if request.engine else []
        parts += ["--module", request.module] if request.module else []
    for name, allowed in request.tolerances.items():
        parts += ["--tolerance", f"{name}={allowed:g}"]
    return shlex.join(parts)

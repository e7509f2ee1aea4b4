"""What is asked of a re-simulation, and the command line that does the same. No Qt."""

from __future__ import annotations

import shlex
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Literal, TypeAlias

if TYPE_CHECKING:
    from collections.abc import Mapping

Way: TypeAlias = Literal["actions", "alone", "pinned", "twice"]
# "" is the recorded one; "model" stands in, in the built-in simulator.
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


USUAL_INTEGRATOR = "backward_euler"
INTEGRATORS: dict[str, str] = {
    USUAL_INTEGRATOR: "backward Euler",
    "semi_implicit": "semi-implicit",
}


@dataclass(frozen=True, slots=True)
class ModelChoice:
    """What stands in for the engine.

    Attributes
    ----------
    model
        A file, JSON or MJCF, or the name of one that ships; empty where none is chosen.
    transitions
        A file with the actions of a bare recording; empty for what is recorded.
    integrator
        One of `INTEGRATORS`.
    """

    model: str = ""
    transitions: str = ""
    integrator: str = USUAL_INTEGRATOR

    @property
    def name(self) -> str:
        """What to call it."""
        return Path(self.model).stem


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
        ``FILE:FACTORY`` of the user's own scene, for engines that need it.
    model
        What stands in, where the engine is ``"model"``.
    """

    way: Way = "actions"
    env: int | None = None
    start: int | None = None
    steps: int | None = None
    tolerances: Mapping[str, float] = field(default_factory=dict)
    engine: EngineName = ""
    module: str = ""
    model: ModelChoice = ModelChoice()

    @property
    def by_model(self) -> bool:
        """Whether a model stands in for the engine."""
        return self.engine == "model"

    @property
    def name(self) -> str:
        """What to call what comes out."""
        if self.by_model:
            return f"predicted by {self.model.name}"
        return {
            "actions": "stepped again",
            "alone": "stepped alone",
            "pinned": "stepped again, pinned",
            "twice": "stepped again, twice",
        }[self.way]


def command(request: Request, path: Path) -> str:
    """The command line that does the same."""
    parts = ["isoscope", "replay", str(path)]
    by_model = request.by_model
    # A model predicts each step from the recorded state; there is nobody to be alone.
    if request.way != "actions" and (not by_model or request.way == "pinned"):
        parts.append(f"--{request.way}")
    if request.start is not None:
        parts += ["--from", f"native:{request.start}"]
    for option, value in (("--env", request.env), ("--steps", request.steps)):
        if value is not None:
            parts += [option, str(value)]
    if by_model:
        chosen = request.model
        parts += ["--model", chosen.model or "MODEL"]
        parts += ["--transitions", chosen.transitions] if chosen.transitions else []
        if chosen.integrator != USUAL_INTEGRATOR:
            parts += ["--integrator", chosen.integrator]
    else:
        parts += ["--engine", request.engine] if request.engine else []
        parts += ["--module", request.module] if request.module else []
    for name, allowed in request.tolerances.items():
        parts += ["--tolerance", f"{name}={allowed:g}"]
    return shlex.join(parts)

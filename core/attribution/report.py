"""The written form of an attribution: ``isoscope.attribute/1``.

Unknown is null, never a made-up value. `kind` is null where not even that is known.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec
import numpy as np

from isoscope.core.attribution.result import Reason
from isoscope.core.recording.model import StepKind

if TYPE_CHECKING:
    from isoscope.core.attribution.result import Attribution, Place
    from isoscope.core.recording.model import Recording
    from isoscope.core.recording.tracks import Array

KINDS = {
    StepKind.SUBSTEP: "substep",
    StepKind.RESET: "reset",
    StepKind.FREE: "free",
    StepKind.ZERO: "zero",
}


class AttributedStep(msgspec.Struct):
    """One native step.

    Attributes
    ----------
    native
        Its number, from 0.
    env, substep
        From 0.
    episode, control_step
        From 1; a reset's own step is control step 0.
    kind
        ``"substep"``, ``"reset"``, ``"free"`` (of no control step: somebody stepped the
        scene itself) or ``"zero"`` (of no duration).
    linked
        Whether the environment's number is proven across the reset.
    residual
        Metres from its start to the end of the step that it continues.
    margin
        Metres to the second best candidate.
    confidence
        0 to 1.
    reason
        Why something about it is unknown.
    """

    native: int
    env: int | None
    episode: int | None
    control_step: int | None
    substep: int | None
    kind: str | None
    linked: bool
    residual: float | None
    margin: float | None
    confidence: float
    reason: str | None


class StatePlace(msgspec.Struct):
    """Where an environment was."""

    env: int | None
    episode: int | None
    control_step: int | None


class MissedRestoreSeen(msgspec.Struct):
    """An environment that went on from somebody else's state; see `MissedRestore`."""

    native: int
    env: int | None
    episode: int | None
    control_step: int | None
    victim: StatePlace
    victim_native: int
    tainted: tuple[int, int]
    kind: str
    linked: bool
    confidence: float


class RewindStep(msgspec.Struct):
    """An earlier state restored on purpose; `to_native` is null before the first."""

    native: int
    env: int | None
    left_native: int
    to_native: int | None


class BodyStart(msgspec.Struct):
    """A body that did not always begin where the step before had left it."""

    actor: str
    steps: int
    reason: str = "callback_moved"


class AttributeResult(msgspec.Struct, kw_only=True):
    """What ``isoscope attribute --json`` prints.

    Attributes
    ----------
    unknown
        Steps of which the environment, or what its control steps are counted by, is
        unknown.
    reasons
        Steps by reason; one whose environment is known may have a reason, too.
    substeps
        M, or null where undecidable; `substeps_how` says how it is known.
    order
        In which order the environments take turns, where that could be seen.
    bodies
        Bodies whose start is unknown in some steps.
    notes
        What contradicts or should be known.
    """

    schema: str = "isoscope.attribute/1"
    file: str
    environments: int
    episodes: int
    substeps: int | None
    origin: str
    unknown: int
    reasons: dict[str, int]
    max_residual: float | None
    min_margin: float | None
    steps: list[AttributedStep]
    substeps_how: str = ""
    order: str | None = None
    missed_restores: list[MissedRestoreSeen] = []
    rewinds: list[RewindStep] = []
    bodies: list[BodyStart] = []
    notes: list[str] = []


def report(recording: Recording, found: Attribution) -> AttributeResult:
    """Write an attribution down, step by step."""
    return AttributeResult(
        file=recording.name if recording.path is None else str(recording.path),
        environments=found.environments,
        episodes=found.episodes,
        substeps=found.substeps,
        origin=found.origin,
        unknown=int(np.count_nonzero(found.unknown)),
        reasons=reasons(found),
        max_residual=_finite(found.residual_m, largest=True),
        min_margin=_finite(found.margin_m, largest=False),
        steps=_steps(found),
        substeps_how=found.substeps_how,
        order=found.order,
        missed_restores=[
            MissedRestoreSeen(
                m.native,
                *_known(m.place),
                victim=StatePlace(*_known(m.victim)),
                victim_native=m.victim_native,
                tainted=m.tainted,
                kind=m.kind,
                linked=m.linked,
                confidence=m.confidence,
            )
            for m in found.missed_restores
        ],
        rewinds=[
            RewindStep(
                r.native,
                r.env if r.env >= 0 else None,
                r.left_native,
                r.to_native if r.to_native >= 0 else None,
            )
            for r in found.rewinds
        ],
        bodies=[
            BodyStart(recording.actors[index].name, steps)
            for index, steps in sorted(found.displaced_actors.items())
        ],
        notes=found.notes,
    )


def reasons(found: Attribution) -> dict[str, int]:
    """How many steps there are by reason."""
    values, counts = np.unique(found.reason, return_counts=True)
    return {
        Reason(value).key: int(count)
        for value, count in zip(values.tolist(), counts.tolist(), strict=True)
        if value != Reason.NONE
    }


def _known(place: Place) -> tuple[int | None, int | None, int | None]:
    env, episode, control = place.env, place.episode, place.control_step
    return (
        env if env >= 0 else None,
        episode if episode >= 0 else None,
        control if control >= 0 else None,
    )


def _finite(values: Array, *, largest: bool) -> float | None:
    known = values[np.isfinite(values)]
    if not len(known):
        return None
    return float(known.max() if largest else known.min())


def _steps(found: Attribution) -> list[AttributedStep]:
    labels = found.labels
    whole = (labels.env, labels.episode, labels.control_step, labels.substep)
    columns = [[v if v >= 0 else None for v in c.tolist()] for c in whole]
    kinds = [KINDS.get(StepKind(k)) for k in labels.kind.tolist()]
    why = [Reason(r).key if r else None for r in found.reason.tolist()]
    distances = [_or_null(c) for c in (found.residual_m, found.margin_m)]
    linked, confidence = found.linked.tolist(), found.confidence.tolist()
    rows = zip(*columns, kinds, linked, *distances, confidence, why, strict=True)
    return [AttributedStep(native, *row) for native, row in enumerate(rows)]


def _or_null(values: Array) -> list[float | None]:
    return [v if v == v else None for v in values.tolist()]

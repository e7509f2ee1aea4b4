"""Steps a recording by a model that stands in, and says how far off it is."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from isoscope.core.replay.compare import TOLERANCE
from isoscope.core.replay.differences import sizes
from isoscope.core.replay.divergence import place
from isoscope.core.replay.engine import ReplayError
from isoscope.core.replay.forms import (
    Claim,
    Claims,
    ConfigurationDifference,
    Divergence,
    FieldMaximum,
)
from isoscope.core.replay.stand_in.fitting import fit
from isoscope.core.replay.stand_in.forms import Drift, FieldResidual, StandIn
from isoscope.core.replay.stand_in.inputs import driving
from isoscope.core.replay.stand_in.keeping import keep
from isoscope.core.replay.stand_in.predicting import Predictor
from isoscope.core.summary import counted

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from pathlib import Path

    from isoscope.core.isolation.context import Examined
    from isoscope.core.recording.tracks import Array
    from isoscope.core.replay.stand_in.fitting import FieldPair
    from isoscope.core.replay.stand_in.predicting import Compared, Predicted, SceneOf
    from isoscope.core.replay.states import Keeper

ANOTHER_ENGINE = "a model stands in for the engine; equality of bits isn't looked at"
DRIFTS_KEPT = 200
FIELDS_TOLD = 6  # by name in a claim; the others are in the table


@dataclass(frozen=True, slots=True)
class StandInOptions:
    """What is predicted.

    Attributes
    ----------
    model, integrator
        For people.
    transitions
        A file that has the actions of a bare recording.
    start, env, steps
        See `isoscope.core.replay.again.ReplayOptions`.
    tolerances
        By field's name, in its unit, of one step; others may be off by 0.001 times
        (1 + the larger value).
    free
        Whether episodes are run freely, too.
    """

    model: str
    integrator: str
    transitions: Path | None = None
    start: int | None = None
    env: int | None = None
    steps: int | None = None
    tolerances: Mapping[str, float] = field(default_factory=dict)
    free: bool = True


def stand_in(
    examined: Examined,
    make: SceneOf,
    options: StandInOptions,
    progress: Callable[[int, int], None] | None = None,
    keeper: Keeper | None = None,
) -> StandIn:
    """Predict a recording's steps by a model.

    Parameters
    ----------
    examined
        Any recording, with whose its steps were.
    make
        Makes scenes of the model.
    progress
        Called with steps done and all; what it raises stops it.
    keeper
        Takes the state that each native step was predicted to end in.

    Raises
    ------
    IsoscopeError
        If the model can't express the recording, its drives don't fit the actions, or
        there is no step that can be predicted; with the reason.
    """
    doing = f"stepping {examined.file} again by {options.model}"
    scene = make(1)
    try:
        fitted = fit(examined, scene, options.model)
        driven = driving(examined, scene, options.model, options.transitions)
        gravity = np.asarray(scene.persistent_configuration().get("gravity", np.nan))
        precision = scene.precision
    finally:
        scene.close()
    if not examined.environments():
        raise ReplayError(f"{doing}: whose its steps were isn't known")
    if options.env is not None and options.env not in examined.environments():
        raise ReplayError(f"{doing}: it has no environment {options.env}")
    known = {one.name for one in fitted.fields}
    for name in options.tolerances:
        if name not in known:
            raise ReplayError(
                f"{doing}: a tolerance for {name}, which is no compared field; there "
                f"are {', '.join(sorted(known))}"
            )
    predictor = Predictor(
        *(examined, make, fitted, driven, options.env, options.start or 0),
        *(options.steps, progress),
    )
    elsewhere = predictor.settle()
    single = predictor.one_step()
    if not single.steps:
        raise ReplayError(
            f"{doing}: no step's state before it is known: it takes two native steps "
            "of an episode that follow each other, with their h"
        )
    free = predictor.free() if options.free else None
    if keeper is not None:
        keep(examined, predictor.fields, single, options.tolerances, keeper)
    judged = _Judged(examined, predictor.fields, single, options.tolerances)
    other = _gravity(examined, gravity)
    steps, drift_field, drift = single.steps, "", list[Drift]()
    if free is not None:
        drift_field, drift = _drift(predictor.fields, free)
    return StandIn(
        a=examined.file,
        b=f"{options.model}, {options.integrator}",
        engine=None,
        claims=Claims(
            same_configuration=_configuration(other),
            within_tolerance=judged.within(steps),
            bit_for_bit=Claim(answer="not_checkable", reason=ANOTHER_ENGINE),
        ),
        first_divergence=judged.first(),
        judged_by="tolerance",
        tolerance=TOLERANCE,
        max_difference=judged.maxima(),
        configuration_differences=other,
        snapshots_used=[],
        compared_steps=steps,
        not_checkable=[
            f"{name} is {off:.3g} elsewhere in the model in the same state"
            for name, off in elsewhere.items()
        ],
        pairs=[],
        notes=_notes(single, driven.any),
        model=options.model,
        integrator=options.integrator,
        precision=precision,
        driven_by=driven.said,
        one_step=_residuals(examined, predictor.fields, single),
        free=[] if free is None else _residuals(examined, predictor.fields, free),
        drift=drift,
        drift_field=drift_field,
        predicted=steps,
        skipped=single.skipped,
        undriven=single.undriven,
    )


def _off(pair: FieldPair, one: Compared) -> tuple[Array, Array]:
    """The size of each step's largest component, and its scale, float64 [n]."""
    size, scale = sizes(np.array(one.recorded), np.array(one.predicted), pair.rotation)
    worst = size.argmax(1)
    at = np.arange(len(size))
    return size[at, worst], scale[at, worst]


def _residuals(
    examined: Examined, fields: list[FieldPair], found: Predicted
) -> list[FieldResidual]:
    out = []
    for pair, one in zip(fields, found.fields, strict=True):
        if not one.rows:
            continue
        size, _ = _off(pair, one)
        change, _ = sizes(np.array(one.recorded), np.array(one.before), pair.rotation)
        at = int(size.argmax())
        out.append(
            FieldResidual(
                actor=pair.actor,
                field=pair.name,
                unit=pair.unit,
                steps=len(size),
                largest=float(size[at]),
                middle=float(np.median(size)),
                rms=float(np.sqrt(np.mean(size**2))),
                change=float(np.sqrt(np.mean(change.max(1) ** 2))),
                at=place(examined, one.rows[at]),
            )
        )
    return out


class _Judged:
    """Single steps against tolerances."""

    def __init__(
        self,
        examined: Examined,
        fields: list[FieldPair],
        found: Predicted,
        tolerances: Mapping[str, float],
    ) -> None:
        self._examined, self._tolerances = examined, tolerances
        self._seen = [
            (pair, one, *_off(pair, one))
            for pair, one in zip(fields, found.fields, strict=True)
            if one.rows
        ]

    def _beyond(self, pair: FieldPair, size: Array, scale: Array) -> Array:
        allowed = self._tolerances.get(pair.name)
        limit = TOLERANCE * (1.0 + scale) if allowed is None else allowed
        found: Array = size > limit
        return found

    def within(self, steps: int) -> Claim:
        """Whether all single steps are within tolerance."""
        rows = {
            row
            for pair, one, size, scale in self._seen
            for row in np.array(one.rows)[self._beyond(pair, size, scale)].tolist()
        }
        own = [f"{value:g} in {name}" for name, value in self._tolerances.items()]
        allowed = ", ".join([*own, f"{TOLERANCE:g} times (1 + the larger value)"])
        if rows:
            what = counted(len(rows), "native step")
            return Claim(
                answer="no",
                reason=f"{what} differ by more than {allowed}; {self._largest()}",
            )
        return Claim(
            answer="yes",
            reason=(
                f"{counted(steps, 'native step')}, each from the recorded state, "
                f"within {allowed}; {self._largest()}"
            ),
        )

    def _largest(self) -> str:
        """The largest residual of each field, those first that are."""
        told = []
        for pair, _, size, _ in sorted(
            self._seen, key=lambda one: -float(one[2].max())
        ):
            unit = f" {pair.unit}" if pair.unit else ""
            told.append(f"{pair.full_name} {size.max():.2g}{unit}")
        more = f" and {len(told) - FIELDS_TOLD} more" if len(told) > FIELDS_TOLD else ""
        return f"at most off by: {', '.join(told[:FIELDS_TOLD])}{more}"

    def first(self) -> Divergence | None:
        """The first step beyond; the field that is furthest beyond in it."""
        best: tuple[int, float, FieldPair, Compared, int] | None = None
        for pair, one, size, scale in self._seen:
            beyond = self._beyond(pair, size, scale)
            if not beyond.any():
                continue
            rows = np.array(one.rows)
            row = int(rows[beyond].min())
            at = int(np.flatnonzero(rows == row)[0])
            key = (row, -float(size[at]))
            if best is None or key < (best[0], -best[1]):
                best = row, float(size[at]), pair, one, at
        if best is None:
            return None
        row, size_of, pair, one, at = best
        where = place(self._examined, row)
        unit = f" {pair.unit}" if pair.unit else ""
        return Divergence(
            env=where.env,
            episode=where.episode,
            control_step=where.control_step,
            substep=where.substep,
            native=row,
            actor=pair.actor,
            field=pair.name,
            size=size_of,
            unit=pair.unit,
            value_a=np.asarray(one.recorded[at]).tolist(),
            value_b=np.asarray(one.predicted[at]).tolist(),
            equal_steps=0,
            why=f"{pair.full_name} is {size_of:.3g}{unit} from what the model predicts",
        )

    def maxima(self) -> list[FieldMaximum]:
        """Field by field, the largest first."""
        found = []
        for pair, one, size, _ in self._seen:
            at = int(size.argmax())
            found.append(
                FieldMaximum(
                    actor=pair.actor,
                    field=pair.name,
                    value=float(size[at]),
                    unit=pair.unit,
                    at=place(self._examined, one.rows[at]),
                    differing_steps=int((size > 0).sum()),
                    compared_steps=len(size),
                )
            )
        return sorted(found, key=lambda one: -one.value)


def _drift(fields: list[FieldPair], free: Predicted) -> tuple[str, list[Drift]]:
    """Of the field whose free residual is largest against its change in a step."""
    best: tuple[float, FieldPair, Compared, Array] | None = None
    for pair, one in zip(fields, free.fields, strict=True):
        if not one.rows or pair.kind != "pose" or len(one.rows) != len(free.ahead):
            continue
        size, _ = _off(pair, one)
        change, _ = sizes(np.array(one.recorded), np.array(one.before), pair.rotation)
        moved = float(np.sqrt(np.mean(change.max(1) ** 2)))
        ratio = float(size.max()) / moved if moved > 0 else 0.0
        if best is None or ratio > best[0]:
            best = ratio, pair, one, size
    if best is None:
        return "", []
    ahead = np.array(free.ahead)
    return best[1].full_name, [
        Drift(steps=int(n), size=float(best[3][ahead == n].max()))
        for n in np.unique(ahead)[:DRIFTS_KEPT]
    ]


def _gravity(examined: Examined, model: Array) -> list[ConfigurationDifference]:
    told = examined.recording.steps.gravity
    known = np.unique(told[np.isfinite(told).all(1)], axis=0)
    own = model.reshape(-1)[:3]
    if not len(known) or own.shape != (3,):
        return []
    apart = [one for one in known if not np.allclose(one, own, rtol=1e-6, atol=1e-9)]
    if not apart:
        return []
    return [
        ConfigurationDifference(
            key="gravity", a=np.array(known).tolist(), b=own.tolist()
        )
    ]


def _configuration(other: list[ConfigurationDifference]) -> Claim:
    if other:
        return Claim(answer="no", reason="not the same: gravity")
    return Claim(
        answer="not_checkable",
        reason=(
            "gravity is the same where it is told; masses, inertia, friction and "
            "solver settings are the model's, and the recording doesn't tell its own"
        ),
    )


def _notes(single: Predicted, driven: bool) -> list[str]:
    found = []
    if single.skipped:
        steps = counted(single.skipped, "native step")
        found.append(
            f"{steps} could not be predicted: the velocity before isn't known, as "
            "after a reset"
        )
    if single.undriven and driven:
        steps = counted(single.undriven, "native step")
        found.append(f"of {steps} no input is told; they were predicted without")
    return found

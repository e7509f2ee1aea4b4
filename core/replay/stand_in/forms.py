"""What a model standing in gave, in its written form: ``isoscope.replay/1``."""

from __future__ import annotations

from typing import Literal

import msgspec

from isoscope.core.replay.forms import Comparison, Place


class FieldResidual(msgspec.Struct, frozen=True, kw_only=True):
    """How far predicted values of a field are from the recorded ones.

    Attributes
    ----------
    largest, middle, rms
        The largest, the median and the root mean square over steps of a step's largest
        component, in `unit`.
    change
        The root mean square of the recorded change in a native step: what a prediction
        that nothing changes would be off by.
    at
        Where the largest is.
    """

    actor: str
    field: str
    unit: str | None
    steps: int
    largest: float
    middle: float
    rms: float
    change: float
    at: Place | None


class Drift(msgspec.Struct, frozen=True, kw_only=True):
    """The largest residual so many native steps after the beginning, over episodes."""

    steps: int
    size: float


class StandIn(Comparison, frozen=True, kw_only=True, rename={"schema_": "schema"}):
    """What a model standing in says; a is the recording, b the model.

    Attributes
    ----------
    model, integrator, precision
        What stood in.
    driven_by
        What drove it, in words.
    one_step
        Each native step from the recorded state before it, field by field.
    free
        Each episode from its first known state on, field by field.
    drift
        Of the field that drifts most in proportion, in free runs.
    drift_field
        Its name.
    predicted, skipped, undriven
        Native steps predicted one by one; those whose state before isn't known; those
        for which no input is told though there are some.
    """

    schema_: Literal["isoscope.compare/1", "isoscope.replay/1"] = "isoscope.replay/1"
    mode: Literal["model"] = "model"
    model: str
    integrator: str
    precision: str
    driven_by: str
    one_step: list[FieldResidual]
    free: list[FieldResidual]
    drift: list[Drift]
    drift_field: str
    predicted: int
    skipped: int
    undriven: int

"""What a comparison says, in its written form: ``isoscope.compare/1``.

``isoscope.replay/1`` is of the same form. Native steps, environments and substeps count
from 0, episodes and control steps from 1; a reset's own step is control step 0.
"""

from __future__ import annotations

from typing import Any, Literal

import msgspec

ClaimAnswer = Literal["yes", "no", "not_checkable"]


class Claim(msgspec.Struct, frozen=True, kw_only=True):
    """Whether something can be claimed, and why or why not."""

    answer: ClaimAnswer
    reason: str


class Claims(msgspec.Struct, frozen=True, kw_only=True):
    """What can be claimed of two runs."""

    same_configuration: Claim
    within_tolerance: Claim
    bit_for_bit: Claim


class Place(msgspec.Struct, frozen=True, kw_only=True):
    """A native step of one of the recordings; None is unknown."""

    env: int | None
    episode: int | None
    control_step: int | None
    substep: int | None
    native: int | None


class Divergence(msgspec.Struct, frozen=True, kw_only=True):
    """The first step at which the two differ.

    Attributes
    ----------
    env, episode, control_step, substep, native
        The step in A. `native` is None where only B has it.
    actor, field, size, unit
        What differs most in it, and by how much in the field's unit; infinite where one
        of the two is not a finite number. None where an episode ended in one only.
    value_a, value_b
        That field in either.
    in_b
        The same step in B.
    equal_steps
        Native steps of this environment that are equal before it.
    why
        In words.
    """

    env: int | None
    episode: int | None
    control_step: int | None
    substep: int | None
    native: int | None
    actor: str | None
    field: str | None
    size: float | None
    unit: str | None
    value_a: Any = None
    value_b: Any = None
    in_b: Place | None = None
    equal_steps: int = 0
    why: str = ""


class FieldMaximum(msgspec.Struct, frozen=True, kw_only=True):
    """The largest difference of one field, and where in A; None where there is none."""

    actor: str
    field: str
    value: float
    unit: str | None
    at: Place | None
    differing_steps: int
    compared_steps: int


class ConfigurationDifference(msgspec.Struct, frozen=True, kw_only=True):
    """Something about the two runs that is not the same."""

    key: str
    a: Any
    b: Any


class PairOfEnvironments(msgspec.Struct, frozen=True, kw_only=True):
    """An environment of A and the one of B that it was compared with.

    `how`: ``"starts"`` where they begin in the same state, ``"middle"`` where one
    begins in a state that the other had on its way, ``"nearest"`` where they begin in
    nearly the same one, ``"number"`` where only their numbers are the same.
    """

    env_a: int
    env_b: int
    how: str
    compared_steps: int
    first_divergence: Divergence | None


class Comparison(
    msgspec.Struct, frozen=True, kw_only=True, rename={"schema_": "schema"}
):
    """What a comparison says.

    Attributes
    ----------
    a, b
        The two recordings.
    engine
        The engine's version, where the recordings say so.
    claims
        What can be claimed.
    first_divergence
        Of all environments the one that comes first in A; None where they are equal.
    judged_by
        ``"bits"``, or ``"tolerance"`` where the precisions differ or one was given.
    tolerance
        |a - b| may be this times (1 + the larger of |a| and |b|).
    max_difference
        Field by field, the largest first.
    configuration_differences
        What is not the same about the runs.
    snapshots_used
        Empty for two recordings.
    compared_steps
        Native steps that were compared.
    not_checkable
        What could not be compared, and why; a line each.
    pairs
        Which environments were compared.
    notes
        What should be known besides; a line each.
    """

    schema_: Literal["isoscope.compare/1", "isoscope.replay/1"] = "isoscope.compare/1"
    a: str
    b: str
    engine: str | None
    claims: Claims
    first_divergence: Divergence | None
    max_difference: list[FieldMaximum]
    configuration_differences: list[ConfigurationDifference]
    snapshots_used: list[str]
    compared_steps: int
    not_checkable: list[str]
    judged_by: Literal["bits", "tolerance"]
    tolerance: float
    pairs: list[PairOfEnvironments]
    notes: list[str]

"""What is known about the environments of lineages."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(slots=True)
class Claim:
    """What is known about the environment of one lineage.

    Attributes
    ----------
    env
        A provisional number; equal ones are the same environment.
    linked
        Whether that is proven (a new environment's first lineage is).
    confidence
        Of the link.
    orphan
        The lineage that was continued by this one, or -1.
    gap
        Whether it begins in a state that nothing explains.
    not_finite
        Whether that is because its first state, or the one that it continues, is not
        finite: no step is missing.
    rivals
        Where it is not linked, the lineages one of which it continues.
    nameless
        Whether all of it is equal to what another environment did, so that its steps
        can't be given to either.
    """

    env: int
    linked: bool = True
    confidence: float = 1.0
    orphan: int = -1
    gap: bool = False
    not_finite: bool = False
    rivals: tuple[int, ...] = ()
    nameless: bool = False


@dataclass(slots=True)
class Ownership:
    """The environments of all lineages.

    Attributes
    ----------
    claims
        For each lineage.
    merged
        For each lineage the one that it turned out to be a given-up branch of, or -1.
    envs
        How many provisional numbers were given.
    direct, indirect
        How many proven resets came right behind their environment's last step, and how
        many did not.
    late
        How many environments of a recording that began in the middle were first seen by
        a reset.
    """

    claims: list[Claim]
    merged: list[int]
    envs: int = 0
    direct: int = 0
    indirect: int = 0
    late: int = 0

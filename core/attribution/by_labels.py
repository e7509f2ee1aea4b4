"""What labels say about lineages: their environments, and where their counts begin.

Labels are about single steps; a lineage is one environment's as a whole, so that one
label names all of it, and all other lineages that are proven to be the same one's. A
lineage whose labels contradict one another is told and keeps what was found without.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from isoscope.core.attribution.claims import Ownership
    from isoscope.core.attribution.labels import GivenLabels
    from isoscope.core.attribution.lineages import Lineage
    from isoscope.core.recording.tracks import Array

NAMED = 1 << 40  # provisional numbers of labelled environments begin here


@dataclass(slots=True)
class Named:
    """What labels say, lineage by lineage.

    Attributes
    ----------
    env
        The labelled environment by lineage.
    episode
        The labelled episode by lineage.
    rows
        For each lineage a row whose control step is labelled, and that label.
    notes
        Contradictions, one line each.
    """

    env: dict[int, int] = field(default_factory=dict)
    episode: dict[int, int] = field(default_factory=dict)
    rows: dict[int, tuple[int, int]] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)


def by_labels(given: GivenLabels, lineage_of_row: Array) -> Named:
    """Gather the labels of each lineage; `lineage_of_row` is [T]."""
    out = Named()
    labels = given.labels
    rows = len(lineage_of_row)
    for name in ("env", "episode"):
        column = getattr(labels, name)[:rows]
        at = np.flatnonzero((column >= 0) & (lineage_of_row >= 0))
        answers = getattr(out, name)
        order = at[np.argsort(lineage_of_row[at], kind="stable")]
        which = lineage_of_row[order]
        for mine in np.split(order, np.flatnonzero(np.diff(which)) + 1):
            if not len(mine):
                continue
            lineage = lineage_of_row[mine[0]]
            found = np.unique(column[mine])
            if len(found) == 1:
                answers[int(lineage)] = int(found[0])
                continue
            other = int(mine[np.argmax(column[mine] != column[mine[0]])])
            out.notes.append(
                f"{given.source} names {name} {column[mine[0]]} at native step "
                f"{mine[0]} and {column[other]} at {other}, but the second goes on "
                "from the first: not used there"
            )
    control = labels.control_step[:rows]
    at = np.flatnonzero((control > 0) & (lineage_of_row >= 0))
    lineage, first = np.unique(lineage_of_row[at], return_index=True)
    for k, row in zip(lineage.tolist(), at[first].tolist(), strict=True):
        out.rows[k] = (row, int(control[row]))
    return out


def apply_names(found: list[Lineage], owned: Ownership, named: Named) -> None:
    """Give lineages their labelled environments, as provisional numbers from `NAMED`.

    What is proven to be one environment is named as a whole. Where labels name it
    differently, they are believed, each from its own lineage on, and it is told.
    """
    claims = owned.claims
    inside: dict[int, list[int]] = {}
    for lineage in found:
        if owned.merged[lineage.index] < 0:
            inside.setdefault(claims[lineage.index].env, []).append(lineage.index)
    for members in inside.values():
        given = [named.env[k] for k in members if k in named.env]
        if not given:
            continue
        if len(set(given)) > 1:
            named.notes.append(
                f"labels give environments {sorted(set(given))} to steps that look "
                "like one environment's; the labels are believed"
            )
        name = given[0]
        for index in members:
            name = named.env.get(index, name)
            said = index in named.env
            claim = claims[index]
            claims[index] = replace(
                claim,
                env=NAMED + name,
                linked=claim.linked or said,
                nameless=claim.nameless and not said,
            )


def substeps_of(given: GivenLabels) -> int | None:
    """M as the labels say it, or show it by their substeps."""
    if given.substeps is not None:
        return given.substeps
    highest = int(given.labels.substep.max(initial=-1))
    return highest + 1 if highest > 0 else None

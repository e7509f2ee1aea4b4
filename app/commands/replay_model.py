"""``isoscope replay --model``: a model in the built-in simulator stands in."""

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from isoscope.app import console
from isoscope.app.commands.comparison_tables import (
    claims_table,
    configuration_table,
    lines_table,
)

if TYPE_CHECKING:
    from collections.abc import Iterable

    from rich.table import Table

    from isoscope.core.replay.stand_in.forms import FieldResidual, StandIn

FINDINGS = 1
DRIFTS_SHOWN = 10


@dataclass(frozen=True)
class ByModel:
    """What stands in, and what drives it; see the options of `isoscope replay`."""

    model: str
    integrator: str
    transitions: Path | None
    substeps: int | None
    free: bool


def replay_model(
    file: Path,
    by: ByModel,
    position: str | None,
    env: int | None,
    steps: int | None,
    tolerances: dict[str, float],
    *,
    as_json: bool,
) -> int:
    """Predict a recording's steps by a model, and print how far off it is."""
    from isoscope.app.commands.replay import row_of
    from isoscope.app.examining import examine
    from isoscope.app.standing_in import INTEGRATORS, model_scenes
    from isoscope.core.errors import UsageError
    from isoscope.core.replay.stand_in.report import StandInOptions, stand_in

    if by.integrator not in INTEGRATORS:
        raise UsageError(
            f"--integrator {by.integrator}: give one of {', '.join(INTEGRATORS)}"
        )
    make = model_scenes(by.model, by.integrator)
    examined = examine(file, by.substeps)
    options = StandInOptions(
        model=by.model,
        integrator=by.integrator,
        transitions=by.transitions,
        start=None if position is None else row_of(examined, position),
        env=env,
        steps=steps,
        tolerances=tolerances,
        free=by.free,
    )
    with console.progress(f"predicting {file.name}") as report:
        found = stand_in(examined, make, options, report)
    if as_json:
        console.emit_json(found)
    else:
        console.emit(*_parts(found))
    return FINDINGS if found.first_divergence is not None else 0


def _parts(found: "StandIn") -> list[Any]:
    from isoscope.core.replay.replay_sentence import stand_in_verdict

    facts = [
        ("A, recorded", found.a),
        ("B, standing in", f"{found.model}, {found.integrator}, {found.precision}"),
        ("driven by", found.driven_by),
    ]
    verdict = stand_in_verdict(found)
    parts: list[Any] = [verdict, console.facts(facts), claims_table(found)]
    if found.configuration_differences:
        parts.append(configuration_table(found))
    parts.append(_residuals("Each step from the recorded state", found.one_step))
    if found.free:
        title = "Freely, from each episode's first known state on"
        parts.append(_residuals(title, found.free))
    if found.drift:
        parts.append(_drift(found))
    for title, lines in (
        ("Could not be compared", found.not_checkable),
        ("Besides", found.notes),
    ):
        if lines:
            parts.append(lines_table(title, lines))
    return parts


def _residuals(title: str, rows: "Iterable[FieldResidual]") -> "Table":
    table = console.table(
        "field",
        "unit",
        "largest",
        "median",
        "rms",
        "rms change in a step",
        "largest at",
        right=("largest", "median", "rms", "rms change in a step"),
        title=title,
    )
    for one in rows:
        at = ""
        if one.at is not None and one.at.native is not None:
            at = f"native {one.at.native:,}"
        table.add_row(
            console.text(f"{one.actor}.{one.field}"),
            one.unit or "",
            *(f"{x:.3g}" for x in (one.largest, one.middle, one.rms, one.change)),
            at,
        )
    return table


def _drift(found: "StandIn") -> "Table":
    table = console.table(
        "native steps on",
        "largest residual",
        right=("native steps on", "largest residual"),
        title=f"How {found.drift_field} drifts freely",
    )
    every = max(1, len(found.drift) // DRIFTS_SHOWN)
    shown = found.drift[::every]
    if shown[-1] is not found.drift[-1]:
        shown = [*shown, found.drift[-1]]
    for one in shown:
        table.add_row(f"{one.steps:,}", f"{one.size:.3g}")
    return table

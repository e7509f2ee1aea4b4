"""``isoscope compare``: where two runs of the same environments part."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from isoscope.app import console
from isoscope.app.commands.comparison_tables import (
    claims_table,
    configuration_table,
    largest_table,
    lines_table,
    pairs_table,
)
from isoscope.app.commands.options import AsJson

if TYPE_CHECKING:
    from isoscope.core.replay.forms import Comparison

FINDINGS = 1
First = Annotated[
    Path, typer.Argument(metavar="A", help="A recording.", show_default=False)
]
Second = Annotated[
    Path,
    typer.Argument(metavar="B", help="The one to compare with.", show_default=False),
]
Tolerance = Annotated[
    float | None,
    typer.Option(
        "--tolerance",
        metavar="X",
        help="Take differences up to X times (1 + the larger value) for none. "
        "By default every bit counts, or 0.001 where the precisions differ.",
        show_default=False,
    ),
]


def compare(
    a: First, b: Second, tolerance: Tolerance = None, as_json: AsJson = False
) -> int:
    """Say where two runs of the same environments part.

    Steps are compared by environment, episode and control step. The recordings
    may step the same environments in another order, under other numbers, or only some
    of them. Exit status 1 if they diverge.
    """
    from math import isfinite

    from isoscope.app.examining import examine
    from isoscope.core.errors import UsageError
    from isoscope.core.replay.compare import compare as look

    if tolerance is not None and not (isfinite(tolerance) and tolerance >= 0):
        raise UsageError(f"--tolerance {tolerance:g}: give a number of at least 0")
    found = look(examine(a), examine(b), tolerance)
    if as_json:
        console.emit_json(found)
    else:
        console.emit(*_parts(found))
    return FINDINGS if found.first_divergence is not None else 0


def _parts(found: "Comparison") -> list[Any]:
    from isoscope.core.replay.sentence import verdict

    parts: list[Any] = [verdict(found), console.facts([("A", found.a), ("B", found.b)])]
    parts.append(claims_table(found))
    if found.pairs:
        parts.append(pairs_table(found))
    if found.configuration_differences:
        parts.append(configuration_table(found))
    if any(one.value for one in found.max_difference):
        parts.append(largest_table(found))
    for title, lines in (
        ("Could not be compared", found.not_checkable),
        ("Besides", found.notes),
    ):
        if lines:
            parts.append(lines_table(title, lines))
    return parts

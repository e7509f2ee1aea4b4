"""``isoscope compare``: where two runs of the same environments part."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from isoscope.app import console
from isoscope.app.commands.options import AsJson

if TYPE_CHECKING:
    from rich.table import Table

    from isoscope.core.replay.forms import Comparison

FINDINGS = 1
LISTED_AT_MOST = 12
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
    parts.append(_claims(found))
    if found.pairs:
        parts.append(_pairs(found))
    if found.configuration_differences:
        parts.append(_configuration(found))
    if any(one.value for one in found.max_difference):
        parts.append(_largest(found))
    for title, lines in (
        ("Could not be compared", found.not_checkable),
        ("Besides", found.notes),
    ):
        if lines:
            parts.append(_lines(title, lines))
    return parts


def _claims(found: "Comparison") -> "Table":
    from rich.text import Text

    colours = {"yes": "green", "no": "red", "not_checkable": "yellow"}
    table = console.table("claim", "", "why", title="What can be claimed")
    for name in found.claims.__struct_fields__:
        claim = getattr(found.claims, name)
        answer = Text(claim.answer.replace("_", " "), colours[claim.answer])
        table.add_row(name.replace("_", " "), answer, Text(claim.reason))
    return table


def _pairs(found: "Comparison") -> "Table":
    from rich.text import Text

    from isoscope.core.replay.sentence import where

    table = console.table(
        "env of A",
        "env of B",
        "paired by",
        "compared steps",
        "first divergence",
        right=("env of A", "env of B", "compared steps"),
        title="Environments",
    )
    for pair in found.pairs:
        first = pair.first_divergence
        said = "none" if first is None else f"{where(first)}: {first.why}"
        table.add_row(
            str(pair.env_a),
            str(pair.env_b),
            pair.how,
            f"{pair.compared_steps:,}",
            Text(said),
        )
    return table


def _configuration(found: "Comparison") -> "Table":
    from rich.text import Text

    table = console.table("", "in A", "in B", title="Not the same in both")
    for one in found.configuration_differences:
        table.add_row(one.key, Text(_value(one.a)), Text(_value(one.b)))
    return table


def _value(value: object) -> str:
    if isinstance(value, float):
        return f"{value:.6g}"
    if isinstance(value, list):
        if value and isinstance(value[0], list):
            return "; ".join(_value(one) for one in value)
        brackets = bool(value) and not isinstance(value[0], str)
        inside = ", ".join(_value(one) for one in value)
        return f"({inside})" if brackets else inside or "none"
    return "none" if value is None else str(value)


def _largest(found: "Comparison") -> "Table":
    from rich.text import Text

    table = console.table(
        "actor",
        "field",
        "largest",
        "unit",
        "env",
        "episode",
        "control step",
        "native",
        "differing steps",
        right=(
            "largest",
            "env",
            "episode",
            "control step",
            "native",
            "differing steps",
        ),
        title="Largest differences",
    )
    differing = [one for one in found.max_difference if one.value]
    for one in differing[:LISTED_AT_MOST]:
        at = one.at
        where = (
            ["?"] * 4
            if at is None
            else [_known(n) for n in (at.env, at.episode, at.control_step, at.native)]
        )
        table.add_row(
            Text(one.actor),
            Text(one.field),
            f"{one.value:.4g}",
            "?" if one.unit is None else one.unit,
            *where,
            f"{one.differing_steps:,}",
        )
    if len(differing) > LISTED_AT_MOST:
        table.add_row(f"and {len(differing) - LISTED_AT_MOST} more fields")
    return table


def _known(number: int | None) -> str:
    return "?" if number is None else f"{number:,}"


def _lines(title: str, lines: list[str]) -> "Table":
    from rich.text import Text

    table = console.table(title)
    for line in lines:
        table.add_row(Text(line))
    return table

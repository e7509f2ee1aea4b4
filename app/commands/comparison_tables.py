"""Tables that say what a comparison found, whatever was compared."""

from typing import TYPE_CHECKING

from isoscope.app import console

if TYPE_CHECKING:
    from rich.table import Table

    from isoscope.core.replay.forms import Comparison
    from isoscope.core.replay.replay_forms import Replay

LISTED_AT_MOST = 12


def claims_table(found: "Comparison") -> "Table":
    """Each claim, its answer and why."""
    from rich.text import Text

    colours = {"yes": "green", "no": "red", "not_checkable": "yellow"}
    table = console.table("claim", "", "why", title="What can be claimed")
    for name in found.claims.__struct_fields__:
        claim = getattr(found.claims, name)
        answer = Text(claim.answer.replace("_", " "), colours[claim.answer])
        table.add_row(name.replace("_", " "), answer, Text(claim.reason))
    return table


def pairs_table(found: "Comparison") -> "Table":
    """Which environments were compared, and where each pair parts."""
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


def configuration_table(found: "Comparison") -> "Table":
    """What is not the same about the two."""
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


def largest_table(found: "Comparison") -> "Table":
    """The largest differences, field by field."""
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


def lines_table(title: str, lines: list[str]) -> "Table":
    """Lines under a title."""
    from rich.text import Text

    table = console.table(title)
    for line in lines:
        table.add_row(Text(line))
    return table


def growth_table(found: "Replay") -> "Table":
    """How the first divergence grows."""
    first = found.first_divergence
    unit = "" if first is None or not first.unit else f" [{first.unit}]"
    table = console.table(
        "native", f"size{unit}", right=("native",), title="How it grows"
    )
    for one in found.growth[:LISTED_AT_MOST]:
        table.add_row(f"{one.native:,}", f"{one.size:.4g}")
    return table

"""Tables of what-if branches on the terminal."""

from typing import TYPE_CHECKING, Any

from isoscope.app import console
from isoscope.app.commands.comparison_tables import (
    claims_table,
    configuration_table,
    growth_table,
    largest_table,
    lines_table,
)

if TYPE_CHECKING:
    from collections.abc import Iterable

    from rich.table import Table

    from isoscope.core.replay.branch.model import Branch
    from isoscope.core.replay.branch.run import BranchReport


def branches_table(branches: "Iterable[Branch]", file: str) -> "Table":
    """Kept branches, one a row."""
    from isoscope.core.replay.branch.model import described

    table = console.table(
        "name", "at", "steps", "edits", "note", title=f"Branches of {file}"
    )
    for one in branches:
        edits = "; ".join(described(edit) for edit in one.edits)
        table.add_row(
            console.text(one.name),
            one.at,
            "to the end" if one.steps is None else f"{one.steps:,}",
            console.text(edits or "none"),
            console.text(one.note),
        )
    return table


def branch_parts(found: "BranchReport") -> list[Any]:
    """What stepping a branch gave, from the sentence on."""
    report, branch = found.report, found.branch
    through = "actions, through the task's own mapping"
    if found.route == "native":
        through = f"native inputs ({found.why_native})"
    facts = [
        ("branch", branch.name),
        ("at", f"{found.at} (native {branch.native:,})"),
        ("begins", found.begins),
        ("stepped by", found.engine),
        ("through", through),
        *(("edit", edit) for edit in found.edits),
    ]
    steps = f"{found.control_steps:,} control, {found.native_steps:,} native"
    if found.past_end:
        steps += f", of which {found.past_end:,} past the recorded end"
    facts.append(("steps", steps))
    if found.total_reward is not None:
        recorded = found.recorded_reward
        beside = "" if recorded is None else f", recorded {recorded:.6g}"
        facts.append(("reward", f"{found.total_reward:.6g}{beside}"))
    facts += [
        (name, value)
        for name, value in (("ended", found.ended), ("stopped", found.stopped))
        if value
    ]
    if found.exported is not None:
        facts.append(("written to", found.exported))
    parts: list[Any] = [verdict(found), console.facts(facts), claims_table(report)]
    if report.configuration_differences:
        parts.append(configuration_table(report))
    if any(one.value for one in report.max_difference):
        parts.append(largest_table(report))
    if len(report.growth) > 1:
        parts.append(growth_table(report))
    for title, lines in (
        ("Could not be compared", report.not_checkable),
        ("Besides", found.notes),
    ):
        if lines:
            parts.append(lines_table(title, lines))
    return parts


def verdict(found: "BranchReport") -> str:
    """One sentence: where the branch departs from the recording, if it does."""
    from isoscope.core.replay.sentence import where
    from isoscope.core.summary import counted

    report, name = found.report, found.branch.name
    if (first := report.first_divergence) is not None:
        return f"Branch {name}, {where(first)}: {first.why}."
    if not report.compared_steps:
        return f"Branch {name} has no step that the recording has, too."
    steps = counted(report.compared_steps, "native step")
    return f"Branch {name} is equal to the recording to the last bit in {steps}."

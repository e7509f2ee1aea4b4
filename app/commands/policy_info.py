"""What `isoscope info` says of a checkpoint of a policy."""

from pathlib import Path
from typing import TYPE_CHECKING, Any

from isoscope.app import console

if TYPE_CHECKING:
    from rich.table import Table

    from isoscope.core.replay.checkpoint.model import Checkpoint
    from isoscope.core.replay.checkpoint.ranges import RangeReport

FINDINGS = 1
SCHEMA = "isoscope.policy-info/1"


def policy_info(file: Path, against: Path | None, *, as_json: bool) -> int:
    """Say what a checkpoint holds; and hold it against a recording, if one is given."""
    from isoscope.app.extras import needs

    with needs("checkpoints of policies"):
        from isoscope.core.replay.checkpoint.acting import SavedPolicy
        from isoscope.core.replay.checkpoint.bundle import read_checkpoint
    checkpoint = read_checkpoint(file)
    if against is not None:
        return _against(file, checkpoint, against, as_json=as_json)
    SavedPolicy(checkpoint)  # that its parts fit each other
    if as_json:
        console.emit_json(_form(file, checkpoint))
    else:
        console.emit(console.facts(_facts(file, checkpoint)), _parts(checkpoint))
    return 0


def _form(file: Path, checkpoint: "Checkpoint") -> dict[str, Any]:
    parts = {
        name: {
            "kind": one.kind,
            "settings": dict(one.settings),
            "tensors": {
                key: {"dtype": str(value.dtype), "shape": list(value.shape)}
                for key, value in one.tensors.items()
            },
        }
        for name, one in checkpoint.parts.items()
    }
    return {
        "schema": SCHEMA,
        "file": str(file),
        "bytes": file.stat().st_size,
        "parts": parts,
        "observation": checkpoint.observation,
        "action": checkpoint.action,
        "about": dict(checkpoint.about),
    }


def _facts(file: Path, checkpoint: "Checkpoint") -> list[tuple[str, str]]:
    seen, action = checkpoint.observation, checkpoint.action
    facts = [
        ("file", str(file)),
        ("format", f"isoscope.policy/1, {file.stat().st_size:,} bytes, complete"),
    ]
    if seen is not None:
        facts.append(("observation", f"{seen.size} numbers"))
    if action is not None:
        said = f"{action.size} numbers"
        if action.choices:
            said = f"one of {action.choices}"
        elif action.low is not None and action.high is not None:
            limits = zip(action.low, action.high, strict=True)
            said += ", " + ", ".join(f"{a:g} to {b:g}" for a, b in limits)
        facts.append(("action", said))
    facts += [(name, str(value)) for name, value in checkpoint.about.items() if value]
    return facts


def _parts(checkpoint: "Checkpoint") -> "Table":
    from isoscope.core.replay.checkpoint.model import ABOUT, PARTS

    table = console.table(
        "part",
        "kind",
        "what",
        "tensors",
        "numbers",
        right=("tensors", "numbers"),
        title="Parts",
    )
    for name in PARTS:
        one = checkpoint.parts.get(name)
        if one is None:
            table.add_row(name, "none", ABOUT[name], "", "")
            continue
        numbers = sum(value.size for value in one.tensors.values())
        kind = console.text(one.kind)
        table.add_row(name, kind, ABOUT[name], f"{len(one.tensors)}", f"{numbers:,}")
    return table


def _against(
    file: Path, checkpoint: "Checkpoint", against: Path, *, as_json: bool
) -> int:
    from isoscope.app.loading import load
    from isoscope.core.replay.checkpoint.ranges import hold_against

    found = hold_against(checkpoint, load(against), name=str(file))
    if as_json:
        console.emit_json(found)
    else:
        console.emit(_verdict(found), _ranges(found))
    return 0 if found.agrees else FINDINGS


def _verdict(found: "RangeReport") -> str:
    steps = f"{found.equal:,} of {found.steps:,} recorded actions are taken again"
    if found.draws:
        steps += ", which are drawn"
    if found.agrees:
        return f"The restored policy acts in the recorded range; {steps}."
    return f"The restored policy acts in another range: {found.why}; {steps}."


def _ranges(found: "RangeReport") -> "Table":
    def said(limits: tuple[float, float] | None) -> str:
        return "unknown" if limits is None else f"{limits[0]:.5g} to {limits[1]:.5g}"

    table = console.table(
        "action", "declared", "saved with", "recorded", "restored", "agrees"
    )
    for one in found.components:
        table.add_row(
            console.text(one.name),
            said(one.declared),
            said(one.saved),
            said(one.recorded),
            said(one.restored),
            "yes" if one.agrees else "no",
        )
    return table

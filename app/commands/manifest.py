"""``isoscope manifest``: what a dataset came from, and what two have in common."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from isoscope.app import console
from isoscope.app.commands.options import AsJson
from isoscope.app.extras import needs

if TYPE_CHECKING:
    from rich.table import Table

    from isoscope.core.dataset.manifest.forms import Manifest, ManifestDiff

DIFFERENT = 1
LISTED_AT_MOST = 100
SHOWN = 120  # characters of a value
cli = typer.Typer(help="What a dataset came from, and what two have in common.")
Dataset = Annotated[
    Path,
    typer.Argument(
        metavar="DATASET",
        help="A dataset that isoscope export wrote, or its manifest.",
        show_default=False,
    ),
]
First = Annotated[
    Path, typer.Argument(metavar="A", help="A dataset.", show_default=False)
]
Second = Annotated[
    Path,
    typer.Argument(metavar="B", help="The one to compare with.", show_default=False),
]


@cli.command("show")
def show(dataset: Dataset, as_json: AsJson = False) -> int:
    """Say what a dataset came from, what was done to it, and what is not known."""
    with needs("reading manifests"):
        from isoscope.core.dataset.manifest.stored import read_manifest

    found = read_manifest(dataset)
    if as_json:
        console.emit_json(found)
    else:
        console.emit(*_parts(found))
    return 0


@cli.command("diff")
def diff(a: First, b: Second, as_json: AsJson = False) -> int:
    """Say what differs between two datasets, and what can still be claimed.

    Three claims: same configuration, within tolerance, bit for bit. Exit status 1 if
    one of them is a no.
    """
    with needs("reading manifests"):
        from isoscope.core.dataset.manifest.diff import diff as look
        from isoscope.core.dataset.manifest.stored import read_manifest

    found = look(read_manifest(a), read_manifest(b), (str(a), str(b)))
    if as_json:
        console.emit_json(found)
    else:
        console.emit(*_diff_parts(found))
    claims = (getattr(found.claims, n) for n in found.claims.__struct_fields__)
    return DIFFERENT if any(claim.answer == "no" for claim in claims) else 0


def _parts(found: "Manifest") -> list[Any]:
    source, clocks = found.source, found.clocks
    rows = [
        ("format", found.format),
        ("made", found.created),
        ("with", ", ".join(f"{k} {v}" for k, v in found.made_with.items())),
        ("source", f"{source.path} ({source.format})"),
        ("SHA-256 of the source", source.sha256 or "unknown"),
        ("SHA-256", found.sha256),
        ("episodes", f"{len(found.episodes):,}"),
        ("transitions", f"{found.transitions:,}"),
        ("environments", f"{len(found.environments):,}"),
    ]
    if clocks.control_hz is not None:
        rows.append(("control rate", f"{clocks.control_hz:g} Hz"))
    if clocks.relation:
        rows.append(("clocks", clocks.relation))
    rows += [(key, _value(v)) for key, v in found.identity.items() if v]
    rows += [("edit", _value(edit)) for edit in found.edits]
    rows += [("waived", f"{w.rule} by {w.by}: {w.why}") for w in found.waivers]
    rows += [("not in it", line) for line in found.left_out]
    for name, kept in (("dropped", found.dropped), ("failure", found.failures)):
        rows += [(name, _value(one)) for one in kept]
    out: list[Any] = [console.facts(rows), _fields(found)]
    if found.missing:
        table = console.table("not known", "needs")
        for one in found.missing:
            table.add_row(one.what, one.needs)
        out.append(table)
    return out


def _fields(found: "Manifest") -> "Table":
    table = console.table(
        "field", "from", "role", "dtype", "shape", "rows", "min", "max", right=("rows",)
    )
    for one in found.fields:
        table.add_row(
            console.text(one.name),
            console.text(one.source),
            one.role,
            one.dtype,
            str(tuple(one.shape)),
            f"{one.count:,}",
            "" if one.min is None else f"{one.min:.6g}",
            "" if one.max is None else f"{one.max:.6g}",
        )
    return table


def _diff_parts(found: "ManifestDiff") -> list[Any]:
    from rich.text import Text

    colours = {"yes": "green", "no": "red", "not_checkable": "yellow"}
    claims = console.table("claim", "", "why", title="What can be claimed")
    for name in found.claims.__struct_fields__:
        claim = getattr(found.claims, name)
        answer = Text(claim.answer.replace("_", " "), colours[claim.answer])
        claims.add_row(name.replace("_", " "), answer, console.text(claim.reason))
    parts: list[Any] = [console.facts([("A", found.a), ("B", found.b)]), claims]
    if found.differences:
        table = console.table("", "in A", "in B", title="Not the same in both")
        for one in found.differences[:LISTED_AT_MOST]:
            key = console.text(one.key)
            table.add_row(key, console.text(_value(one.a)), console.text(_value(one.b)))
        more = len(found.differences) - LISTED_AT_MOST
        if more > 0:
            table.add_row(f"and {more:,} more", "", "")
        parts.append(table)
    if found.not_known:
        parts.append(f"Not told by both: {', '.join(found.not_known)}")
    return parts


def _value(value: object) -> str:
    if value is None:
        return "not told"
    if isinstance(value, float):
        return f"{value:.9g}"
    if isinstance(value, dict):
        said = ", ".join(f"{k} {_value(v)}" for k, v in value.items())
    elif isinstance(value, list | tuple):
        said = f"({', '.join(_value(v) for v in value)})"
    else:
        said = str(value)
    return said if len(said) <= SHOWN else f"{said[: SHOWN - 1]}…"

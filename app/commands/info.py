"""``isoscope info``: what a recording holds, and what it can be used for."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from isoscope.app import console
from isoscope.app.commands.options import AsJson, File
from isoscope.app.commands.run_facts import failed_table, run_facts

if TYPE_CHECKING:
    from rich.table import Table

    from isoscope.core.recording.info import ActorInfo, FieldInfo, Info
    from isoscope.core.recording.model import Problem

CHECKPOINT = ".safetensors"
NAMED_AT_MOST = 4  # actors with the same fields that are named; more are counted
LONGEST_NAME = 200  # characters in a table
LISTED_AT_MOST = 6  # durations, gravities
# What people look for first comes first.
KINDS = (
    "pose",
    "velocity",
    "target",
    "contact",
    "distance",
    "solver",
    "other",
    "identity",
)


def info(
    file: File,
    against: Annotated[
        Path | None,
        typer.Option(
            "--against",
            metavar="REC",
            help="Of a checkpoint of a policy: hold what it does against a recording's "
            "actions and their limits.",
            show_default=False,
        ),
    ] = None,
    as_json: AsJson = False,
) -> int:
    """Say what a recording or a saved policy holds, and its uses."""
    from isoscope.app.loading import load

    if against is not None or file.name.endswith(CHECKPOINT):
        from isoscope.app.commands.policy_info import policy_info

        return policy_info(file, against, as_json=as_json)
    from isoscope.core.recording.info import info as describe

    recording = load(file)
    described = describe(recording)
    status = _status(described, recording.problems)
    if as_json:
        console.emit_json(described)
        return status
    parts: list[Any] = [console.facts(_facts(described)), _supports(described)]
    if described.run and described.run.failures:
        parts.append(failed_table(described.run))
    if described.warnings:
        parts.append(_warnings(described.warnings))
    if described.actors:
        parts += [_actors(described.actors), *_fields(described.actors)]
    console.emit(*parts)
    return status


def _status(described: "Info", problems: "list[Problem]") -> int:
    """0, or 2 where something of the file could not be read; says so in one line."""
    if described.complete:
        return 0
    # What was lost, rather than what was only odd.
    first = min(problems, key=lambda p: p.severity != "error", default=None)
    what = "its end is missing" if first is None else str(first)
    more = len(problems) - 1
    listed = "1 more is" if more == 1 else f"{more:,} more are"
    others = f"; {listed} listed" if more > 0 else ""
    console.tell(
        f"reading {described.file}: not all of it could be read: {what}{others}"
    )
    return 2


def _facts(described: "Info") -> list[tuple[str, str]]:
    from isoscope.core.summary import counted

    state = "complete" if described.complete else "not complete"
    precision = f", {described.precision}" if described.precision else ""
    events = [f"{n:,} {kind}" for kind, n in _named(described.events) if n]
    first, last = described.recording_time_s
    unknown = first is None or last is None
    time = "" if unknown else f", recording time {first:g} s to {last:g} s"
    labels = [name for name, there in _named(described.labels) if there]
    facts = [
        ("file", described.file or "live"),
        (
            "format",
            f"{described.format}{precision}, {described.bytes:,} bytes, {state}",
        ),
    ]
    if described.run:
        facts += run_facts(described.run)
    if events or not described.run:
        facts.append(("events", ", ".join(events) or "none"))
    facts.append(("steps", f"{counted(described.steps, 'native step')}{time}"))
    if described.steps or not described.run:
        facts += [("h", _durations(described)), ("gravity", _gravity(described))]
    labelled = ", ".join(labels) or "none: nothing says whose each step was"
    return [*facts, ("labels", labelled)]


def _durations(described: "Info") -> str:
    from isoscope.core.summary import counted

    each = [f"{t.h_s:g} s in {counted(t.count, 'step')}" for t in described.time_steps]
    return ", ".join(_first(each)) or "unknown"


def _gravity(described: "Info") -> str:
    runs = described.gravity
    if len(runs) == 1:
        return f"{_vector(runs[0].value)} m/s²"
    each = [
        f"{_vector(run.value)} m/s² in native {run.first_native} to {run.last_native}"
        for run in runs
    ]
    return "; ".join(_first(each)) or "unknown"


def _first(each: list[str]) -> list[str]:
    """The first few, and how many more there are."""
    if len(each) <= LISTED_AT_MOST:
        return each
    return [*each[:LISTED_AT_MOST], f"and {len(each) - LISTED_AT_MOST:,} more"]


def _vector(values: list[float]) -> str:
    return "(" + ", ".join(f"{v:g}" for v in values) + ")"


def _actors(actors: list["ActorInfo"]) -> "Table":
    from isoscope.core.natural import shortened

    table = console.table(
        "actor",
        "type",
        "static",
        "native steps",
        "fields",
        "handle",
        right=("fields", "handle"),
        title="Actors",
    )
    for actor in actors:
        end = "end" if actor.destroyed_native is None else str(actor.destroyed_native)
        static = "unknown" if actor.static is None else "yes" if actor.static else "no"
        table.add_row(
            console.text(shortened(actor.name, LONGEST_NAME)),
            console.text(shortened(actor.type, LONGEST_NAME)),
            static,
            f"{actor.created_native}:{end}",
            str(len(actor.fields)),
            str(actor.handle),
        )
    return table


def _fields(actors: list["ActorInfo"]) -> list["Table"]:
    """A table for each set of actors that have the same fields."""
    from isoscope.core.natural import shortened
    from isoscope.core.recording.schema import meaning
    from isoscope.core.summary import listed

    alike: dict[tuple[Any, ...], list[ActorInfo]] = {}
    for actor in actors:
        form = sorted(
            (f.name, _dtype(f), tuple(f.shape), f.ragged) for f in actor.fields
        )
        alike.setdefault(tuple(form), []).append(actor)
    tables = []
    for group in alike.values():
        names = list(dict.fromkeys(shortened(actor.name) for actor in group))
        if len(names) > NAMED_AT_MOST:
            rest = len(names) - NAMED_AT_MOST + 1
            names = [*names[: NAMED_AT_MOST - 1], f"{rest} more"]
        if not group[0].fields:
            continue
        fields = sorted(
            group[0].fields, key=lambda f: (KINDS.index(meaning(f.name).kind), f.name)
        )
        present: dict[str, list[int]] = {}
        for actor in group:
            for field in actor.fields:
                present.setdefault(field.name, []).append(field.present)
        tables.append(_field_table(fields, present, f"Fields of {listed(names)}"))
    return tables


def _field_table(
    fields: list["FieldInfo"], present: dict[str, list[int]], title: str
) -> "Table":
    from isoscope.core.natural import shortened

    table = console.table(
        "field",
        "dtype",
        "shape",
        "unit",
        "present in",
        right=("present in",),
        title=title,
    )
    for field in fields:
        fewest, most = min(present[field.name]), max(present[field.name])
        span = f"{fewest:,}" if fewest == most else f"{fewest:,} to {most:,}"
        unit = "?" if field.unit is None else field.unit
        table.add_row(
            console.text(shortened(field.name, LONGEST_NAME)),
            _dtype(field),
            _shape(field),
            unit,
            span,
        )
    return table


def _dtype(field: "FieldInfo") -> str:
    """Its dtype; text may be of any length."""
    return "text" if field.dtype[:1] in "SU" else field.dtype


def _shape(field: "FieldInfo") -> str:
    if field.ragged:
        return "varies"
    return ", ".join(str(size) for size in field.shape) or "scalar"


def _warnings(warnings: list[str]) -> "Table":
    table = console.table(f"Warnings ({len(warnings):,})")
    for warning in warnings:
        table.add_row(console.text(warning))
    return table


def _supports(described: "Info") -> "Table":
    table = console.table("use", "", "why", title="What it can be used for")
    for name, answer in _named(described.supports):
        colour = "green" if answer.answer == "yes" else "yellow"
        table.add_row(
            name, console.text(answer.answer, colour), console.text(answer.reason)
        )
    return table


def _named(struct: Any) -> list[tuple[str, Any]]:
    """The names and values of a struct."""
    return [(name, getattr(struct, name)) for name in struct.__struct_fields__]

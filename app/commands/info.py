"""``isoscope info``: what a recording holds, and what it can be used for."""

from typing import TYPE_CHECKING, Any

from isoscope.app import console
from isoscope.app.commands.options import AsJson, File

if TYPE_CHECKING:
    from rich.table import Table

    from isoscope.core.recording.info import ActorInfo, Info

NAMED_AT_MOST = 4  # actors with the same fields that are named; more are counted
GRAVITIES_AT_MOST = 4


def info(file: File, as_json: AsJson = False) -> int:
    """Say what a recording holds and can be used for."""
    from isoscope.app.loading import load_told
    from isoscope.core.recording.info import info as describe

    described = describe(load_told(file))
    if as_json:
        console.emit_json(described)
        return 0
    parts: list[Any] = [console.facts(_facts(described))]
    if described.actors:
        parts += [_actors(described.actors), *_fields(described.actors)]
    console.emit(*parts, _supports(described))
    return 0


def _facts(described: "Info") -> list[tuple[str, str]]:
    from isoscope.core.summary import counted

    state = "complete" if described.complete else "not complete"
    precision = f", {described.precision}" if described.precision else ""
    events = [f"{n:,} {kind}" for kind, n in named(described.events) if n]
    first, last = described.recording_time_s
    time = "" if first is None or last is None else f", {first:g} s to {last:g} s"
    labels = [name for name, there in named(described.labels) if there]
    return [
        ("file", described.file),
        (
            "format",
            f"{described.format}{precision}, {described.bytes:,} bytes, {state}",
        ),
        ("events", ", ".join(events) or "none"),
        ("steps", f"{counted(described.steps, 'native step')}{time}"),
        ("h", _durations(described)),
        ("gravity", _gravity(described)),
        ("labels", ", ".join(labels) or "none: nothing says whose each step was"),
    ]


def _durations(described: "Info") -> str:
    from isoscope.core.summary import counted

    each = [f"{t.h_s:g} s in {counted(t.count, 'step')}" for t in described.time_steps]
    return ", ".join(each) or "unknown"


def _gravity(described: "Info") -> str:
    if not described.gravity:
        return "unknown"
    runs = [
        f"{_vector(run.value)} m/s² (native {run.first_native} to {run.last_native})"
        for run in described.gravity[:GRAVITIES_AT_MOST]
    ]
    if len(described.gravity) == 1:
        return f"{_vector(described.gravity[0].value)} m/s²"
    more = len(described.gravity) - len(runs)
    return "; ".join(runs) + (f"; and {more} more" if more else "")


def _vector(values: list[float]) -> str:
    return "(" + ", ".join(f"{v:g}" for v in values) + ")"


def _actors(actors: list["ActorInfo"]) -> "Table":
    from rich.text import Text

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
            Text(actor.name),
            Text(actor.type),
            static,
            f"{actor.created_native}:{end}",
            str(len(actor.fields)),
            str(actor.handle),
        )
    return table


def _fields(actors: list["ActorInfo"]) -> list["Table"]:
    """A table for each set of actors that have the same fields."""
    from rich.text import Text

    from isoscope.core.summary import listed

    alike: dict[tuple[Any, ...], list[ActorInfo]] = {}
    for actor in actors:
        form = tuple((f.name, f.dtype, tuple(f.shape), f.ragged) for f in actor.fields)
        if form:
            alike.setdefault(form, []).append(actor)
    tables = []
    for group in alike.values():
        names = list(dict.fromkeys(actor.name for actor in group))
        if len(names) > NAMED_AT_MOST:
            rest = len(names) - NAMED_AT_MOST + 1
            names = [*names[: NAMED_AT_MOST - 1], f"{rest} more"]
        table = console.table(
            "field",
            "dtype",
            "shape",
            "unit",
            "present in",
            right=("present in",),
            title=f"Fields of {listed(names)}",
        )
        for index, field in enumerate(group[0].fields):
            counts = sorted(actor.fields[index].present for actor in group)
            span = f"{counts[0]:,}"
            if counts[-1] != counts[0]:
                span += f" to {counts[-1]:,}"
            table.add_row(
                Text(field.name), field.dtype, _shape(field), _unit(field.unit), span
            )
        tables.append(table)
    return tables


def _shape(field: Any) -> str:
    if field.ragged:
        return "varies"
    return ", ".join(str(size) for size in field.shape) or "one"


def _unit(unit: str | None) -> str:
    return "?" if unit is None else unit


def _supports(described: "Info") -> "Table":
    from rich.text import Text

    table = console.table("use", "", "why", title="What it can be used for")
    for name, answer in named(described.supports):
        colour = "green" if answer.answer == "yes" else "yellow"
        table.add_row(name, Text(answer.answer, colour), Text(answer.reason))
    return table


def named(struct: Any) -> list[tuple[str, Any]]:
    """The names and values of a struct, or of a dictionary."""
    if isinstance(struct, dict):
        return list(struct.items())
    return [(name, getattr(struct, name)) for name in struct.__struct_fields__]

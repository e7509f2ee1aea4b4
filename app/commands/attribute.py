"""``isoscope attribute``: whose each native step of a shared scene was."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from isoscope.app import console
from isoscope.app.commands.options import AsJson, File, LabelFile, Overwrite, Substeps

if TYPE_CHECKING:
    from rich.table import Table

    from isoscope.core.attribution.report import AttributeResult
    from isoscope.core.isolation.context import Examined
    from isoscope.core.replay.episodes import Episode

LISTED_AT_MOST = 40  # episodes, missed restores, rewinds
Out = Annotated[
    Path | None,
    typer.Option(
        "--out",
        metavar="F",
        help="Write the JSON object to a new file.",
        show_default=False,
    ),
]


def attribute(
    file: File,
    substeps: Substeps = None,
    labels: LabelFile = None,
    as_json: AsJson = False,
    out: Out = None,
    overwrite: Overwrite = False,
) -> int:
    """Give every native step back to the environment that took it."""
    from isoscope.app.examining import examine
    from isoscope.core.attribution.report import report
    from isoscope.core.newfile import refuse_bad_target

    sources = [file, labels]
    if out is not None:
        refuse_bad_target(out, overwrite=overwrite, sources=sources)
    examined = examine(file, substeps, labels)
    found = report(examined.recording, examined.attribution)
    if out is not None:
        from isoscope.core.jsonform import encode
        from isoscope.core.newfile import new_file

        with new_file(out, overwrite=overwrite, sources=sources) as target:
            target.write(encode(found) + b"\n")
        console.tell(f"wrote {len(found.steps):,} native steps to {out}")
    if as_json:
        console.emit_json(found)
    elif out is None:
        console.emit(*_parts(examined, found))
    return 0


def _parts(examined: "Examined", found: "AttributeResult") -> list[Any]:
    from isoscope.core.isolation.sentence import what_it_is

    sentence = what_it_is(examined.recording, examined.attribution)
    parts: list[Any] = [sentence, console.facts(_facts(found))]
    episodes = _episodes(examined)
    if episodes is not None:
        parts.append(episodes)
    lines = _events(found)
    if lines:
        parts.append(_lines("What else happened", lines))
    return parts


def _facts(found: "AttributeResult") -> list[tuple[str, str]]:
    substeps = found.substeps_how or "unknown"
    if found.substeps is not None:
        substeps = f"{found.substeps}: {found.substeps_how}"
    rows = [("file", found.file), ("substeps", substeps)]
    free = any(step.kind == "free" for step in found.steps[:1])
    if found.origin == "recording" and not free:
        rows.append(("origin", "the recording: it began in the middle of an episode"))
    if found.order is not None:
        rows.append(("order of turns", found.order))
    why = ", ".join(f"{key} in {count:,}" for key, count in found.reasons.items())
    rows.append(("unknown", f"{found.unknown:,} of {len(found.steps):,} native steps"))
    if why:
        rows.append(("reasons", why))
    rows.append(("largest residual", _metres(found.max_residual)))
    rows.append(("smallest margin", _metres(found.min_margin)))
    return rows


def _metres(value: float | None) -> str:
    return "unknown" if value is None else f"{value:.3g} m"


def _episodes(examined: "Examined") -> "Table | None":
    from isoscope.core.replay.episodes import episodes_of

    every = [e for own in episodes_of(examined).values() for e in own]
    if not every:
        return None
    table = console.table(
        "env",
        "episode",
        "native steps",
        "from",
        "to",
        "control steps",
        "begins with",
        right=("env", "episode", "native steps", "from", "to", "control steps"),
        title="Episodes",
    )
    for episode in every[:LISTED_AT_MOST]:
        table.add_row(*_row(examined, episode))
    if len(every) > LISTED_AT_MOST:
        more = len(every) - LISTED_AT_MOST
        table.add_row("", "", "", "", "", "", f"and {more:,} more: --json has all")
    return table


def _row(examined: "Examined", episode: "Episode") -> tuple[str, ...]:
    found, rows = examined.attribution, episode.rows
    control = int(found.labels.control_step[rows].max())
    if found.substeps is None:
        control = -1
    begins = "its reset" if episode.whole else "the recording"
    if not found.linked[rows[0]]:
        begins += "; whose it is, is not proven"
    return (
        str(episode.env),
        str(episode.number),
        f"{len(rows):,}",
        f"{int(rows[0]):,}",
        f"{int(rows[-1]):,}",
        "?" if control < 0 else f"{control:,}",
        begins,
    )


def _events(found: "AttributeResult") -> list[str]:
    from isoscope.core.isolation.words import env_named, place_text

    lines = []
    for missed in found.missed_restores[:LISTED_AT_MOST]:
        place = place_text(missed.episode, missed.control_step)
        lines.append(
            f"native step {missed.native}: {env_named(missed.env)} went on from "
            f"{env_named(missed.victim.env)}'s state"
            + (f" at {place}" if place else "")
        )
    for rewind in found.rewinds[:LISTED_AT_MOST]:
        to = "the beginning" if rewind.to_native is None else str(rewind.to_native)
        lines.append(
            f"native step {rewind.native}: {env_named(rewind.env)} went back to "
            + (to if rewind.to_native is None else f"the state after native step {to}")
        )
    lines += [
        f"{body.actor} was moved outside of the steps before {body.steps:,} of them"
        for body in found.bodies
    ]
    return [*lines, *found.notes]


def _lines(title: str, lines: list[str]) -> "Table":
    from rich.text import Text

    table = console.table(title)
    for line in lines:
        table.add_row(Text(line))
    return table

"""``isoscope validate``: whether episodes can be trusted, rule by rule."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from isoscope.app import console
from isoscope.app.commands.options import AsJson, LabelFile, Overwrite, Substeps
from isoscope.app.extras import needs

if TYPE_CHECKING:
    from rich.table import Table

    from isoscope.core.dataset.validate.report import Report

BLOCKED = 1
EPISODES_LISTED = 50
PLACES_LISTED = 3
Source = Annotated[
    Path,
    typer.Argument(
        metavar="SRC", help="A recording, or a dataset.", show_default=False
    ),
]
TransitionsFile = Annotated[
    Path | None,
    typer.Option(
        "--transitions",
        metavar="F",
        help="Observations, actions and rewards of a bare recording: JSON or .npz.",
        show_default=False,
    ),
]
WorkspaceFile = Annotated[
    Path | None,
    typer.Option(
        "--workspace",
        metavar="W",
        help="Edits made before: episodes rejected, trimmed, split, tagged.",
        show_default=False,
    ),
]
Where = Annotated[
    str | None,
    typer.Option(
        "--where",
        metavar="QUERY",
        help='Only these episodes, such as "length > 50 and not findings".',
        show_default=False,
    ),
]
Listed = Annotated[
    str | None,
    typer.Option(
        "--episodes",
        metavar="LIST",
        help="Only these episodes: places from 0, ranges, ids, such as 0,2-4.",
        show_default=False,
    ),
]
Waive = Annotated[
    list[str] | None,
    typer.Option(
        "--waive",
        metavar="RULE=WHY",
        help="Let a rule fail, and say why; it is told to whoever gets the data.",
        show_default=False,
    ),
]


def validate(
    source: Source,
    transitions: TransitionsFile = None,
    workspace: WorkspaceFile = None,
    episodes: Listed = None,
    where: Where = None,
    waive: Waive = None,
    substeps: Substeps = None,
    labels: LabelFile = None,
    as_json: AsJson = False,
    html: Annotated[
        Path | None,
        typer.Option(
            "--html",
            metavar="OUT",
            help="Write a report to look at.",
            show_default=False,
        ),
    ] = None,
    junit: Annotated[
        Path | None,
        typer.Option(
            "--junit",
            metavar="OUT",
            help="Write a JUnit file for CI.",
            show_default=False,
        ),
    ] = None,
    overwrite: Overwrite = False,
) -> int:
    """Check episodes rule by rule, before anybody trains on them.

    Exit status 1 if something would block their export, 2 if they can't be read.
    """
    with needs("validating"):
        from isoscope.app.datasets import choose, open_dataset, validated, waivers_of
    from isoscope.core.errors import UsageError
    from isoscope.core.newfile import new_file, refuse_bad_target, same_place

    if same_place(html, junit):
        raise UsageError(f"--html and --junit both name {html}")
    sources = [source, transitions, workspace]
    for out in (html, junit):
        if out is not None:
            refuse_bad_target(out, overwrite=overwrite, sources=sources)
    waivers = waivers_of(waive or [])
    chosen = choose(
        open_dataset(source, transitions, substeps, labels), workspace, episodes, where
    )
    report = validated(chosen, waivers)
    given = {
        "--transitions": transitions,
        "--workspace": workspace,
        "--episodes": episodes,
        "--where": where,
        "--substeps": substeps,
        "--labels": labels,
    }
    again = [console.PROGRAM, "validate", str(source)]
    for name, value in given.items():
        again += [] if value is None else [name, str(value)]
    for text in waive or []:
        again += ["--waive", text]
    for out, write in ((html, _html), (junit, _junit)):
        if out is not None:
            with new_file(out, overwrite=overwrite, sources=sources) as file:
                file.write(write(report, again))
            console.tell(f"wrote {out}")
    if as_json:
        console.emit_json(report)
    elif html is None and junit is None:
        console.emit(*parts(report))
    return BLOCKED if report.blocking else 0


def _html(report: "Report", command: list[str]) -> bytes:
    from isoscope.app.reports.validation import validation_page

    return validation_page(report, command).encode()


def _junit(report: "Report", _: list[str]) -> bytes:
    from isoscope.app.reports.validation_junit import validation_junit

    return validation_junit(report)


# -- tables ----------------------------------------------------------------------------


def parts(report: "Report") -> list[Any]:
    """A report as a sentence and tables."""
    from isoscope.app.reports.validation_words import sentence_of

    out: list[Any] = [sentence_of(report), _rules(report)]
    if report.dropped:
        out.append(dropped_table(report.dropped))
    out.append(_episodes(report))
    return out


def dropped_table(dropped: "list[dict[str, Any]]") -> "Table":
    """Rows that are no transitions, by reason."""
    table = console.table("rows", "left out because", right=("rows",))
    for one in dropped:
        table.add_row(f"{one['count']:,}", console.text(one["why"]))
    return table


def _rules(report: "Report") -> "Table":
    from rich.text import Text

    from isoscope.core.dataset.validate.words import place_text, told

    colours = {"passed": "green", "waived": "yellow", "not_checkable": "dim"}
    table = console.table("rule", "", "times", "what", "where", right=("times",))
    for rule in report.rules:
        colour = "red" if rule.blocks else colours.get(rule.answer, "yellow")
        answer = rule.answer.replace("_", " ")
        if rule.answer == "failed":
            answer += f" ({rule.severity})"
        places = "; ".join(place_text(one) for one in rule.where[:PLACES_LISTED])
        table.add_row(
            rule.id,
            Text(answer, colour),
            f"{rule.count:,}" if rule.count else "",
            console.text(told(rule)),
            console.text(places),
        )
    return table


def _episodes(report: "Report") -> "Table":
    from isoscope.app.reports.validation_words import ended
    from isoscope.core.dataset.validate.words import number

    table = console.table(
        "episode", "env", "length", "ended", "return", right=("env", "length", "return")
    )
    for line in report.episodes[:EPISODES_LISTED]:
        table.add_row(
            console.text(line.id),
            "" if line.env is None else str(line.env),
            f"{line.length:,}",
            ended(line),
            "" if line.return_ is None else number(line.return_),
        )
    rest = len(report.episodes) - EPISODES_LISTED
    if rest > 0:
        table.add_row(f"and {rest:,} more", "", "", "", "")
    return table

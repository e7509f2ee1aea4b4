"""``isoscope explain``: what a finding or a symptom means, and what was found of it."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from isoscope.app import console
from isoscope.app.commands.options import AsJson, Substeps

if TYPE_CHECKING:
    from isoscope.core.isolation.explain.explaining import Explained, ExplainedCheck

Asked = Annotated[
    str,
    typer.Argument(
        metavar="ID|SYMPTOM",
        help="A check's id, or a symptom's name or words of it; “list” lists them.",
        show_default=False,
    ),
]
File = Annotated[
    Path | None,
    typer.Argument(
        metavar="[FILE]",
        help="A recording: what these checks find in it is said, too.",
        show_default=False,
    ),
]
SHOWN = 5  # findings of a check


def explain(
    asked: Asked,
    file: File = None,
    substeps: Substeps = None,
    as_json: AsJson = False,
) -> int:
    """Explain a finding's id or a symptom, also for one recording.

    Says what it means, how it comes about, what to do, and what to record.
    """
    import msgspec
    from rich.text import Text

    from isoscope.core.isolation.explain import explaining

    if asked == "list":
        return _list(as_json=as_json)
    explaining.explain(asked)  # before anything is read
    audit = None
    if file is not None:
        from isoscope.app.examining import examine
        from isoscope.core.isolation.audit import audit as run
        from isoscope.core.isolation.context import Context

        context = Context(examine(file, substeps, margins=False))
        with console.progress(f"checking {file.name}") as report:
            audit = run(context, report)
    found = explaining.explain(asked, audit)
    if as_json:
        console.emit_json(msgspec.to_builtins(found))
    else:
        console.emit(Text("\n".join(_lines(found)).rstrip()))
    return 0


def _list(*, as_json: bool) -> int:
    from isoscope.core.isolation.explain.symptoms import SYMPTOMS
    from isoscope.core.isolation.registry import all_checks

    checks = all_checks()
    if as_json:
        symptoms = [
            {"key": s.key, "text": s.text, "checks": list(s.checks)} for s in SYMPTOMS
        ]
        told = {"schema": "isoscope.explain/1", "symptoms": symptoms}
        console.emit_json({**told, "ids": list(checks)})
        return 0
    table = console.table("symptom", "what is noticed")
    for symptom in SYMPTOMS:
        table.add_row(symptom.key, symptom.text)
    ids = console.table("check", "severity", "what it looks for")
    for key, check in checks.items():
        ids.add_row(key, check.SEVERITY, check.ABOUT)
    console.emit(table, ids)
    return 0


def _lines(found: "Explained") -> list[str]:
    lines = []
    if found.symptom is not None:
        lines += [found.symptom, ""]
    for check in found.checks:
        lines += _of_check(check, brief=found.symptom is not None)
    if found.record is not None:
        lines += [f"to make all of them possible: {found.record}"]
    return lines


def _of_check(check: "ExplainedCheck", *, brief: bool) -> list[str]:
    lines = [f"{check.id} ({check.severity})", f"  {check.means}"]
    if not brief:
        if check.comes_about:
            lines.append(f"  How it comes about: {check.comes_about}")
        lines.append(f"  It needs: {check.needs}.")
    if check.do:
        lines.append(f"  What to do: {check.do}")
    if check.state == "found":
        lines.append(f"  Found here: {check.found}")
        lines += [f"    {finding.message}" for finding in check.findings[:SHOWN]]
        if check.found > SHOWN:
            lines.append(f"    and {check.found - SHOWN:,} more (isoscope audit)")
    elif check.state == "clean":
        lines.append("  Found here: nothing")
    elif check.state == "not_run" and check.not_run is not None:
        lines.append(f"  Could not run here: {check.not_run.reason}")
        lines.append(f"    it needs {check.not_run.needs}")
    return [*lines, ""]

"""``isoscope doctor``: what works on this machine, and how to mend what does not."""

from isoscope.app import console
from isoscope.app.commands.options import AsJson

MARKS = {"ok": "green", "missing": "yellow", "broken": "bold red"}
_NARROW = ("what", "answer", "detail")


def doctor(as_json: AsJson = False) -> int:
    """Say what works on this machine, and what is missing.

    Exit status 1 if something is there and broken; what is optional and missing is
    fine.
    """
    from isoscope.app.doctor.examine import examine
    from isoscope.core.summary import counted

    with console.progress("looking at this machine") as report:
        found = examine(report)
    status = 1 if found.broken else 0
    if as_json:
        console.emit_json(found)
        return status
    wide = not console.in_terminal()
    columns = ("what", "answer", "detail", "what to do") if wide else _NARROW
    table = console.table(*columns)
    for check in found.checks:
        name, answer = (
            console.text(check.name),
            console.text(check.answer, MARKS[check.answer]),
        )
        if wide:
            table.add_row(
                name, answer, console.text(check.detail), console.text(check.remedy)
            )
        else:
            detail = console.text(check.detail)
            if check.remedy:
                detail.append("\n").append(console.text(f"→ {check.remedy}", "dim"))
            table.add_row(name, answer, detail)
    counts = [counted(len(found.broken), "check") + " broken"] if found.broken else []
    missing = sum(check.answer == "missing" for check in found.checks)
    if missing:
        counts.append(f"{missing} missing, all of them optional")
    summary = ", ".join(counts) or "everything is there"
    console.emit(f"{found.python} on {found.platform}", table, f"{summary}.")
    return status

"""What `isoscope info` says of the run in a labelled recording."""

from typing import TYPE_CHECKING

from isoscope.app import console

if TYPE_CHECKING:
    from rich.table import Table

    from isoscope.core.recording.labelled.run_info import Count, RunInfo

NAMED_AT_MOST = 8  # seeds, chunk states


def run_facts(run: "RunInfo") -> list[tuple[str, str]]:
    """Names and values, what is not told left out."""
    found = [
        ("what-if branch of", run.branch_of),
        ("engine", ", ".join(filter(None, (run.engine, run.precision)))),
        ("environment", run.environment),
        ("environments", _environments(run)),
        ("rates", _rates(run)),
        ("autoreset", run.autoreset_mode),
        ("seeds", _seeds(run)),
        ("control steps", _steps(run)),
        ("chunks", _counts(run.chunks)),
        ("kept", _kept(run)),
        ("dropped", _counts(run.dropped)),
        ("end", "" if run.ended else "not marked: cut, or still being written"),
    ]
    return [(name, value) for name, value in found if value]


def failed_table(run: "RunInfo") -> "Table":
    """What failed in the run, each with its environment and place."""
    table = console.table(
        "failed", "env", "native", "message", title=f"Failures ({run.failures:,})"
    )
    for one in run.failed:
        table.add_row(
            console.text(one.what),
            "" if one.env is None else str(one.env),
            "" if one.row is None else f"{one.row:,}",
            console.text(one.message),
        )
    return table


def _environments(run: "RunInfo") -> str:
    if run.environments is None:
        return ""
    said = f"{run.environments:,}"
    if run.shared_scenes is not None:
        shared = "in shared scenes" if run.shared_scenes else "each in its own scene"
        said += f", {shared}"
    if run.processes is not None and run.environments_per_process is not None:
        said += f", P = {run.processes}, K = {run.environments_per_process}"
    return said


def _rates(run: "RunInfo") -> str:
    rates = [("f_s", run.simulation_hz, " Hz"), ("f_c", run.control_hz, " Hz")]
    rates.append(("M", run.substeps, ""))
    return ", ".join(f"{k} = {v:g}{unit}" for k, v, unit in rates if v is not None)


def _seeds(run: "RunInfo") -> str:
    if all(seed is None for seed in run.seeds):
        return ""
    each = ["none" if seed is None else str(seed) for seed in run.seeds]
    more = len(each) - NAMED_AT_MOST
    return ", ".join(each[:NAMED_AT_MOST]) + (f" and {more:,} more" if more > 0 else "")


def _steps(run: "RunInfo") -> str:
    from isoscope.core.summary import counted

    ended = counted(run.episodes_ended, "episode")
    return f"{run.control_steps:,}, {counted(run.resets, 'reset')}, {ended} ended"


def _kept(run: "RunInfo") -> str:
    from isoscope.core.summary import counted

    parts = []
    if run.snapshots:
        parts.append(counted(run.snapshots, "snapshot"))
    if run.configuration_changes:
        many = counted(run.configuration_changes, "change")
        parts.append(f"{many} of the persistent configuration")
    return ", ".join(parts)


def _counts(found: list["Count"]) -> str:
    each = [f"{one.count:,} {one.name}" for one in found]
    more = len(each) - NAMED_AT_MOST
    return ", ".join(each[:NAMED_AT_MOST]) + (f" and {more:,} more" if more > 0 else "")

"""``isoscope bench``: how fast the program is here, as ratios against a plain way."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, Any, TypeAlias

import typer

from isoscope.app import console
from isoscope.app.commands.options import AsJson
from isoscope.app.extras import needs

cli = typer.Typer(
    help="Measure how fast the program is on this machine.",
    rich_markup_mode=None,
)
BenchFile: TypeAlias = Annotated[
    Path | None,
    typer.Option(
        "--file",
        metavar="FILE",
        help="A recording to measure on; .xz is unpacked first. "
        "By default tests/data/cartpole_20k.h5.xz.",
        show_default=False,
    ),
]


@cli.command("open")
def open_(file: BenchFile = None, as_json: AsJson = False) -> int:
    """Read a recording, against a plain loop and from the cache."""
    from isoscope.app.bench.open_bench import run

    with _unpacked(file) as path:
        return _report("open", run(path), as_json)


@cli.command()
def seek(file: BenchFile = None, as_json: AsJson = False) -> int:
    """Seek in the window, against drawing the scene alone."""
    with needs("the window"), _unpacked(file) as path:
        from isoscope.app.bench.seek_bench import run

        return _report("seek", run(path), as_json)


@cli.command()
def attribute(as_json: AsJson = False) -> int:
    """Attribute generated runs, against indexing the same file."""
    from isoscope.app.bench.attribute_bench import run

    return _report("attribute", run(), as_json)


@cli.command()
def audit(as_json: AsJson = False) -> int:
    """Audit a labelled recording, against reading it, and a live run, against none."""
    with needs("simulating"):
        import gymnasium  # noqa: F401
        import torch  # noqa: F401

        from isoscope.app.bench.audit_bench import run

    return _report("audit", run(), as_json)


@cli.command()
def collect(as_json: AsJson = False) -> int:
    """Join chunks into a trajectory, against stacking the same tensors plainly."""
    with needs("collecting"):
        from isoscope.app.bench.collect_bench import run

        return _report("collect", run(), as_json)


@cli.command()
def fidelity(as_json: AsJson = False) -> int:
    """Compare the simulator with the real engine, MuJoCo and laws of mechanics."""
    with needs("the simulator"):
        from isoscope.app.bench.fidelity_bench import run

        return _report("fidelity", run(), as_json)


@cli.command()
def simulate(as_json: AsJson = False) -> int:
    """Step many worlds, against MuJoCo and SuperDex where they are."""
    with needs("simulating"):
        from isoscope.app.bench.simulate_bench import run

        return _report("simulate", run(), as_json)


@cli.command()
def replay(as_json: AsJson = False) -> int:
    """Step a recording again: a jump, and comparing, against stepping plainly."""
    with needs("simulating"):
        from isoscope.app.bench.replay_bench import run

        return _report("replay", run(), as_json)


@cli.command()
def timeline(as_json: AsJson = False) -> int:
    """Paint a timeline of a million chunks, against one of a thousand."""
    with needs("the window"):
        from isoscope.app.bench.timeline_bench import run

        return _report("timeline", run(), as_json)


@cli.command()
def record(as_json: AsJson = False) -> int:
    """Step the real engine with the tap, against without it."""
    from isoscope.app.bench.record_bench import run

    return _report("record", run(), as_json)


@cli.command("export")
def export_(as_json: AsJson = False) -> int:
    """Export to LeRobot, against lerobot's own writer and against plain Parquet."""
    with needs("exporting"):
        from isoscope.app.bench.export_bench import run

        return _report("export", run(), as_json)


@cli.command()
def live(as_json: AsJson = False) -> int:
    """Watch a demo: its pace against headless, the window against an idle one."""
    with needs("simulating"):
        import torch  # noqa: F401
    with needs("the window"):
        from isoscope.app.bench.live_bench import run

        return _report("live", run(), as_json)


@contextmanager
def _unpacked(file: Path | None) -> Iterator[Path]:
    from isoscope.app.bench.sample import unpacked

    with unpacked(file) as path:
        yield path


def _report(name: str, measured: dict[str, Any], as_json: bool) -> int:
    from isoscope.core.bench import Bench, this_machine

    figures = dict(measured)
    runs = int(figures.pop("runs"))
    report = Bench(name, this_machine(), runs, figures)
    if as_json:
        console.emit_json(report.written())
        return 0
    machine = report.machine
    where = f"{machine.cores} cores, {machine.cpu}, {machine.gpu or 'no GPU'}"
    table = console.table("figure", "value")
    for key, value in figures.items():
        table.add_row(key, console.text(_shown(value)))
    console.emit(f"bench {name}, {runs} runs on {where}", table)
    return 0


def _shown(value: object) -> str:
    if value is None:
        return "unknown"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, list):
        return ", ".join(_shown(item) for item in value)
    if isinstance(value, float):
        return f"{value:,.4g}" if abs(value) < 1e4 else f"{value:,.0f}"
    return f"{value:,}" if isinstance(value, int) else str(value)

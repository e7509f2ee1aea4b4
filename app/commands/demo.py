"""``isoscope demo``: run a task that ships, with faults where they are wanted."""

from contextlib import ExitStack
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from isoscope.app import console
from isoscope.app.commands.options import (
    AsJson,
    Layout,
    Overwrite,
    PauseOn,
    Size,
    Theme,
)
from isoscope.app.extras import needs
from isoscope.core.errors import UsageError

if TYPE_CHECKING:
    from isoscope.core.demo import Demo

FOUND = 1


class SceneName(StrEnum):
    """Kinds of scenes."""

    shared = "shared"
    independent = "independent"
    resident = "resident"


class PrecisionName(StrEnum):
    """Of positions and velocities."""

    float32 = "float32"
    float64 = "float64"


class AutoresetName(StrEnum):
    """Gymnasium's autoreset modes."""

    next_step = "next_step"
    same_step = "same_step"
    disabled = "disabled"


class PolicyName(StrEnum):
    """What acts."""

    zero = "zero"
    random = "random"
    smooth = "smooth"


def demo(
    task: Annotated[
        str, typer.Option("--task", metavar="NAME", help="A task that ships.")
    ] = "CartPole",
    envs: Annotated[
        int | None,
        typer.Option(
            "--envs",
            metavar="N",
            help="Environments.",
            show_default="8 in the window, 4 without",
        ),
    ] = None,
    scene: Annotated[
        SceneName,
        typer.Option(
            "--scene",
            help="One scene that they step in turn; one each; or all in one batch on "
            "the device.",
        ),
    ] = SceneName.shared,
    steps: Annotated[
        int | None,
        typer.Option(
            "--steps",
            metavar="N",
            help="Control steps of every environment.",
            show_default="200 without the window, endless in it",
        ),
    ] = None,
    device: Annotated[
        str, typer.Option("--device", help="cpu, cuda, or auto for what there is.")
    ] = "auto",
    precision: Annotated[
        PrecisionName, typer.Option("--precision", help="Of the simulation.")
    ] = PrecisionName.float64,
    control_hz: Annotated[
        int | None,
        typer.Option(
            "--control-hz",
            metavar="F",
            help="Actions a second; divides the simulation's frequency.",
            show_default="the task's",
        ),
    ] = None,
    seed: Annotated[
        int,
        typer.Option("--seed", metavar="S", help="Environment g gets S + g."),
    ] = 0,
    policy: Annotated[
        PolicyName,
        typer.Option("--policy", help="What acts; smooth carries on what it did."),
    ] = PolicyName.random,
    workers: Annotated[
        int,
        typer.Option(
            "--workers", metavar="P", help="Processes that share the environments."
        ),
    ] = 0,
    autoreset: Annotated[
        AutoresetName, typer.Option("--autoreset", help="Who resets, and when.")
    ] = AutoresetName.next_step,
    fault: Annotated[
        list[str] | None,
        typer.Option(
            "--fault",
            metavar="NAME@ENV:EPISODE/K",
            help="A fault to put in; may be given several times.",
            show_default=False,
        ),
    ] = None,
    list_faults: Annotated[
        bool, typer.Option("--list-faults", help="Say which faults there are.")
    ] = False,
    record: Annotated[
        Path | None,
        typer.Option(
            "--record",
            metavar="F",
            help="Record all of it into a file, *.isoscope.h5.",
            show_default=False,
        ),
    ] = None,
    overwrite: Overwrite = False,
    headless: Annotated[
        bool, typer.Option("--headless", help="Without the window.")
    ] = False,
    speed: Annotated[
        float,
        typer.Option(
            "--speed",
            metavar="X",
            help="In the window: times as fast as the robot's time; 0 for as fast as "
            "it can.",
        ),
    ] = 1.0,
    chunk: Annotated[
        int,
        typer.Option(
            "--chunk",
            metavar="C",
            help="In the window: actions that the policy chooses at once; 0 for one "
            "by one.",
        ),
    ] = 4,
    seconds: Annotated[
        float | None,
        typer.Option(
            "--seconds",
            metavar="S",
            help="In the window: how long to watch; then it is closed.",
            show_default="until it is closed, 6 with --screenshot",
        ),
    ] = None,
    screenshot: Annotated[
        Path | None,
        typer.Option(
            "--screenshot",
            metavar="OUT.png",
            help="Save a picture of the window at the end.",
            show_default=False,
        ),
    ] = None,
    theme: Theme = None,
    layout: Layout = None,
    size: Size = None,
    pause_on: PauseOn = None,
    as_json: AsJson = False,
) -> int:
    """Watch a task that ships, with faults put in where wanted.

    Exit status 1 if the run ended before its time.
    """
    with needs("simulating"):
        import gymnasium  # noqa: F401
        import torch

        from isoscope.app.demo.live_settings import ENDLESS
        from isoscope.app.demo.recording import DemoRecorder
        from isoscope.app.demo.run import DemoRun
        from isoscope.app.demo.settings import DemoSettings
        from isoscope.core.envs.faults.order import parse_order
    if list_faults:
        _list_faults(as_json)
        return 0
    settings = DemoSettings(
        task=task,
        envs=(4 if headless else 8) if envs is None else envs,
        scene=scene.value,
        device=device,
        precision=precision.value,
        steps=(200 if headless else ENDLESS) if steps is None else steps,
        control_hz=control_hz,
        seed=seed,
        policy=policy.value,
        workers=workers,
        autoreset=autoreset.value,
        faults=tuple(parse_order(text) for text in fault or ()),
    )
    if not headless:
        if as_json:
            raise UsageError("running a demo: --json is for --headless")
        from isoscope.app.commands.demo_window import LiveOptions, watch_demo
        from isoscope.app.settings import pause_choice

        level = None if pause_on is None else pause_choice(pause_on.value)
        options = LiveOptions(speed, chunk, seconds, record, overwrite, level)
        return watch_demo(settings, options, screenshot, theme, layout, size)
    threads = torch.get_num_threads()
    if scene is not SceneName.resident:
        # For one world at a time, a second thread costs more than it brings.
        torch.set_num_threads(1)
    around = None
    recorder = None
    if record is not None:
        recorder = DemoRecorder(settings, record, overwrite=overwrite)
        around = recorder.around
    try:
        with ExitStack() as stack:
            if recorder is not None:
                stack.callback(recorder.close)
            run = stack.enter_context(DemoRun(settings, around))
            if recorder is not None:
                recorder.listen(run)
            done = run.run(stack.enter_context(console.progress(task)))
    finally:
        torch.set_num_threads(threads)
    for line in done.problems:
        console.warn(line)
    for one in done.faults:
        if not one.happened:
            console.warn(f"{one.name}@{one.place} was never reached")
    if as_json:
        console.emit_json(done)
    else:
        _show(done)
    if done.ended not in ("finished", "stopped"):
        console.warn(f"the run ended early: {done.ended}")
        return FOUND
    return 0


def _list_faults(as_json: bool) -> None:
    from isoscope.core.envs.faults.registry import all_faults

    kinds = all_faults().values()
    if as_json:
        listed = [
            {
                "name": kind.NAME,
                "about": kind.ABOUT,
                "finds": list(kind.FINDS),
                "may_find": list(kind.MAY_FIND),
                "scenes": list(kind.SCENES),
                "autoreset": list(kind.MODES),
                "needs": list(kind.NEEDS),
                "when": kind.WHEN,
            }
            for kind in kinds
        ]
        console.emit_json({"schema": "isoscope.faults/1", "faults": listed})
        return
    table = console.table("fault", "what it does", "found by")
    for kind in kinds:
        table.add_row(kind.NAME, kind.ABOUT, ", ".join(kind.FINDS))
    console.emit(table)


def _show(done: "Demo") -> None:
    where = f"{done.scene}, {done.device}, {done.precision}"
    rows = [
        ("task", f"{done.task}, {done.envs:,} environments ({where})"),
        ("steps", f"{done.control_steps:,} of control each, in {done.seconds:.3g} s"),
    ]
    if done.control_steps_per_s is not None and done.native_steps_per_s is not None:
        rows.append(
            (
                "rate",
                f"{done.control_steps_per_s:,.0f} control steps/s, "
                f"{done.native_steps_per_s:,.0f} native steps/s",
            )
        )
    returns = done.returns
    rows.append(("episodes", f"{done.episodes:,} ended"))
    if returns.mean is not None:
        rows.append(
            (
                "returns",
                f"mean {returns.mean:.4g}, from {returns.min:.4g} to {returns.max:.4g}",
            )
        )
    if done.solver is not None:
        solver = done.solver
        rows.append(
            (
                "solver",
                f"{solver.converged:,} converged, {solver.stopped:,} stopped, "
                f"{solver.diverged:,} diverged",
            )
        )
    if done.ledger is not None:
        ledger = done.ledger
        rows.append(
            (
                "copies",
                f"{ledger['h2d_bytes']:,} bytes to the device, "
                f"{ledger['d2h_bytes']:,} back, {ledger['syncs']:,} waits",
            )
        )
    for one in done.faults:
        places = ", ".join(one.happened) or "nowhere"
        rows.append((one.name, f"wanted at {one.place}, happened at {places}"))
    console.emit(console.facts(rows))

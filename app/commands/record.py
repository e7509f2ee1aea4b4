"""``isoscope record``: run environments, and write what they did to a recording."""

from pathlib import Path
from typing import Annotated

import typer

from isoscope.app import console
from isoscope.app.commands.options import AsJson, Overwrite
from isoscope.app.extras import needs
from isoscope.app.run_settings import RunSettings, Vector


def record(
    out: Annotated[
        Path,
        typer.Option("--out", metavar="F", help="The file to write, *.isoscope.h5."),
    ],
    env: Annotated[
        str | None,
        typer.Option(
            "--env",
            metavar="ID",
            help="A Gymnasium environment's id; isoscope/CartPole-v0 and its like too.",
            show_default=False,
        ),
    ] = None,
    module: Annotated[
        str | None,
        typer.Option(
            "--module",
            metavar="FILE:FACTORY",
            help="A function of a Python file that makes an environment.",
            show_default=False,
        ),
    ] = None,
    envs: Annotated[int, typer.Option("--envs", metavar="N", help="Environments.")] = 1,
    steps: Annotated[
        int,
        typer.Option("--steps", metavar="N", help="Control steps of each of them."),
    ] = 256,
    vector: Annotated[
        Vector | None,
        typer.Option(
            "--vector",
            help="How they are put together: one alone, in turn, a process each, or "
            "processes of several in turn.",
            show_default="none for one environment, else sync",
        ),
    ] = None,
    policy: Annotated[
        str,
        typer.Option(
            "--policy",
            metavar="random|zero|FILE:FUNCTION|CHECKPOINT",
            help="What acts; a function is called with the observations. A checkpoint "
            "is a *.safetensors (docs/replay.md).",
        ),
    ] = "random",
    policy_parts: Annotated[
        str | None,
        typer.Option(
            "--policy-parts",
            metavar="PART,PART",
            help="Of a checkpoint, restore these parts only: policy, normaliser, "
            "connector, hidden, rng. By default all, and half of it is refused.",
            show_default=False,
        ),
    ] = None,
    seed: Annotated[
        int, typer.Option("--seed", help="Of the environments and the actions.")
    ] = 0,
    snapshots: Annotated[
        int,
        typer.Option(
            "--snapshots", metavar="K", help="Control steps between two; 0 for none."
        ),
    ] = 50,
    overwrite: Overwrite = False,
    as_json: AsJson = False,
) -> int:
    """Run environments, and write what they did to a recording.

    Everything that the environments can tell: native steps with whose each was, states,
    control inputs, transitions, seeds, snapshots. Open it like any other recording.
    """
    from isoscope.app.saved_policy import parts_of

    settings = RunSettings(
        out=out,
        env=env,
        module=module,
        envs=envs,
        steps=steps,
        vector=vector or (Vector.NONE if envs == 1 else Vector.SYNC),
        policy=policy,
        policy_parts=parts_of(policy_parts),
        seed=seed,
        snapshots_every=snapshots,
        overwrite=overwrite,
    )
    with needs("recording"):
        from isoscope.app.recorded_run import record as run

    with needs("recording"), console.progress("recording") as report:
        done = run(settings, report)
    if as_json:
        console.emit_json(done)
        return 0
    rows = [
        ("environments", f"{done.environments:,}"),
        ("control steps", f"{done.steps:,} of each, in {done.seconds:.3g} s"),
        ("episodes", f"{done.episodes:,} ended"),
        ("written", f"{done.file}, {done.bytes:,} bytes"),
    ]
    console.emit(console.facts(rows))
    return 0

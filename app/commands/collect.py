"""``isoscope collect``: run environments with a policy, and write training data."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from isoscope.app import console
from isoscope.app.commands.options import AsJson
from isoscope.app.extras import needs
from isoscope.core.collection.settings import CollectSettings, PolicyName, Runner
from isoscope.core.errors import UsageError
from isoscope.core.trajectory.plan import TrajectoryMode

OURS, SAVED = "isoscope/", ".safetensors"
if TYPE_CHECKING:
    from isoscope.core.collection.report import CollectReport


def collect(
    env: Annotated[
        str,
        typer.Option("--env", metavar="ID", help="A Gymnasium environment's id."),
    ],
    out: Annotated[
        Path,
        typer.Option("--out", metavar="DIR", help="The folder to write shards into."),
    ],
    envs: Annotated[
        int, typer.Option("--envs", metavar="N", help="Environments, over all workers.")
    ] = 8,
    chunk: Annotated[
        int, typer.Option("--chunk", metavar="C", help="Actions in a chunk.")
    ] = 4,
    steps: Annotated[
        int,
        typer.Option(
            "--steps", metavar="N", help="Control steps of every environment."
        ),
    ] = 256,
    mode: Annotated[
        TrajectoryMode,
        typer.Option(
            "--mode",
            help="What comes out: trajectories, an actor's micro-batches, or episodes.",
        ),
    ] = TrajectoryMode.ROLLOUT,
    runner: Annotated[
        Runner,
        typer.Option(
            "--runner",
            help="In turn; each worker by itself; or that, answered together.",
        ),
    ] = Runner.SYNC,
    policy: Annotated[
        str,
        typer.Option(
            "--policy",
            metavar="random|linear|mlp|F",
            help="What acts: at random, linear feedback (CartPole), or a small "
            "actor-critic; F is one that --checkpoint kept, to go on with.",
        ),
    ] = PolicyName.MLP.value,
    workers: Annotated[
        int,
        typer.Option(
            "--workers", metavar="N", help="Sources that share the environments."
        ),
    ] = 1,
    actors: Annotated[
        int, typer.Option("--actors", metavar="N", help="Who takes what comes out.")
    ] = 1,
    horizon: Annotated[
        int | None,
        typer.Option(
            "--horizon",
            metavar="N",
            help="Control steps of a rollout epoch.",
            show_default="what divides the run evenly",
        ),
    ] = None,
    epochs: Annotated[
        int,
        typer.Option(
            "--epochs", metavar="N", help="Rollout epochs in a training step."
        ),
    ] = 1,
    micro_batch: Annotated[
        int | None,
        typer.Option(
            "--micro-batch",
            metavar="N",
            help="Rows of a micro-batch, in pipeline mode.",
            show_default="what divides evenly",
        ),
    ] = None,
    transitions: Annotated[
        bool,
        typer.Option(
            "--transitions", help="Keep the observations around each chunk as well."
        ),
    ] = False,
    no_auto_reset: Annotated[
        bool,
        typer.Option(
            "--no-auto-reset",
            help="Let an environment rest when its episode ends, until the next epoch.",
        ),
    ] = False,
    task: Annotated[
        str,
        typer.Option(
            "--task", help="The task's text.", show_default="the environment's id"
        ),
    ] = "",
    seed: Annotated[
        int, typer.Option("--seed", help="Of environments, weights and chance.")
    ] = 0,
    on_ray: Annotated[
        bool,
        typer.Option(
            "--ray", help="Run environments and policy in a Ray worker (RAY_ADDRESS)."
        ),
    ] = False,
    record: Annotated[
        Path | None,
        typer.Option(
            "--record",
            metavar="F",
            help="Record the steps and the chunks into a file, too: *.isoscope.h5.",
            show_default=False,
        ),
    ] = None,
    checkpoint: Annotated[
        Path | None,
        typer.Option(
            "--checkpoint",
            metavar="F",
            help="Keep the policy in a file, too, for isoscope record --policy: "
            "*.policy.safetensors.",
            show_default=False,
        ),
    ] = None,
    overwrite: Annotated[
        bool, typer.Option("--overwrite", help="Replace an earlier run's shards.")
    ] = False,
    as_json: AsJson = False,
) -> int:
    """Run environments with a policy, and write training data.

    A folder of shards, and a manifest with the checksum of each.

    The same seed gives the same shards with the synchronous runner, here or on Ray.
    """
    with needs("collecting"):
        import torch

        from isoscope.core.collection.collect import collect as run

    name, weights = _policy(policy)
    settings = CollectSettings(
        env=_named(env, on_ray=on_ray),
        envs=envs,
        chunk=chunk,
        steps=steps,
        mode=mode,
        runner=runner,
        policy=name,
        workers=workers,
        actors=actors,
        horizon=horizon,
        epochs=epochs,
        micro_batch=micro_batch,
        auto_reset=not no_auto_reset,
        transitions=transitions,
        task=task or env,
        seed=seed,
        weights=weights,
    )
    threads = torch.get_num_threads()
    # For small networks and batches, a second thread costs more than it brings.
    torch.set_num_threads(1)
    try:
        with console.progress("collecting") as report:
            done = run(
                settings,
                out=out,
                overwrite=overwrite,
                on_ray=on_ray,
                record=record,
                checkpoint=checkpoint,
                progress=report,
            )
    finally:
        torch.set_num_threads(threads)
    for line in done.lost:
        console.warn(line)
    if as_json:
        console.emit_json(done)
        return 0
    _show(done, out)
    if checkpoint is not None:
        console.tell(f"the policy is in {checkpoint}")
    return 0


def _policy(text: str) -> tuple[PolicyName, str]:
    """The policy, and the file that its weights are in; empty for new ones."""
    if text.endswith(SAVED):
        return PolicyName.MLP, text
    names = [one.value for one in PolicyName]
    if text not in names:
        raise UsageError(
            f"--policy {text}: give {', '.join(names)}, or a checkpoint (*{SAVED})"
        )
    return PolicyName(text), ""


def _named(env: str, *, on_ray: bool) -> str:
    """An environment's id as Gymnasium finds it: ours need their module."""
    if not env.startswith(OURS):
        return env
    if on_ray:  # another process, which imports what is named
        return f"isoscope.app.environments:{env}"
    from isoscope.app.environments import register_all

    register_all()
    return env


def _show(done: "CollectReport", out: Path) -> None:
    chunks, returns = done.chunks, done.returns
    rows = [
        ("chunks", f"{chunks.flushed:,} flushed of {chunks.joined:,} joined"),
        ("transitions", f"{done.transitions:,} in {done.seconds:.3g} s"),
        ("episodes", f"{returns.count:,} ended"),
    ]
    if returns.mean is not None:
        rows.append(
            (
                "returns",
                f"mean {returns.mean:.4g}, from {returns.min:.4g} to {returns.max:.4g}",
            )
        )
    for name in ("failed", "duplicates", "pending"):
        count = getattr(chunks, name)
        if count:
            rows.append((name, f"{count:,} chunks"))
    for output in done.outputs:
        rows.append((f"actor {output.actor}", f"{output.count:,} from {output.key}"))
    rows.append(("written", f"{len(done.shards):,} shards in {out}"))
    console.emit(console.facts(rows))

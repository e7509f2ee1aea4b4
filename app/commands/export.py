"""``isoscope export``: choose, check, write a dataset, and prove what was written."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal, cast

import typer

from isoscope.app import console
from isoscope.app.commands.options import AsJson, LabelFile, Substeps
from isoscope.app.commands.validate import (
    BLOCKED,
    Listed,
    Source,
    TransitionsFile,
    Waive,
    Where,
    WorkspaceFile,
    dropped_table,
    parts,
)
from isoscope.app.extras import needs
from isoscope.core.dataset.exporters.registry import EXPORTERS

if TYPE_CHECKING:
    from isoscope.core.dataset.exporters.plan import FieldMap
    from isoscope.core.dataset.exporters.report import ExportReport
    from isoscope.core.dataset.exporters.splits import Splits
    from isoscope.core.dataset.validate.report import Report


def export(
    source: Source,
    format: Annotated[
        str,
        typer.Option(
            "--format", metavar="F", help=f"What to write: {', '.join(EXPORTERS)}."
        ),
    ],
    out: Annotated[
        Path,
        typer.Option("--out", metavar="DIR", help="The folder or file to write."),
    ],
    transitions: TransitionsFile = None,
    workspace: WorkspaceFile = None,
    episodes: Listed = None,
    where: Where = None,
    split: Annotated[
        str | None,
        typer.Option(
            "--split",
            metavar="SHARES",
            help="Shares of episodes by name, such as train=0.9,valid=0.1.",
            show_default=False,
        ),
    ] = None,
    split_by: Annotated[
        str,
        typer.Option(
            "--split-by",
            metavar="episode|environment",
            help="What stays together.",
        ),
    ] = "episode",
    seed: Annotated[int, typer.Option("--seed", help="Of the split.")] = 0,
    map: Annotated[
        list[str] | None,
        typer.Option(
            "--map",
            metavar="FEATURE=NAME",
            help="What a feature is called in the dataset; no NAME leaves it out.",
            show_default=False,
        ),
    ] = None,
    units: Annotated[
        list[str] | None,
        typer.Option(
            "--units",
            metavar="FEATURE=UNIT,…",
            help="Units that the source does not tell: one for all components, or one "
            "each.",
            show_default=False,
        ),
    ] = None,
    dtype: Annotated[
        list[str] | None,
        typer.Option(
            "--dtype",
            metavar="FEATURE=DTYPE",
            help="What to convert a feature to, such as float32.",
            show_default=False,
        ),
    ] = None,
    fps: Annotated[
        float | None,
        typer.Option(
            "--fps",
            metavar="HZ",
            min=0,
            help="Control steps a second, where the source does not tell.",
            show_default=False,
        ),
    ] = None,
    next_observation: Annotated[
        bool,
        typer.Option(
            "--next-observation",
            help="LeRobot: also write the observation after each step, which keeps "
            "what an episode ended in.",
        ),
    ] = False,
    task: Annotated[
        str,
        typer.Option(
            "--task",
            metavar="TEXT",
            help="What the robot was told.",
            show_default=False,
        ),
    ] = "",
    robot_type: Annotated[
        str,
        typer.Option(
            "--robot-type", metavar="TEXT", help="Which robot.", show_default=False
        ),
    ] = "",
    env_name: Annotated[
        str,
        typer.Option(
            "--env-name", metavar="ID", help="Which environment.", show_default=False
        ),
    ] = "",
    waive: Waive = None,
    substeps: Substeps = None,
    labels: LabelFile = None,
    overwrite: Annotated[
        bool,
        typer.Option("--overwrite", help="Replace an existing dataset in one step."),
    ] = False,
    as_json: AsJson = False,
) -> int:
    """Write a dataset: choose, check, export, read back and compare.

    Nothing appears unless all of it was read back and is equal. Its manifest tells what
    it came from. Exit status 1 if a rule blocks it: cut the rows, or waive the rule.
    """
    from isoscope.core.dataset.exporters.plan import ExportOptions
    from isoscope.core.errors import UsageError

    with needs("exporting"):
        from isoscope.app.datasets import choose, open_dataset, validated, waivers_of
        from isoscope.app.reports.report import versions
        from isoscope.core.dataset.exporters import place
        from isoscope.core.dataset.exporters.registry import exporter
        from isoscope.core.dataset.exporters.run import plan_export
        from isoscope.core.dataset.manifest.build import Made
        from isoscope.core.dataset.manifest.exporting import export_with_manifest

        folder = exporter(format).FOLDER
    # All that can be refused is refused before any work is done.
    mapping = _mapping(map or [], units or [], dtype or [])
    shares = _splits(split, split_by, seed)
    waivers = waivers_of(waive or [])
    place.refuse(
        out.absolute(),
        overwrite=overwrite,
        folder=folder,
        sources=[source, transitions, workspace],
    )
    if fps is not None and not fps > 0:
        raise UsageError(f"--fps {fps:g}: give a number above 0")
    chosen = choose(
        open_dataset(source, transitions, substeps, labels), workspace, episodes, where
    )
    options = ExportOptions(
        fps=fps,
        next_observation=next_observation,
        task=task,
        robot_type=robot_type,
        env_name=env_name,
    )
    with needs("exporting"):
        plan_export(
            chosen.episodes,
            format,
            out.absolute(),
            mapping=mapping,
            splits=shares,
            options=options,
        )
    report = validated(chosen, waivers)
    if report.blocking:
        _blocked(report, as_json=as_json)
        return BLOCKED
    for rule in report.failed:
        console.warn(f"{rule.id}: {rule.message}")
    made = Made(
        chosen.episodes,
        chosen.opened.recording,
        chosen.opened.audit,
        report,
        chosen.workspace.edits,
        dict(versions()),
        chosen.opened.beside,
        chosen.opened.substeps,
    )
    with needs("exporting"), console.progress(f"writing {out.name}") as progress:
        done = export_with_manifest(
            made,
            format,
            out,
            mapping=mapping,
            splits=shares,
            options=options,
            overwrite=overwrite,
            progress=progress,
        )
    if as_json:
        console.emit_json(done)
    else:
        console.emit(*_parts(done))
    return 0


def _blocked(report: "Report", *, as_json: bool) -> None:
    """Say what blocks it; the object printed is then the validation's."""
    if as_json:
        console.emit_json(report)
    else:
        console.emit(*parts(report)[:2])
    failed = ", ".join(rule.id for rule in report.rules if rule.blocks)
    console.tell(
        f"nothing was written: {failed} failed; cut the rows, or give --waive RULE=WHY"
    )


def _parts(done: "ExportReport") -> list[Any]:
    rows = [
        ("written", f"{done.target} ({done.format}, {done.bytes:,} bytes)"),
        ("episodes", f"{done.episodes:,} with {done.transitions:,} transitions"),
        ("read back", f"{done.read_back}: {done.compared:,} values compared"),
        ("manifest", "inside" if done.manifest == done.target else done.manifest),
        ("SHA-256", done.sha256),
    ]
    rows += [
        ("split", f"{name}: {len(chosen):,} episodes")
        for name, chosen in done.splits.items()
    ]
    rows += [("waived", rule) for rule in done.waived]
    rows += [("not in it", line) for line in done.left_out]
    out: list[Any] = [console.facts(rows)]
    if done.dropped:
        out.append(dropped_table(done.dropped))
    return out


def _splits(split: str | None, split_by: str, seed: int) -> "Splits | None":
    from isoscope.core.dataset.exporters.splits import Splits
    from isoscope.core.errors import UsageError

    if split_by not in ("episode", "environment"):
        raise UsageError(f"--split-by {split_by}: give episode or environment")
    if split is None:
        return None
    return Splits.parse(
        split, cast('Literal["episode", "environment"]', split_by), seed
    )


def _mapping(names: list[str], units: list[str], dtypes: list[str]) -> "list[FieldMap]":
    from isoscope.core.dataset.exporters.plan import BY_ROLE, FieldMap

    named = _pairs("--map", names, empty=True)
    told = _pairs("--units", units)
    kinds = _pairs("--dtype", dtypes)
    return [
        FieldMap(
            feature,
            named.get(feature, BY_ROLE),
            tuple(u.strip() for u in told[feature].split(","))
            if feature in told
            else (),
            kinds.get(feature),
        )
        for feature in dict.fromkeys([*named, *told, *kinds])
    ]


def _pairs(option: str, given: list[str], *, empty: bool = False) -> dict[str, str]:
    from isoscope.core.errors import UsageError

    out: dict[str, str] = {}
    for text in given:
        feature, equals, value = (part.strip() for part in text.partition("="))
        if not feature or not equals or not (value or empty):
            raise UsageError(f"{option} {text}: give FEATURE=VALUE")
        if feature in out:
            raise UsageError(f"{option} {text}: {feature} is given twice")
        out[feature] = value
    return out

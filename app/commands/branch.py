"""``isoscope branch``: what if, from a place in a recording on."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from isoscope.app import console
from isoscope.app.commands.branch_tables import branch_parts, branches_table
from isoscope.app.commands.options import (
    AsJson,
    EngineName,
    LabelledFile,
    Module,
    Overwrite,
)

if TYPE_CHECKING:
    from isoscope.core.isolation.context import Examined
    from isoscope.core.replay.branch.branches import Branches
    from isoscope.core.replay.branch.model import Branch, Edit
    from isoscope.core.replay.engine import EngineMaker

FORM = "isoscope.branches/1"
At = Annotated[
    str | None,
    typer.Option(
        "--at",
        metavar="POSITION",
        help="Where it leaves the recording: control:0/2/5, native:120.",
        show_default=False,
    ),
]
Env = Annotated[
    int | None,
    typer.Option(
        "--env",
        metavar="E",
        help="Whose; by default the environment at that position.",
        show_default=False,
    ),
]
Action = Annotated[
    list[str] | None,
    typer.Option(
        "--action",
        metavar="STEP:NAME=VALUE",
        help="Another action: 30:control=2, 30-34:control*=1.5, 30-:control+=0.1; or "
        "another native input, by ACTOR.FIELD[COMPONENT]. Control steps are the "
        "episode's. May be given several times.",
        show_default=False,
    ),
]
Configure = Annotated[
    list[str] | None,
    typer.Option(
        "--configure",
        metavar="KEY=VALUE",
        help="Another value of the persistent configuration: gravity=0,0,-9.81. May be "
        "given several times.",
        show_default=False,
    ),
]
State = Annotated[
    list[str] | None,
    typer.Option(
        "--state",
        metavar="ACTOR.FIELD=VALUE",
        help="Another state at the beginning: CartPole.positions[1]=0.1, "
        "Ball.translation=0,1,0. May be given several times.",
        show_default=False,
    ),
]
Steps = Annotated[
    int | None,
    typer.Option(
        "--steps",
        metavar="N",
        help="Control steps to go, also past the recorded end. By default to the end "
        "of the recorded episode.",
        show_default=False,
    ),
]
PastEnd = Annotated[
    str,
    typer.Option(
        "--past-end",
        metavar="WHAT",
        help="Past the recorded end: hold the last action, or zero.",
    ),
]
Name = Annotated[
    str | None,
    typer.Option(
        "--name",
        metavar="NAME",
        help="What to call it; by default what if 1, what if 2 and so on.",
        show_default=False,
    ),
]
Note = Annotated[str, typer.Option("--note", metavar="TEXT", help="What it is for.")]
Out = Annotated[
    Path | None,
    typer.Option(
        "--out",
        metavar="REC",
        help="Write it as a recording of its own, *.isoscope.h5.",
        show_default=False,
    ),
]
Try = Annotated[bool, typer.Option("--try", help="Only step it; keep it in no list.")]
Run = Annotated[
    str | None,
    typer.Option(
        "--run",
        metavar="NAME",
        help="Step a branch that is kept.",
        show_default=False,
    ),
]
List = Annotated[bool, typer.Option("--list", help="List the branches that are kept.")]
Remove = Annotated[
    str | None,
    typer.Option(
        "--remove", metavar="NAME", help="Remove a branch.", show_default=False
    ),
]
Rename = Annotated[
    tuple[str, str] | None,
    typer.Option(
        "--rename",
        metavar="NAME NEW",
        help="Give a branch another name.",
        show_default=False,
    ),
]


def branch(
    file: LabelledFile,
    at: At = None,
    env: Env = None,
    action: Action = None,
    configure: Configure = None,
    state: State = None,
    steps: Steps = None,
    past_end: PastEnd = "hold",
    name: Name = None,
    note: Note = "",
    out: Out = None,
    overwrite: Overwrite = False,
    only_try: Try = False,
    run: Run = None,
    show: List = False,
    remove: Remove = None,
    rename: Rename = None,
    engine: EngineName = None,
    module: Module = None,
    as_json: AsJson = False,
) -> int:
    """Go on from a place in a recording with something changed.

    The recorded state there is reached from the last snapshot before it; then the
    recorded actions are taken, with the edits, and what comes out is compared with the
    recording. Branches are kept by name beside the recording's bookmarks; the recording
    itself is never changed.
    """
    from isoscope.app.branching import branches_of
    from isoscope.app.examining import examine
    from isoscope.core.errors import UsageError
    from isoscope.core.replay.branch.exporting import refuse_bad_name

    wanted = [at is not None, run is not None, show, remove is not None]
    if sum([*wanted, rename is not None]) != 1:
        raise UsageError(
            "isoscope branch: give one of --at, --run, --list, --remove, --rename"
        )
    edits = _edits(action or [], configure or [], state or [])
    if out is not None:
        refuse_bad_name(out, overwrite=overwrite)
    examined = examine(file)
    kept, told = branches_of(examined)
    if told:
        console.warn(told)
    if show:
        return _list(kept, as_json)
    if remove is not None:
        gone = kept.remove(remove)
        return _said(f"removed branch {gone.name}", kept, as_json)
    if rename is not None:
        old, new = rename
        kept.rename(old, new)
        return _said(f"branch {old} is {new} now", kept, as_json)
    if run is not None:
        if edits or steps is not None or name is not None:
            raise UsageError(
                "--run: it steps a branch as it is kept; for other edits, steps or "
                "another name make one with --at"
            )
        made = kept.find(run)
    else:
        assert at is not None
        place = _place(examined, at, env)
        made = kept.made(
            place,
            edits,
            steps,
            name=name,
            past_end=_past_end(past_end),
            note=note,
        )
        if not only_try:
            kept.check(made)
    keep = kept if run is None and not only_try else None
    from isoscope.app.commands.replay import identity_of
    from isoscope.app.replay_engines import EngineOptions, engine_maker

    make = engine_maker(identity_of(examined), EngineOptions(engine, module))
    return _step(examined, make, made, keep, out, overwrite, as_json)


def _edits(
    actions: list[str], configurations: list[str], states: list[str]
) -> "tuple[Edit, ...]":
    from isoscope.core.replay.branch.model import (
        parse_action,
        parse_configuration,
        parse_state,
    )

    return (
        *(parse_action(text) for text in actions),
        *(parse_configuration(text) for text in configurations),
        *(parse_state(text) for text in states),
    )


def _past_end(text: str) -> Literal["hold", "zero"]:
    from isoscope.core.errors import UsageError

    if text == "hold":
        return "hold"
    if text == "zero":
        return "zero"
    raise UsageError(f"--past-end {text}: give hold or zero")


def _place(
    examined: "Examined", text: str, env: int | None
) -> tuple[int, int, int, int]:
    """Environment, episode, control step and native row of a position."""
    from isoscope.app.commands.replay import row_of
    from isoscope.core.errors import UsageError
    from isoscope.core.replay.branch.running import place_of

    row = row_of(examined, text)
    if env is None:
        env = int(examined.attribution.labels.env[row])
        if env < 0:
            raise UsageError(f"--at {text}: nobody's step; say whose with --env")
    return (env, *place_of(examined, env, row))


def _step(
    examined: "Examined",
    make: "EngineMaker",
    made: "Branch",
    kept: "Branches | None",
    out: Path | None,
    overwrite: bool,
    as_json: bool,
) -> int:
    from isoscope.core.replay.branch.exporting import export_branch
    from isoscope.core.replay.branch.run import branch_report
    from isoscope.core.replay.branch.running import recorded_reward, run_branch

    with console.progress(f"stepping branch {made.name}") as report:
        found = run_branch(examined, make, made, report)
    if kept is not None:
        kept.add(made)
    exported = None
    if out is not None:
        exported = str(export_branch(examined, found, out, overwrite=overwrite))
    told = branch_report(found, recorded_reward(examined, found), exported)
    if as_json:
        console.emit_json(told)
    else:
        console.emit(*branch_parts(told))
    return 0


def _list(kept: "Branches", as_json: bool) -> int:
    if as_json:
        console.emit_json(_listed(kept))
    elif not len(kept):
        console.emit(f"{kept.file} has no branches; make one with --at")
    else:
        console.emit(branches_table(kept.branches, kept.file))
    return 0


def _said(line: str, kept: "Branches", as_json: bool) -> int:
    if as_json:
        console.emit_json(_listed(kept))
    else:
        console.tell(line)
    return 0


def _listed(kept: "Branches") -> dict[str, Any]:
    return {
        "schema": FORM,
        "source": kept.source,
        "file": kept.file,
        "branches": list(kept.branches),
    }

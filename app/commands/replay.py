"""``isoscope replay``: step a recording again from its snapshots, and compare."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from isoscope.app import console
from isoscope.app.commands.comparison_tables import (
    claims_table,
    configuration_table,
    growth_table,
    largest_table,
    lines_table,
    pairs_table,
)
from isoscope.app.commands.options import (
    AsJson,
    EngineName,
    LabelledFile,
    Module,
    Substeps,
)

if TYPE_CHECKING:
    from isoscope.core.isolation.context import Examined
    from isoscope.core.recording.labelled.records import Identity
    from isoscope.core.replay.replay_forms import Mode, Replay

FINDINGS, ENDED_EARLY = 1, 2
From = Annotated[
    str | None,
    typer.Option(
        "--from",
        metavar="POSITION",
        help="Begin here, from the last snapshot before it: control:0/2/5, native:120. "
        "By default at the beginning.",
        show_default=False,
    ),
]
Env = Annotated[
    int | None,
    typer.Option(
        "--env", metavar="E", help="Compare this environment only.", show_default=False
    ),
]
Steps = Annotated[
    int | None,
    typer.Option(
        "--steps",
        metavar="N",
        help="Control steps of each environment. By default all.",
        show_default=False,
    ),
]
Pinned = Annotated[
    bool,
    typer.Option(
        "--pinned", help="Go back to the recorded state at every snapshot on the way."
    ),
]
Alone = Annotated[
    bool,
    typer.Option(
        "--alone",
        help="Step each environment alone, with its own actions only: where together "
        "departs from alone, another one leaked in.",
    ),
]
Twice = Annotated[
    bool,
    typer.Option(
        "--twice",
        help="Restore each environment's snapshot twice, with other steps between.",
    ),
]
Model = Annotated[
    str | None,
    typer.Option(
        "--model",
        metavar="MODEL",
        help="Let the built-in simulator stand in with this model, JSON or MJCF, and "
        "say how far off it is, from each recorded state and freely. Works on any "
        "recording.",
        show_default=False,
    ),
]
Transitions = Annotated[
    Path | None,
    typer.Option(
        "--transitions",
        metavar="F",
        help="With --model: what has the actions of a bare recording, JSON or .npz.",
        show_default=False,
    ),
]
Integrator = Annotated[
    str,
    typer.Option(
        "--integrator",
        metavar="NAME",
        help="With --model: backward_euler or semi_implicit.",
    ),
]
Tolerance = Annotated[
    list[str] | None,
    typer.Option(
        "--tolerance",
        metavar="FIELD=VALUE",
        help="Take differences of a field up to VALUE, in its unit, for none; may be "
        "given several times. By default every bit counts.",
        show_default=False,
    ),
]


def replay(
    file: LabelledFile,
    from_position: From = None,
    env: Env = None,
    steps: Steps = None,
    pinned: Pinned = False,
    alone: Alone = False,
    twice: Twice = False,
    tolerance: Tolerance = None,
    engine: EngineName = None,
    module: Module = None,
    model: Model = None,
    transitions: Transitions = None,
    integrator: Integrator = "backward_euler",
    substeps: Substeps = None,
    as_json: AsJson = False,
) -> int:
    """Step a recording again, and say where it departs.

    The scene is made anew, a recorded snapshot restored, and the recorded control
    inputs applied, native step by native step, by the built-in simulator or by
    SuperDex in a process of its own. Exit status 1 if a state differs, 2 if it could
    not be stepped to its end.
    """
    from isoscope.app.examining import examine
    from isoscope.app.replay_engines import EngineOptions, engine_maker
    from isoscope.core.errors import UsageError
    from isoscope.core.replay.again import ReplayOptions
    from isoscope.core.replay.again import replay as step_again

    if pinned and alone:
        raise UsageError("--pinned and --alone: give one of them")
    if steps is not None and steps < 1:
        raise UsageError(f"--steps {steps}: give a number of at least 1")
    allowed = _tolerances(tolerance or [])
    if model is not None:
        if alone or twice or engine is not None or module is not None:
            raise UsageError(
                "--model: it stands in for the engine; leave out --alone, --twice, "
                "--engine and --module"
            )
        from isoscope.app.commands.replay_model import ByModel, replay_model

        by = ByModel(model, integrator, transitions, substeps, free=not pinned)
        return replay_model(
            file, by, from_position, env, steps, allowed, as_json=as_json
        )
    if transitions is not None or substeps is not None:
        raise UsageError("--transitions and --substeps: they go with --model")
    mode: Mode = "pinned" if pinned else "alone" if alone else "actions"
    examined = examine(file)
    start = None if from_position is None else row_of(examined, from_position)
    options = ReplayOptions(start, env, steps, mode, twice, allowed)
    make = engine_maker(identity_of(examined), EngineOptions(engine, module))
    with console.progress(f"stepping {file.name} again") as report:
        found = step_again(examined, make, options, report)
    if as_json:
        console.emit_json(found)
    else:
        console.emit(*_parts(found))
    differs = found.first_divergence is not None
    bits = found.judged_by == "bits" and found.claims.bit_for_bit.answer == "no"
    unequal = any(not one.equal for one in found.twice)
    if found.stopped:
        console.tell(f"stepping {file} again ended early: {found.stopped}")
    if differs or bits or unequal:
        return FINDINGS
    return ENDED_EARLY if found.stopped else 0


def identity_of(examined: "Examined") -> "Identity":
    """What ran; of a bare recording nothing is known."""
    from isoscope.core.recording.labelled.records import Identity

    labelled = examined.recording.labelled
    return Identity() if labelled is None else labelled.identity


def _tolerances(given: list[str]) -> dict[str, float]:
    from math import isfinite

    from isoscope.core.errors import UsageError

    found = {}
    for text in given:
        name, equals, number = text.partition("=")
        try:
            value = float(number)
        except ValueError:
            value = -1.0
        if not (name and equals and isfinite(value) and value >= 0):
            raise UsageError(
                f"--tolerance {text}: give a field's name and a number of at least 0, "
                "as in translation=1e-6"
            )
        found[name] = value
    return found


def row_of(examined: "Examined", text: str) -> int:
    """The first native row of what a position names."""
    import numpy as np

    from isoscope.core.positions.parsing import parse_position
    from isoscope.core.positions.resolving import resolve_position

    labels = examined.attribution.labels
    position = parse_position(text)
    row = resolve_position(examined.recording, position, labels=labels).row
    if not text.strip().startswith("control:"):
        return row
    # a control step is named by its last native step, and begins with its first
    same = np.ones(len(labels), np.bool_)
    for column in (labels.env, labels.episode, labels.control_step):
        same &= column == column[row]
    return int(np.flatnonzero(same)[0])


def _parts(found: "Replay") -> list[Any]:
    from isoscope.core.replay.replay_sentence import replay_verdict

    facts = [("A, recorded", found.a), ("B, stepped again by", found.b)]
    facts.append(("states", f"{found.states_equal} of {found.states_compared} equal"))
    parts: list[Any] = [replay_verdict(found), console.facts(facts)]
    parts.append(claims_table(found))
    if found.pairs:
        parts.append(pairs_table(found))
    if found.configuration_differences:
        parts.append(configuration_table(found))
    if any(one.value for one in found.max_difference):
        parts.append(largest_table(found))
    if len(found.growth) > 1:
        parts.append(growth_table(found))
    for title, lines in (
        ("Restored twice", [f"env {one.env}: {one.why}" for one in found.twice]),
        ("Could not be compared", found.not_checkable),
        ("Besides", found.notes),
    ):
        if lines:
            parts.append(lines_table(title, lines))
    return parts

"""Edits that a branch at some place could have, as one writes them, with their values.

They are to be changed by whoever takes one: each sets what was recorded there.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import msgspec
import numpy as np

from isoscope.core.replay.branch.model import (
    Edit,
    parse_action,
    parse_configuration,
    parse_state,
)
from isoscope.core.replay.branch.native_inputs import component_names, full_name
from isoscope.core.replay.branch.overwriting import (
    ARTICULATED,
    POSITIONS,
    RIGID,
    VELOCITIES,
)
from isoscope.core.replay.scene_engine import FIXED

if TYPE_CHECKING:
    from isoscope.core.replay.tape import Tape

STATES = (POSITIONS, VELOCITIES, *RIGID, *ARTICULATED)
JOINTS = "pose"  # an actor that has it is an articulation
MOST_VALUES = 12
LONGEST = 160


def parse_edit(text: str) -> Edit:
    """An edit of any kind, as one writes it.

    With a colon after a control step it is of actions; of an actor's state where a
    field of states is named, else of the persistent configuration.

    Raises
    ------
    UsageError
        For any other text.
    """
    head, colon, _ = text.strip().partition(":")
    if colon and head.rstrip("-").replace("-", "", 1).isdecimal():
        return parse_action(text)
    _, dot, field = text.partition("=")[0].rpartition(".")
    if dot and field.partition("[")[0].strip() in STATES:
        return parse_state(text)
    return parse_configuration(text)


def suggestions(tape: Tape, env: int, row: int, step: int) -> dict[str, list[str]]:
    """Edits by kind: actions, native inputs, configuration, state.

    Parameters
    ----------
    row, step
        The native row and the control step that the branch begins with.
    """
    found = {
        "Actions": [f"{step}-:{name}*=1.5" for name in _actions(tape)],
        "Native inputs": [
            f"{step}-:{full_name(control)}[{part}]*=1.5"
            for control in tape.controls
            for part in component_names(control)
        ],
        "Configuration": [
            f"{key}={_text(value)}"
            for key, value in sorted(tape.configuration(row).items())
            if key not in FIXED and _editable(value)
        ],
        "State": _states(tape, env, row),
    }
    return {
        kind: kept
        for kind, texts in found.items()
        if (kept := [text for text in texts if len(text) <= LONGEST])
    }


def _actions(tape: Tape) -> list[str]:
    names: list[str] = []
    for key, track in tape.labelled.fields.items():
        if key.over == "transitions" and key.group == "action":
            names += getattr(getattr(track, "field", None), "names", ())
    return list(dict.fromkeys(names))


def _states(tape: Tape, env: int, row: int) -> list[str]:
    rows = tape.rows[tape.examined.attribution.labels.env[tape.rows] == env]
    before = rows[rows < row]
    if not len(before):
        return []
    found = []
    articulations = {one.actor for one in tape.states if one.name == JOINTS}
    for one in tape.states:
        known = ARTICULATED if one.actor in articulations else RIGID
        if one.name not in known or _is_link(one.actor, articulations):
            continue
        value = one.track.at(int(before[-1]))
        if value is None:
            continue
        flat = np.asarray(value).reshape(-1)
        if 0 < len(flat) <= MOST_VALUES and np.isfinite(flat).all():
            numbers = ",".join(_number(v) for v in flat.tolist())
            found.append(f"{one.full_name}={numbers}")
    return found


def _is_link(name: str, articulations: set[str]) -> bool:
    """Whether it is called as links are: ``Actor/Link``. They go with their joints."""
    return any(name.startswith(f"{actor}/") for actor in articulations)


def _editable(value: Any) -> bool:
    if isinstance(value, list):
        return bool(value) and all(_editable(one) for one in value)
    return isinstance(value, int | float) and not isinstance(value, bool)


def _text(value: Any) -> str:
    if isinstance(value, list):
        if any(isinstance(one, list) for one in value):
            return msgspec.json.encode(value).decode()
        return ",".join(_number(one) for one in value)
    return _number(value)


def _number(value: float) -> str:
    """A number so that it is read back as it is; short where float32 is what it is."""
    short = f"{value:.9g}"
    back = float(short)
    return short if value in (back, float(np.float32(back))) else repr(value)

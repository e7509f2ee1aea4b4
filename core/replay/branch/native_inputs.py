"""A branch's native control inputs: those recorded, with the edits that name them."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from isoscope.core.replay.engine import ReplayError
from isoscope.core.summary import listed

if TYPE_CHECKING:
    from isoscope.core.recording.tracks import Array
    from isoscope.core.replay.branch.model import ActionEdit, Branch
    from isoscope.core.replay.engine import Engine
    from isoscope.core.replay.tape import ControlField, Tape

_NAME = re.compile(r"(?P<field>.+?)(?:\[(?P<component>[^\[\]]+)\])?")


@dataclass(frozen=True, slots=True)
class NativeEdit:
    """An edit of a native input: of which one, and of which of its components."""

    edit: ActionEdit
    control: int
    components: slice


def full_name(control: ControlField) -> str:
    """``actor.field``, as edits name it."""
    return f"{control.actor}.{control.name}"


def component_names(control: ControlField) -> list[str]:
    """Of its components, as the recording names them; numbers where it doesn't."""
    told = getattr(control.track, "field", None)
    names = list(getattr(told, "names", ()))
    size = int(np.prod(control.track.shape, dtype=np.int64))
    return names if len(names) == size else [str(k) for k in range(size)]


def native_edit(tape: Tape, edit: ActionEdit) -> NativeEdit | None:
    """The edit of a native input that is named so; None if no input is."""
    found = _NAME.fullmatch(edit.name)
    if found is None:
        return None
    for index, control in enumerate(tape.controls):
        if found["field"] != full_name(control):
            continue
        part = found["component"]
        if part is None:
            return NativeEdit(edit, index, slice(None))
        names = component_names(control)
        if part in names:
            at = names.index(part)
        elif part.isdecimal() and int(part) < len(names):
            at = int(part)
        else:
            raise ReplayError(
                f"editing {edit.name}: no component {part}; there are {listed(names)}"
            )
        return NativeEdit(edit, index, slice(at, at + 1))
    return None


class NativeInputs:
    """Gives recorded inputs with edits to an engine, native step by native step.

    Parameters
    ----------
    edits
        Those of native inputs.

    Attributes
    ----------
    last
        By input, what was given last [size]; None where nothing was.
    """

    def __init__(self, tape: Tape, branch: Branch, edits: list[NativeEdit]) -> None:
        self._tape, self._branch, self._edits = tape, branch, edits
        self._recorded: list[Array | None] = [None] * len(tape.controls)
        self.last: list[Array | None] = [None] * len(tape.controls)

    def recorded(self, row: int) -> list[Array | None]:
        """What was recorded for a native row; past the end held or zero."""
        for index, control in enumerate(self._tape.controls):
            if row >= 0:
                window = control.track.read(row, row + 1)
                if window.valid[0]:
                    self._recorded[index] = np.array(window.values[0])
                continue
            before = self._recorded[index]
            if before is not None and self._branch.past_end == "zero":
                self._recorded[index] = before * 0
        return list(self._recorded)

    def give(self, engine: Engine, values: list[Array | None], world: Array) -> None:
        """Apply these values."""
        for index, control in enumerate(self._tape.controls):
            value = values[index]
            if value is not None:
                engine.apply(control.actor, control.name, value[None], world)
                self.last[index] = value

    def edited(
        self, values: list[Array | None], control_step: int
    ) -> list[Array | None]:
        """The values with the edits of native inputs that hold in a control step."""
        out = list(values)
        for one in self._edits:
            if not one.edit.at(control_step):
                continue
            value = out[one.control]
            if value is None:  # never set before: nothing acts there
                control = self._tape.controls[one.control]
                value = np.zeros(control.track.shape, control.track.dtype)
            changed = np.array(value)
            changed[one.components] = one.edit.changed(changed[one.components])
            out[one.control] = changed
        return out

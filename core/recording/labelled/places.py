"""Where in a labelled recording a value is, and the Python that reads it.

Its columns lie in pools, cut into blocks, so what a person can use is not an offset but
the table, the field and the row; the program reads them with this package.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from isoscope.core.recording.tracks import Track
from isoscope.core.series import CONTROL

if TYPE_CHECKING:
    from pathlib import Path

    from isoscope.core.recording.model import Recording


@dataclass(frozen=True, slots=True)
class LabelledPlace:
    """A value of a labelled recording.

    Attributes
    ----------
    file
        The recording.
    said
        Where it is, for people.
    expression
        Of a variable `recording`, what gives the value.
    """

    file: Path
    said: str
    expression: str

    def __str__(self) -> str:
        """Where it is."""
        return self.said

    def python(self, component: int | None = None) -> str:
        """A program that reads exactly this value, or a component, and prints it."""
        value = self.expression
        if component is not None:
            value += f".reshape(-1)[{component}]"
        return (
            "from pathlib import Path\n\n"
            "from isoscope.core.recording.registry import load\n\n"
            f"recording = load(Path({str(self.file)!r}))\n"
            f"value = {value}\n"
            "print(value)\n"
        )


def labelled_place(
    recording: Recording, actor: int | None, field: str, row: int, *, creation: bool
) -> LabelledPlace | None:
    """Where a field's value at a native step is; None if it is in no labelled file.

    Parameters
    ----------
    actor
        Index of the actor; None for the step itself, `CONTROL` for control steps.
    creation
        Whether it is what the actor's creation holds.
    """
    path = recording.path
    if recording.labelled is None or path is None:
        return None
    if actor is None:
        said, owner = "native steps", "recording.scene"
        track = recording.scene.get(field)
    elif actor == CONTROL:
        said, owner = "control steps", "recording.control"
        track = recording.control.get(field)
    elif creation:
        name = recording.actors[actor].name
        expression = f"recording.actors[{actor}].reference[{field!r}]"
        return LabelledPlace(path, f"creation of {name} · {field}", expression)
    else:
        said = recording.actors[actor].name
        owner = f"recording.actors[{actor}].fields"
        track = recording.actors[actor].fields.get(field)
    if track is None or (not isinstance(track, Track) and not track.ragged):
        return None
    return LabelledPlace(
        path, f"{said} · {field} · native step {row}", f"{owner}[{field!r}].at({row})"
    )

"""What a plot shows: from a field reference and a recording to curves; no Qt."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

from isoscope.core.decimate import Decimator
from isoscope.core.series import (
    CONTROL,
    MEASURES,
    FieldRows,
    component_count,
    component_names,
    is_numeric,
    track_of,
    unit_of,
)
from isoscope.widgets.look import blend
from isoscope.widgets.signals.defaults import field_words, short_name

if TYPE_CHECKING:
    from isoscope.core.decimate import Polyline
    from isoscope.core.recording.model import Recording
    from isoscope.core.recording.tracks import AnyTrack
    from isoscope.widgets.session import FieldRef
    from isoscope.widgets.theme import Tokens

MAX_CURVES = 12
PALE, SHADE = 0.5, 0.38
# Axis letters take the colours that axes have everywhere: x red, y green, z blue.
_AXIS_COLOURS = {"x": 4, "y": 2, "z": 0, "w": 1}


class Values(Protocol):
    """Where the number at the cursor comes from."""

    def at(self, row: int) -> float | None:
        """The number in one row, also if it isn't finite; None where there is none."""
        ...


class Lines(Protocol):
    """What gives the points to draw."""

    def prepare(self, start: int, stop: int, bins: int, until_s: float) -> bool:
        """Make what `window` will need until that time; whether all of it is made."""
        ...

    def window(self, start: int, stop: int, bins: int) -> Polyline:
        """The polyline of rows start .. stop in at most about so many bins."""
        ...


@dataclass(frozen=True, slots=True, eq=False)
class Curve:
    """One line of a plot.

    Attributes
    ----------
    name
        Of the component: ``"x"``; empty if it is the plot's only one.
    colour
        Index into the theme's environment colours, or the name of another colour.
    rows
        Where its numbers come from.
    decimator
        Over `rows`; remembers.
    pale
        Whether it is drawn behind, since another one is looked at.
    shade
        Which of the lines of one colour it is: each is nearer to the text's colour.
    waits
        Whether rows between two of its points may be others' turns: a line across
        them is drawn fainter.
    series
        The field's rows, of all environments; None where it is no field's.
    """

    name: str
    colour: int | str
    rows: Values
    decimator: Lines
    pale: bool = False
    shade: int = 0
    waits: bool = False
    series: FieldRows | None = None

    def colour_in(self, t: Tokens) -> str:
        """The colour in this theme."""
        if isinstance(self.colour, str):
            return str(getattr(t, self.colour))
        colour = t.environment(self.colour)
        if self.shade:
            colour = blend(colour, t.text, min(SHADE * self.shade, 0.8)).name()
        return blend(colour, t.raised, PALE).name() if self.pale else colour


@dataclass(frozen=True, slots=True, eq=False)
class PlotSpec:
    """One plot.

    Attributes
    ----------
    ref
        What was asked for.
    actor, field
        The parts of its title: whose, and which.
    unit
        ``"[rad/s]"``, empty for a pure number, or words where it is unknown.
    curves
        Its lines; empty where the recording doesn't hold the field (yet).
    note
        What else to say: that components were left out, or what is missing.
    """

    ref: FieldRef
    actor: str
    field: str
    unit: str
    curves: tuple[Curve, ...]
    note: str = ""
    track: AnyTrack | None = None

    @property
    def whole(self) -> bool:
        """Whether its values are whole numbers."""
        if self.track is None:
            return False
        if self.ragged:
            return (self.ref.measure or "count") == "count"
        return self.track.dtype.kind in "iub"

    @property
    def ragged(self) -> bool:
        """Whether a measure can be chosen."""
        return self.track is not None and self.track.ragged


def resolve(recording: Recording, ref: FieldRef) -> PlotSpec:
    """What to show for a reference, in this recording as it is now."""
    who, field = "step", ref.field
    if ref.actor == CONTROL:
        who, field = "control step", field_words(ref.field)
    elif ref.actor is not None:
        known = ref.actor < len(recording.actors)
        who = (
            short_name(recording, recording.actors[ref.actor])
            if known
            else f"actor {ref.actor}"
        )
    track = track_of(recording, ref)
    if track is None:
        return PlotSpec(ref, who, field, "", (), "not in this recording")
    if not is_numeric(track):
        return PlotSpec(ref, who, field, "", (), "no numbers", track)
    unit = unit_of(ref, track)
    shown_unit = "[unit unknown]" if unit is None else f"[{unit}]" if unit else ""
    if track.ragged:
        measure = ref.measure or "count"
        rows = FieldRows(recording, track, ref.field, 0, measure)
        curve = Curve("", 0, rows, Decimator(rows), series=rows)
        field = f"{field} {measure}"
        return PlotSpec(ref, who, field, shown_unit, (curve,), MEASURES[measure], track)
    names = component_names(ref.field, track.shape, track)
    count = component_count(track)
    wanted = range(count) if ref.component is None else (ref.component,)
    parts = [part for part in wanted if part < count]
    note = ""
    if len(parts) > MAX_CURVES:
        note = f"the first {MAX_CURVES} of {len(parts)} components"
        parts = parts[:MAX_CURVES]
    elif not parts:
        note = f"no component {ref.component}"
    curves = []
    for order, part in enumerate(parts):
        rows = FieldRows(recording, track, ref.field, part)
        last = names[part].rpartition(".")[2]
        axis = _AXIS_COLOURS.get(last) if len(names) <= 4 else None
        colour = order if axis is None else axis
        line = Decimator(rows)
        curves.append(Curve(names[part], colour, rows, line, series=rows))
    return PlotSpec(ref, who, field, shown_unit, tuple(curves), note, track)

"""What drove a recorded run, for a model that stands in: forces, or targets of drives.

A labelled recording may hold native forces, or actions; a bare one holds neither, and
actions come from a file of transitions. An action's components are the controls of the
model's drives, in order, or by name where all names are the same. Without any, nothing
drives the model, and what that makes is said.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from isoscope.core.dataset.transitions.given import read_transitions
from isoscope.core.recording.tracks import Track
from isoscope.core.replay.engine import ReplayError
from isoscope.core.replay.fields import take
from isoscope.core.summary import counted, listed

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from isoscope.core.isolation.context import Examined
    from isoscope.core.recording.tracks import Array, BoolArray
    from isoscope.core.scene import Scene

PLACES = ("env", "episode", "control_step")
ACTION = "action"
WANTED = ("native", "control", "force")


@dataclass(slots=True, eq=False)
class Driving:
    """What drives the model.

    Attributes
    ----------
    said
        Where it comes from, in words.
    forces
        By actor's number the recorded forces on its degrees of freedom.
    actions
        By environment, episode and control step, float64 [A].
    columns
        By actor's number, which components of an action are its drives'.
    """

    said: str
    forces: dict[int, Track] = field(default_factory=dict)
    actions: dict[tuple[int, int, int], Array] = field(default_factory=dict)
    columns: dict[int, list[int]] = field(default_factory=dict)

    @property
    def any(self) -> bool:
        """Whether anything drives it."""
        return bool(self.forces or self.actions)

    def forces_of(self, actor: int, rows: Array) -> tuple[Array, BoolArray]:
        """float64 [n, velocity_size] in these rows, and where they were told."""
        values, valid = take(self.forces[actor], rows)
        return values.reshape(len(rows), -1).astype(np.float64), valid

    def targets_of(
        self, actor: int, places: Sequence[tuple[int, int, int]]
    ) -> tuple[Array, BoolArray]:
        """float64 [n, drives] in these control steps, and where they were told."""
        columns = self.columns[actor]
        out = np.zeros((len(places), len(columns)))
        told = np.zeros(len(places), np.bool_)
        for k, where in enumerate(places):
            action = self.actions.get(where)
            if action is not None:
                out[k], told[k] = action[columns], True
        return out, told


def driving(
    examined: Examined, scene: Scene, model: str, transitions: Path | None
) -> Driving:
    """What drove the recording, as far as it is told.

    Parameters
    ----------
    transitions
        A file of transitions; what it says goes before what the recording says.

    Raises
    ------
    IsoscopeError
        If the file can't be read, or actions and drives don't fit.
    """
    if transitions is not None:
        given = read_transitions(transitions)
        columns = given.columns
        places = list(zip(*(columns[n].tolist() for n in PLACES), strict=True))
        values = columns["action"].reshape(len(places), -1).astype(np.float64)
        return _by_actions(
            f"the actions of {transitions}",
            scene,
            model,
            dict(zip(places, values, strict=True)),
            values.shape[1],
            list(given.action_names),
        )
    labelled = examined.recording.labelled
    if labelled is not None:
        forces = _recorded_forces(examined, scene)
        if forces:
            return Driving("the recorded native forces", forces=forces)
        found = _recorded_actions(examined)
        if found:
            size = len(next(iter(found.values())))
            names = next(
                (s.names for s in labelled.identity.spaces if s.role == ACTION), []
            )
            return _by_actions(
                "the recorded actions", scene, model, found, size, list(names)
            )
    return Driving(
        "nothing: the recording holds no inputs, so that what the inputs did is in "
        "the residual; give them by --transitions FILE"
    )


def _by_actions(
    said: str,
    scene: Scene,
    model: str,
    actions: dict[tuple[int, int, int], Array],
    size: int,
    names: list[str],
) -> Driving:
    drives = [(actor.index, name) for actor in scene.actors for name in actor.drives]
    if len(drives) != size:
        have = listed([name for _, name in drives]) if drives else "none"
        raise ReplayError(
            f"driving {model}: an action has {counted(size, 'component')}, and the "
            f"model {counted(len(drives), 'drive')} ({have}); give it a drive for each"
        )
    told = [name for _, name in drives]
    by_name = len(set(names)) == size and set(names) == set(told)
    places = [names.index(name) for name in told] if by_name else list(range(size))
    columns: dict[int, list[int]] = {}
    for (actor, _), place in zip(drives, places, strict=True):
        columns.setdefault(actor, []).append(place)
    return Driving(said, actions=actions, columns=columns)


def _recorded_forces(examined: Examined, scene: Scene) -> dict[int, Track]:
    labelled = examined.recording.labelled
    assert labelled is not None
    found = {}
    sizes = {actor.name: actor for actor in scene.actors}
    for key, track in labelled.fields.items():
        one = labelled.actors.get(key.actor)
        if one is None or (key.over, key.group, key.name) != WANTED:
            continue
        actor = sizes.get(one.info.name)
        if actor is None or not isinstance(track, Track):
            continue
        if int(np.prod(track.shape, dtype=np.int64)) == actor.velocity_size:
            found[actor.index] = track
    return found


def _recorded_actions(examined: Examined) -> dict[tuple[int, int, int], Array]:
    labelled = examined.recording.labelled
    assert labelled is not None
    found: dict[tuple[int, int, int], Array] = {}
    for key, track in labelled.fields.items():
        if (key.over, key.group) != ("transitions", ACTION):
            continue
        if not isinstance(track, Track):
            continue
        count = labelled.count("transitions")
        window = track.read(0, count)
        places = [labelled.column("transitions", name).tolist() for name in PLACES]
        for k, where in enumerate(zip(*places, strict=True)):
            if window.valid[k]:
                found[where] = window.values[k].reshape(-1).astype(np.float64)
        return found
    return found

"""What happened to one scene of a labelled recording, in order, to be done again."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from isoscope.core.recording.schema import XYZW, meaning
from isoscope.core.replay.engine import Blueprint, ReplayError
from isoscope.core.replay.fields import COMPARED

if TYPE_CHECKING:
    from collections.abc import Iterator

    from isoscope.core.isolation.context import Examined
    from isoscope.core.recording.labelled import records as r
    from isoscope.core.recording.labelled.labelled import Key, LabelledRecording
    from isoscope.core.recording.tracks import Array, Track

NEEDS = "record with the tap, which takes snapshots (isoscope record --snapshots)"


@dataclass(frozen=True, slots=True, eq=False)
class StateField:
    """A recorded field of an actor's state.

    Attributes
    ----------
    track
        Its values over the recording's native rows.
    rotation
        Whether it is a quaternion, so that q and -q are the same.
    """

    actor: str
    name: str
    kind: str
    unit: str | None
    rotation: bool
    track: Track

    @property
    def full_name(self) -> str:
        """``actor.field``."""
        return f"{self.actor}.{self.name}"


@dataclass(frozen=True, slots=True, eq=False)
class ControlField:
    """A recorded native control input."""

    actor: str
    name: str
    track: Track


@dataclass(slots=True, eq=False)
class Tape:
    """One scene's steps, and what happened between them.

    Attributes
    ----------
    rows
        int64 [n]: the scene's native rows, ascending.
    envs
        The environments that step in it, ascending.
    first_env
        The environment of world 0, where W is more than 1.
    events, changes
        What happened right before a native row, by row, in order.
    snapshots
        Taken right after a native row, by row.
    """

    examined: Examined
    labelled: LabelledRecording
    scene: int
    rows: Array
    envs: list[int]
    worlds: int
    first_env: int
    blueprint: Blueprint
    states: list[StateField]
    controls: list[ControlField]
    events: dict[int, list[r.SceneEvent]] = field(default_factory=dict)
    changes: dict[int, list[r.ConfigurationChange]] = field(default_factory=dict)
    snapshots: dict[int, list[r.Snapshot]] = field(default_factory=dict)

    def world(self, env: int) -> int:
        """The world in which an environment is."""
        return env - self.first_env if self.worlds > 1 else 0

    def groups(self, rows: Array) -> Iterator[Array]:
        """Some of its rows by native step; worlds that step together have one each."""
        if not len(rows):
            return
        if self.worlds == 1:
            yield from rows.reshape(-1, 1)
            return
        start, stop = int(rows[0]), int(rows[-1]) + 1
        wall = self.labelled.column("native", "wall_ns", start, stop)[rows - start]
        env = self.examined.attribution.labels.env[rows]
        new = (np.diff(wall) != 0) | (np.diff(env) <= 0)
        yield from np.split(rows, np.flatnonzero(new) + 1)

    def own_changes(self, env: int) -> bool:
        """Whether all changes of the scene's configuration are this environment's."""
        return self.envs == [env]

    def configuration(self, row: int) -> dict[str, Any]:
        """The persistent configuration under which a native row was stepped."""
        found: dict[str, Any] = {}
        for at in sorted(self.changes):
            if at > row:
                break
            for change in self.changes[at]:
                found[change.key] = change.new
        return found

    def snapshot_before(self, env: int, row: int) -> int | None:
        """The last row before `row` after which there is a snapshot of it; None."""
        found = [
            at
            for at, taken in self.snapshots.items()
            if at < row and any(s.env in (env, -1) for s in taken)
        ]
        return max(found, default=None)


def tapes(examined: Examined) -> list[Tape]:
    """The scenes of a labelled recording.

    Raises
    ------
    ReplayError
        If it is no labelled recording, or lacks snapshots or control inputs.
    """
    recording = examined.recording
    labelled, doing = recording.labelled, f"stepping {examined.file} again"
    if labelled is None:
        raise ReplayError(
            f"{doing}: it is a bare recording, without snapshots and control inputs; "
            f"{NEEDS}"
        )
    taken = labelled.snapshots()
    if not taken:
        raise ReplayError(f"{doing}: it holds no snapshots; {NEEDS}")
    if not any(k.group == "control" and k.over == "native" for k in labelled.fields):
        raise ReplayError(f"{doing}: it holds no native control inputs; {NEEDS}")
    scene_of = labelled.column("native", "scene")
    env_of = examined.attribution.labels.env
    found = []
    for scene in np.unique(scene_of).tolist():
        rows = np.flatnonzero(scene_of == scene)
        envs = [int(e) for e in np.unique(env_of[rows]) if e >= 0]
        mine = [s for s in taken if s.scene == scene]
        if envs and mine:
            found.append(_tape(examined, labelled, scene, rows, envs, mine))
    if not found:
        raise ReplayError(f"{doing}: no scene has both steps and snapshots; {NEEDS}")
    return found


def _tape(
    examined: Examined,
    labelled: LabelledRecording,
    scene: int,
    rows: Array,
    envs: list[int],
    taken: list[r.Snapshot],
) -> Tape:
    header = taken[0].header or {}
    engine = taken[0].engine or {}
    changes = _by_row(labelled.changes(), scene)
    controls = list(_controls(labelled, scene))
    first = {c.key: c.new for at in changes.values() for c in at if c.old is None}
    blueprint = Blueprint(
        file=examined.file,
        identity=labelled.identity,
        worlds=int(header.get("worlds", 1)),
        engine=str(engine.get("engine", "")),
        precision=str(engine.get("precision", "")),
        configuration=first,
        build=engine,
        topology=str(header.get("topology", "")),
        actors=[
            (actor.info.name, actor.info.type)
            for number, actor in sorted(labelled.actors.items())
            if actor.info.scene == scene
            and actor.info.created_row <= taken[0].row + 1
            and labelled.destroyed.get(number, taken[0].row + 1) > taken[0].row
        ],
        controls=controls,
    )
    snapshots: dict[int, list[r.Snapshot]] = defaultdict(list)
    for snapshot in taken:
        if blueprint.worlds > 1 or _ends_there(labelled, snapshot):
            snapshots[snapshot.row].append(snapshot)
    return Tape(
        examined=examined,
        labelled=labelled,
        scene=scene,
        rows=rows,
        envs=envs,
        worlds=blueprint.worlds,
        first_env=int(header.get("first_env", 0)),
        blueprint=blueprint,
        states=list(_states(labelled, scene)),
        controls=controls,
        events=_by_row(labelled.events(), scene),
        changes=changes,
        snapshots=dict(snapshots),
    )


def _ends_there(labelled: LabelledRecording, snapshot: r.Snapshot) -> bool:
    """Whether a snapshot is of the state after its row.

    One that resets begin from, or that was kept when something failed, may be of the
    state that was restored since.
    """
    if snapshot.row < 0 or not any(snapshot.digest):
        return True
    row = snapshot.row
    told = labelled.column("native", "digest_after", row, row + 1).tobytes()
    return not any(told) or told == snapshot.digest


def _by_row(records: list[Any], scene: int) -> dict[int, list[Any]]:
    found: dict[int, list[Any]] = defaultdict(list)
    for record in records:
        if record.scene == scene:
            found[record.row].append(record)
    return dict(found)


def _of_scene(
    labelled: LabelledRecording, scene: int, group: str
) -> Iterator[tuple[str, Key, Any]]:
    for key, track in labelled.fields.items():
        actor = labelled.actors.get(key.actor)
        if key.over != "native" or key.group != group or actor is None:
            continue
        if actor.info.scene == scene and not track.ragged:
            yield actor.info.name, key, track


def _states(labelled: LabelledRecording, scene: int) -> Iterator[StateField]:
    for actor, key, track in _of_scene(labelled, scene, "state"):
        what = meaning(key.name)
        if what.kind in COMPARED and track.dtype.kind == "f":
            rotation = what.components == XYZW
            yield StateField(actor, key.name, what.kind, what.unit, rotation, track)


def _controls(labelled: LabelledRecording, scene: int) -> Iterator[ControlField]:
    for actor, key, track in _of_scene(labelled, scene, "control"):
        yield ControlField(actor, key.name, track)

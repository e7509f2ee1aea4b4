"""What a labelled recording tells the checks: typed columns, fields, who shares what.

For a recording that grows, `since` gives a window of what has come, and the checks that
are `isoscope.core.isolation.incremental` look at that alone.
"""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from isoscope.core.isolation.labelled_tables import (
    Changes,
    Events,
    Failures,
    Resets,
    Snapshots,
    Steps,
    Table,
    Transitions,
)

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from isoscope.core.recording.labelled.labelled import LabelledRecording
    from isoscope.core.recording.labelled.records import Identity, SceneInfo
    from isoscope.core.recording.model import Recording
    from isoscope.core.recording.tracks import AnyTrack, Array

TABLES = (
    "native",
    "transitions",
    "resets",
    "events",
    "snapshots",
    "changes",
    "failures",
)


class At(NamedTuple):
    """Where an environment was: None is unknown."""

    episode: int | None
    control_step: int | None


class LabelledContext:
    """A labelled recording, or a window of it.

    Parameters
    ----------
    labelled
        The recording.
    recording
        Its native steps, if they are in memory already.
    start
        The first row of each table; 0 where it isn't named.
    stop
        The row after the last one of each table; what there is where it isn't named.
    sharers
        By scene, environments that are known to step it from elsewhere.

    Attributes
    ----------
    steps, transitions, resets, events, snapshots, changes, failures
        The tables.
    """

    def __init__(
        self,
        labelled: LabelledRecording,
        recording: Recording | None = None,
        *,
        start: Mapping[str, int] | None = None,
        stop: Mapping[str, int] | None = None,
        sharers: Mapping[int, Iterable[int]] | None = None,
    ) -> None:
        self.labelled = labelled
        self._sharers = dict(sharers or {})
        low, high = start or {}, stop or {}

        def bounds(name: str) -> tuple[int, int | None]:
            return low.get(name, 0), high.get(name)

        given = None
        if recording is not None and not low:
            # Where no native step is told, its rows are the control steps.
            rows = min(len(recording), labelled.count("native"))
            high = {**high, "native": min(high.get("native", rows), rows)}
            given = _in_memory(recording, high["native"])
        self.steps = Steps(labelled, *bounds("native"), given)
        self.transitions = Transitions(labelled, *bounds("transitions"))
        self.resets = Resets(labelled, *bounds("resets"))
        self.events = Events(labelled, *bounds("events"))
        self.snapshots = Snapshots(labelled, *bounds("snapshots"))
        self.changes = Changes(labelled, *bounds("changes"))
        self.failures = Failures(labelled, *bounds("failures"))

    @property
    def tables(self) -> dict[str, Table]:
        """The tables by name."""
        found = (
            *(self.steps, self.transitions, self.resets, self.events),
            *(self.snapshots, self.changes, self.failures),
        )
        return {table.NAME: table for table in found}

    @property
    def stop(self) -> dict[str, int]:
        """The row after the last one, by table: where the next window begins."""
        return {name: table.stop for name, table in self.tables.items()}

    def since(self, start: Mapping[str, int]) -> LabelledContext:
        """What has come after these rows."""
        return LabelledContext(self.labelled, start=start, sharers=self.sharers)

    # -- what ran --

    @property
    def identity(self) -> Identity:
        """What ran."""
        return self.labelled.identity

    @property
    def scenes(self) -> dict[int, SceneInfo]:
        """What was told of the scenes, by number."""
        return self.labelled.scenes

    @cached_property
    def environments(self) -> list[int]:
        """The environments that step or have transitions, ascending."""
        return sorted({*self.steps.environments, *self.transitions.environments})

    @cached_property
    def sharers(self) -> dict[int, list[int]]:
        """By scene, the environments that step it, as told and as seen; ascending."""
        found: dict[int, set[int]] = {
            number: set(info.environments) for number, info in self.scenes.items()
        }
        for scene, envs in self._sharers.items():
            found.setdefault(scene, set()).update(envs)
        pairs = self.steps.scene.astype(np.int64) << 32 | (
            self.steps.env.astype(np.int64) & 0xFFFFFFFF
        )
        for pair in np.unique(pairs[self.steps.env >= 0]).tolist():
            found.setdefault(pair >> 32, set()).add(pair & 0xFFFFFFFF)
        return {scene: sorted(envs) for scene, envs in sorted(found.items())}

    @cached_property
    def in_turn(self) -> list[int]:
        """Scenes that several environments step in turn.

        Where environments lie side by side in one scene, each has a world of its own
        and nobody restores anything: those are not among them.
        """
        if self.identity.shared_scenes is False:
            return []
        return [scene for scene, envs in self.sharers.items() if len(envs) > 1]

    @cached_property
    def side_by_side(self) -> list[int]:
        """Scenes in which several environments have a world of their own each."""
        turns = set(self.in_turn)
        several = [scene for scene, envs in self.sharers.items() if len(envs) > 1]
        return [scene for scene in several if scene not in turns]

    def digests(self, name: str) -> Array:
        """uint64 [n]: ``before`` or ``after`` of the native steps as keys; 0 absent.

        Where environments lie side by side a digest is one of them all: absent here.
        """
        keys: Array = getattr(self.steps, name)
        if not self.side_by_side:
            return keys
        theirs = np.isin(self.steps.scene, self.side_by_side)
        return np.where(theirs, np.uint64(0), keys)

    # -- fields --

    def fields(self, group: str, over: str = "transitions") -> dict[str, AnyTrack]:
        """Tracks of a group over the rows of a table, by name.

        Groups of transitions: ``raw_action``, ``action``, ``observation_before``,
        ``observation_after``, ``reward_term``, ``task_state``, ``info``.
        """
        return {
            key.name: track
            for key, track in self.labelled.fields.items()
            if key.group == group and key.over == over
        }

    # -- places --

    @cached_property
    def substeps(self) -> int | None:
        """M as told, or as the substeps show it; None where unknown."""
        if self.identity.substeps is not None:
            return self.identity.substeps
        highest = int(self.steps.substep.max(initial=-1))
        return highest + 1 if highest >= 0 else None

    def last_row(self, env: int, row: int) -> int:
        """The last native step of an environment before `row`; -1 if there is none."""
        own = self.steps.of(env)
        at = int(np.searchsorted(own, row - self.steps.first)) - 1
        return int(own[at]) + self.steps.first if at >= 0 else -1

    def next_row(self, env: int, row: int) -> int:
        """The first native step of an environment from `row` on; -1 if none."""
        own = self.steps.of(env)
        at = int(np.searchsorted(own, row - self.steps.first))
        return int(own[at]) + self.steps.first if at < len(own) else -1

    def at(self, row: int) -> At:
        """Where the environment of a native step was."""
        index = row - self.steps.first
        return At(
            _known(self.steps.episode, index), _known(self.steps.control_step, index)
        )

    def about(self, env: int, row: int) -> At:
        """Where an environment was between two native steps, before `row`.

        In the control step whose substeps it has not done yet, else in the next one.
        """
        last = self.last_row(env, row)
        if last < 0:
            return At(None, None)
        index = last - self.steps.first
        where = self.at(last)
        if where.control_step is None or self.substeps is None:
            return where
        substep = int(self.steps.substep[index])
        whole = substep < 0 or substep + 1 >= self.substeps
        if bool(self.steps.reset[index]) or whole:
            return At(where.episode, where.control_step + 1)
        return where

    def transition_of(self, row: int) -> int:
        """The transition that took a native step; -1 if none is known to have."""
        env = int(self.steps.env[row - self.steps.first])
        own = self.transitions.of(env)
        first = self.transitions.first_row[own]
        known = first >= 0
        own, first = own[known], first[known]
        at = int(np.searchsorted(first, row, "right")) - 1
        if at < 0 or self.transitions.last_row[own[at]] < row:
            return -1
        return int(own[at]) + self.transitions.first


def _in_memory(recording: Recording, rows: int) -> dict[str, Array]:
    """Columns of the native steps that the recording has read."""
    given: dict[str, Array] = {"h_s": recording.steps.h_s[:rows]}
    if recording.labels is not None and len(recording.labels) >= rows:
        for name in ("env", "episode", "control_step", "substep", "kind"):
            given[name] = getattr(recording.labels, name)[:rows]
    for name, shown in (
        ("scene", "scene"),
        ("solver_status", "solverStatus"),
        ("solver_iterations", "solverIterations"),
        ("solver_residual", "solverResidual"),
    ):
        track = recording.scene.get(shown)
        if track is not None and not track.ragged and len(track) >= rows:
            given[name] = track.read(0, rows).values
    return given


def _known(column: Array, index: int) -> int | None:
    value = int(column[index])
    return value if value >= 0 else None

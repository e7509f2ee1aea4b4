"""Which rows and which actors are an environment's own, in a recording that may grow.

Where the recording was analysed, attribution has the rows. Before that, and while a
labelled recording grows, its own labels have them. No Qt.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from isoscope.core.recording.tracks import Track

if TYPE_CHECKING:
    from isoscope.core.recording.model import Labels, Recording
    from isoscope.widgets.session import Document

NO_ACTORS: frozenset[int] = frozenset()
_INT = np.dtype(np.int64)


class OwnRows:
    """Each environment's rows by the recording's own labels, kept up with."""

    def __init__(self) -> None:
        self._recording: Recording | None = None
        self._seen = 0
        self._own: dict[int, Track] = {}

    def follow(self, recording: Recording) -> None:
        """Take in the rows that came since; another recording begins anew."""
        if recording is not self._recording:
            self._recording, self._seen, self._own = recording, 0, {}
        labels = recording.labels
        total = 0 if labels is None else min(len(labels), len(recording))
        if labels is None or total <= self._seen:
            return
        env = np.asarray(labels.env[self._seen : total])
        order = np.argsort(env, kind="stable")
        ends = np.flatnonzero(np.diff(env[order])) + 1
        for own in np.split(order, ends):
            whose = int(env[own[0]])
            if whose >= 0:
                if whose not in self._own:
                    self._own[whose] = Track(_INT, (), spill=recording.steps.spill)
                self._own[whose].append(own + self._seen)
        self._seen = total

    @property
    def environments(self) -> tuple[int, ...]:
        """Those that have a row, ascending."""
        return tuple(sorted(self._own))

    def last_row(self, env: int, row: int) -> int:
        """The environment's last row at or before this one; -1 if none."""
        own = self._own.get(env)
        if own is None or own.values[0] > row:
            return -1
        return int(own.values[np.searchsorted(own.values, row, "right") - 1])


class Owners:
    """The environments of a document, their rows, and the actors of their scenes."""

    def __init__(self) -> None:
        self._labels = OwnRows()
        self._document: Document | None = None
        self._known = -1
        self._elsewhere: dict[int, frozenset[int]] = {}

    def follow(self, document: Document) -> None:
        """Take in what is new."""
        recording = document.recording
        if document is not self._document:
            self._document, self._known, self._elsewhere = document, -1, {}
        if not self._analysed(document):
            self._labels.follow(recording)
        if recording.labelled is not None and len(recording.actors) != self._known:
            self._known = len(recording.actors)
            self._elsewhere = _elsewhere(recording)

    def _analysed(self, document: Document) -> bool:
        analysis = document.analysis
        if analysis is None:
            return False
        labels = document.recording.labels
        return labels is None or analysis.rows >= len(document.recording)

    def labels(self, document: Document) -> Labels | None:
        """Whose each step is, for as many rows as anybody knows."""
        if not self._analysed(document) and document.recording.labels is not None:
            return document.recording.labels
        return document.labels

    def environments(self, document: Document) -> tuple[int, ...]:
        """The environments that are to be shown, ascending."""
        analysis = document.analysis
        if self._analysed(document) and analysis is not None:
            known = analysis.environments
        else:
            known = self._labels.environments
        return tuple(e for e in known if e not in document.hidden_envs)

    def last_row(self, document: Document, env: int, cursor: int) -> int:
        """Its last own row at or before the cursor; -1 if it has none yet."""
        analysis = document.analysis
        if self._analysed(document) and analysis is not None:
            return analysis.last_row(env, cursor)
        return self._labels.last_row(env, cursor)

    def scene_of(self, recording: Recording, row: int) -> int:
        """The number of the scene that a row is of; -1 where not told."""
        track = recording.scene.tracks.get("scene")
        value = track.at(row) if track is not None and row >= 0 else None
        return -1 if value is None or value.ndim else int(value)

    def elsewhere(self, scene: int) -> frozenset[int]:
        """The actors that are in other scenes than this one."""
        return self._elsewhere.get(scene, NO_ACTORS)


def _elsewhere(recording: Recording) -> dict[int, frozenset[int]]:
    """By scene the actors of all others; empty where there is one scene."""
    labelled = recording.labelled
    if labelled is None:
        return {}
    # The reader has the actors in the order of their numbers.
    told = [actor.info.scene for _, actor in sorted(labelled.actors.items())]
    told = told[: len(recording.actors)]
    scenes = set(told)
    if len(scenes) < 2:
        return {}
    return {
        scene: frozenset(i for i, own in enumerate(told) if own != scene)
        for scene in scenes
    }

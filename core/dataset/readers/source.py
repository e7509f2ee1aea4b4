"""A dataset as the window opens it: rows are control steps, a group of fields a role.

An episode that has what it ended in has a row more than transitions: its first is the
reset, control step 0, with the observation it began in; row k then has the observation
after control step k beside its action and reward. Without that last observation row k
has what control step k + 1 began with. The scene's clock is the frame's time in its
episode, k over the control frequency; the recording time goes on over all rows.
"""

from __future__ import annotations

import os
import threading
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from isoscope.core.errors import CancelledError, ReadError
from isoscope.core.recording.model import Actor, Labels, Problem, Recording, StepKind
from isoscope.core.recording.tracks import Track, Window

if TYPE_CHECKING:
    from isoscope.core.dataset.model import Episode, Episodes, Feature
    from isoscope.core.recording.source import Cancel, Progress
    from isoscope.core.recording.tracks import Array, BoolArray

EVERY = 256  # episodes between two signs of progress
MAX_ROWS = 1 << 31
GROUPS = {
    "observation": "observations",
    "image": "images",
    "action": "actions",
    "raw_action": "actions",
    "reward": "rewards",
    "reward_term": "rewards",
    "terminated": "ends",
    "truncated": "ends",
    "state": "states",
    "info": "infos",
    "time": "times",
}


class Layout:
    """Where episodes lie among the rows: `ends` int64 [episodes + 1]; grows."""

    def __init__(self, episodes: Episodes, closed: bool) -> None:
        self.episodes = episodes
        self.closed = closed
        self._ends = Track(np.dtype(np.int64), ())
        self._ends.append(np.zeros(1, np.int64))

    def extra(self, episode: Episode) -> int:
        """1 where the episode has a row for its reset."""
        return int(self.closed and episode.final)

    def add(self, episodes: list[Episode]) -> None:
        """Place the next episodes."""
        rows = [e.length + self.extra(e) for e in episodes]
        self._ends.append(self._ends.values[-1] + np.cumsum(rows, dtype=np.int64))

    @property
    def ends(self) -> Array:
        """int64 [episodes + 1]: the first row of each, and where the last ends."""
        return self._ends.values


class EpisodeTrack(Track):
    """A feature over the rows of all episodes, read when somebody looks."""

    def __init__(self, layout: Layout, feature: Feature) -> None:
        super().__init__(feature.dtype, tuple(feature.shape), 0, 1)
        self.feature = feature
        self._layout = layout
        self._loading = threading.RLock()

    def __len__(self) -> int:
        """Rows covered."""
        return int(self._layout.ends[-1])

    @property
    def values(self) -> Array:
        """[len, *shape], all of it; reads what isn't in memory yet."""
        self._load()
        return super().values

    @property
    def valid(self) -> BoolArray:
        """[len]: where the feature has a value."""
        self._load()
        return super().valid

    def _load(self) -> None:
        with self._loading:
            if self._length < len(self):
                window = self._read(self._length, len(self))
                self.append(window.values, window.valid)

    def read(self, start: int, stop: int) -> Window:
        """Rows start .. stop; rows the track doesn't cover come back invalid."""
        return (
            super().read(start, stop)
            if stop <= self._length
            else self._read(start, stop)
        )

    def _read(self, start: int, stop: int) -> Window:
        values = np.zeros((stop - start, *self._shape), self._dtype)
        valid = np.zeros(stop - start, np.bool_)
        ends = self._layout.ends
        episodes = self._layout.episodes
        low, high = max(start, 0), min(stop, int(ends[-1]))
        index = int(np.searchsorted(ends, low, "right")) - 1
        while low < high:
            first, end = int(ends[index]), min(int(ends[index + 1]), high)
            if end > low:
                # A feature of the steps has nothing to say of the reset's row.
                extra = self._layout.extra(episodes.episodes[index])
                shift = extra if self.feature.per == "step" else 0
                a, b = max(low - first - shift, 0), end - first - shift
                if b > a:
                    found = episodes.read(index, self.feature.name, a, b)
                    at = first + shift + a - start
                    values[at : at + b - a] = found
                    valid[at : at + b - a] = True
                low = end
            index += 1
        return Window(start, stop, values, valid)

    def present_count(self) -> int:
        """In how many rows it has a value."""
        if self.feature.per == "boundary":
            return len(self)
        done = len(self._layout.ends) - 1
        return len(self) - sum(
            self._layout.extra(self._layout.episodes.episodes[k]) for k in range(done)
        )

    def present(self, row: int) -> bool:
        """Whether it has a value in this row."""
        return bool(self.read(row, row + 1).valid[0])

    def at(self, row: int) -> Array | None:
        """The value in one row, or None where there is none."""
        window = self.read(row, row + 1)
        return np.asarray(window.values[0]) if window.valid[0] else None

    @property
    def nbytes(self) -> int:
        """Bytes held in memory."""
        return self._values.nbytes + self._valid.nbytes


class DatasetSource:
    """An opened dataset; see :class:`isoscope.core.recording.source.Source`."""

    def __init__(self, episodes: Episodes) -> None:
        self.episodes = episodes
        path = episodes.path
        self.recording = Recording(path, episodes.format, size_bytes=_size(path))
        closed = any(f.per == "boundary" for f in episodes.features)
        self._layout = Layout(episodes, closed)
        self._labels = [Track(np.dtype(np.int32), ()) for _ in range(4)]
        self._kind = Track(np.dtype(np.int8), ())
        self._numbers: dict[int, int] = {}
        self._add_groups(self.recording, self._layout)
        self._note()

    @property
    def event_count(self) -> int:
        """Episodes: what an index goes through."""
        return len(self.episodes.episodes)

    def _add_groups(self, recording: Recording, layout: Layout) -> None:
        for feature in self.episodes.features:
            name = GROUPS[feature.role]
            found = next((a for a in recording.actors if a.name == name), None)
            if found is None:
                found = Actor(
                    len(recording.actors),
                    len(recording.actors) + 1,
                    name,
                    "Dataset",
                    None,
                    0,
                )
                recording.actors.append(found)
            found.fields.tracks[feature.name] = EpisodeTrack(layout, feature)

    def _note(self) -> None:
        recording, episodes = self.recording, self.episodes
        roles = {f.role for f in episodes.features}
        recording.notes["episodes"] = str(len(episodes.episodes))
        if episodes.control_hz is not None:
            recording.notes["control_hz"] = f"{episodes.control_hz:g}"
        if roles & {"action", "raw_action"}:
            recording.notes["actions"] = "of each control step"
        if "reward" in roles:
            recording.notes["rewards"] = "of each control step"
        for line in getattr(episodes, "problems", ()):
            recording.problems.append(Problem(line))

    def preview(self, event: int | None = None) -> Recording | None:
        """Read the first row of an episode, as a recording of one row."""
        index = event or 0
        if not 0 <= index < self.event_count:
            return None
        whole = self.episodes.episodes[index]
        if whole.length + self._layout.extra(whole) == 0:
            return None
        picture = Recording(self.recording.path, self.recording.format)
        self._add_groups(picture, self._layout)
        for actor in picture.actors:
            for name, track in list(actor.fields.tracks.items()):
                assert isinstance(track, EpisodeTrack)
                feature = track.feature
                if feature.per == "step" and self._layout.extra(whole):
                    del actor.fields.tracks[name]
                else:
                    actor.fields.tracks[name] = Track.of(
                        self.episodes.read(index, name, 0, 1)
                    )
        self._append(picture, 0, np.zeros(1))
        picture.expected_steps, picture.complete = 1, True
        return picture

    def _append(self, recording: Recording, first: int, frames: Array) -> None:
        """Append rows whose episodes' own frames are these."""
        hz = self.episodes.control_hz
        h_s = np.full(len(frames), np.nan if hz is None else 1 / hz)
        rows = np.arange(first, first + len(frames))
        # At the end of each, as a recording has it; the frame's own time beside it.
        time_s = np.full(len(frames), np.nan) if hz is None else (rows + 1) / hz
        scene_s = np.full(len(frames), np.nan) if hz is None else frames / hz
        recording.steps.append(
            rows, time_s, h_s, np.full((len(frames), 3), np.nan), scene_s
        )

    def index(
        self, progress: Progress | None = None, cancelled: Cancel | None = None
    ) -> None:
        """Go through the episodes, and place their rows."""
        total = self.event_count
        for start in range(len(self._layout.ends) - 1, total, EVERY):
            if cancelled is not None and cancelled():
                raise CancelledError(
                    f"opening {self.episodes.name} was stopped at episode {start}"
                )
            self._take(start, min(start + EVERY, total))
            if progress is not None:
                progress(min(start + EVERY, total), total)
        if progress is not None and not total:
            progress(0, 0)
        recording = self.recording
        recording.event_counts = {"Step": len(recording)}
        seen = {p.message for p in recording.problems}
        for line in getattr(self.episodes, "problems", ()):
            if line not in seen:
                recording.problems.append(Problem(line))
        recording.expected_steps = len(recording)
        recording.complete = True

    def _take(self, start: int, stop: int) -> None:
        made = [self.episodes.episodes[k] for k in range(start, stop)]
        sizes = np.array([e.length + self._layout.extra(e) for e in made], np.int64)
        first = int(self._layout.ends[-1])
        if first + int(sizes.sum()) > MAX_ROWS:
            raise ReadError(
                "opening",
                self.recording.path or self.episodes.name,
                f"it claims more than {MAX_ROWS:,} rows",
            )
        extra = np.array([self._layout.extra(e) for e in made])
        within = np.arange(int(sizes.sum())) - np.repeat(
            np.cumsum(sizes) - sizes, sizes
        )
        control = within + np.repeat(1 - extra, sizes)
        env = np.repeat([_env(e) for e in made], sizes)
        number = np.repeat([self._number(e) for e in made], sizes)
        substep = np.zeros(len(within), np.int32)
        for track, values in zip(
            self._labels, (env, number, control, substep), strict=True
        ):
            track.append(values.astype(np.int32))
        kinds = np.where(control == 0, StepKind.RESET, StepKind.SUBSTEP)
        self._kind.append(kinds.astype(np.int8))
        self._layout.add(made)
        self.recording.labels = Labels(
            self._labels[0].values,
            self._labels[1].values,
            self._labels[2].values,
            self._labels[3].values,
            self._kind.values,
        )
        self._append(self.recording, first, within)

    def _number(self, episode: Episode) -> int:
        """The episode's number within its environment."""
        env = _env(episode)
        self._numbers[env] = self._numbers.get(env, 0) + 1
        if episode.env is None or episode.number is None:
            return self._numbers[env]
        return episode.number

    def close(self) -> None:
        """Do nothing yet: tracks read on for as long as the recording lives."""


def _env(episode: Episode) -> int:
    """The environment; a dataset that names none is shown as one."""
    return 0 if episode.env is None else episode.env


def _size(path: Path | None) -> int:
    """Bytes of a file, or of the files in a folder."""
    if path is None:
        return 0
    if path.is_file():
        return path.stat().st_size
    total = 0
    for folder, _, files in os.walk(path):
        for name in files:
            try:
                total += os.lstat(Path(folder) / name).st_size
            except OSError:
                continue
    return total

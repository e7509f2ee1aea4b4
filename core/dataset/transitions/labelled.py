"""Episodes of a labelled recording: its transitions table, read in windows.

A row that the recorder marked as one that only resets is left out; so are resets
themselves. The observation that an episode ended in is the one that was recorded after
its last control step, which is the true final one whatever the autoreset mode was.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import msgspec
import numpy as np

from isoscope.core.dataset.model import Dropped, Episode, Feature
from isoscope.core.dataset.transitions.pieces import pieces_of
from isoscope.core.errors import UsageError
from isoscope.core.recording.labelled.columns import FrameTrack

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from isoscope.core.dataset.model import Per, Role
    from isoscope.core.dataset.transitions.pieces import Piece
    from isoscope.core.recording.labelled.labelled import LabelledRecording
    from isoscope.core.recording.labelled.records import Identity
    from isoscope.core.recording.model import Recording
    from isoscope.core.recording.tracks import Array, Int64Array

TABLE = "transitions"
BEFORE, AFTER = "observation_before", "observation_after"
ROLES: dict[str, Role] = {
    "action": "action",
    "raw_action": "raw_action",
    "reward_term": "reward_term",
    "task_state": "state",
    "info": "info",
}
COLUMNS = ("reward", "terminated", "truncated")
FLAGS = ("terminated", "truncated")


@dataclass(frozen=True, slots=True)
class _Column:
    """Where a feature's values are.

    Attributes
    ----------
    track
        Of what goes with control steps, or was observed before them. None where only
        what was observed after them was recorded, as of large observations: what was
        before a step is then what was after the one before it, or after the reset.
    after
        What was observed after them.
    """

    feature: Feature
    track: FrameTrack | None
    after: FrameTrack | None = None


@dataclass(slots=True)
class LabelledEpisodes:
    """See `isoscope.core.dataset.model.Episodes`."""

    name: str
    path: Path | None
    features: Sequence[Feature]
    episodes: Sequence[Episode]
    dropped: Sequence[Dropped]
    control_hz: float | None
    identity: Mapping[str, Any]
    format: str = "isoscope-labelled"
    _columns: dict[str, _Column] = field(default_factory=dict)
    _table: dict[str, Array] = field(default_factory=dict)
    _rows: list[Int64Array] = field(default_factory=list)
    _resets: list[int] = field(default_factory=list)  # each episode's, or -1

    def read(
        self, episode: int, feature: str, start: int = 0, stop: int | None = None
    ) -> Array:
        """Rows start .. stop of a feature of an episode, [rows, *shape].

        A real that the recorder marked as absent is NaN.
        """
        if not 0 <= episode < len(self.episodes):
            raise UsageError(f"{self.name} has no episode {episode}")
        rows = self._rows[episode]
        if feature in self._table:
            return np.asarray(self._table[feature][rows[slice(start, stop)]])
        column = self._columns.get(feature)
        if column is None:
            known = ", ".join(f.name for f in self.features)
            raise UsageError(f"{self.name} has no feature {feature!r}; it has {known}")
        count = len(rows) + (column.after is not None)
        wanted = range(count)[slice(start, stop)]
        parts = []
        if column.track is None:
            chain = np.concatenate([[self._resets[episode]], rows])
            parts.append(_gathered(column.after, chain[slice(start, stop)]))
        else:
            within = rows[wanted.start : min(wanted.stop, len(rows))]
            parts.append(_gathered(column.track, within))
            if column.after is not None and wanted.stop > len(rows) and len(wanted):
                parts.append(_gathered(column.after, rows[-1:]))
        empty = np.zeros((0, *column.feature.shape), column.feature.dtype)
        return np.concatenate([empty, *(part for part in parts if part is not None)])

    def close(self) -> None:
        """Leave the recording open: it is its reader's."""


def labelled_episodes(recording: Recording) -> LabelledEpisodes:
    """All episodes of a labelled recording.

    Raises
    ------
    UsageError
        If it holds no transitions.
    ReadError
        If they can't be read.
    """
    labelled: LabelledRecording | None = recording.labelled
    if labelled is None or not labelled.count(TABLE):
        raise UsageError(
            f"{recording.name} holds no transitions: whatever recorded it was not told "
            "of control steps"
        )
    told = labelled.columns(TABLE)
    valid = told["valid"]
    step = np.where(valid == 0, 0, told["control_step"])
    pieces = pieces_of(told["env"], told["episode"], step)
    kept = np.concatenate([p.rows for p in pieces]) if pieces else np.zeros(0, np.int64)
    dropped = _left_out(told, kept)
    resets = _reset_rows(told, pieces)
    columns = _columns(labelled, kept, resets, dropped)
    table = {"reward": told["reward"]}
    features = [c.feature for c in columns]
    features.append(Feature("reward", "reward", np.dtype(np.float64)))
    for flag in FLAGS:
        if len(kept) and (told[flag][kept] >= 0).all():
            table[flag] = told[flag] > 0
            features.append(Feature(flag, _flag_role(flag), np.dtype(np.bool_)))
    return LabelledEpisodes(
        name=recording.name,
        path=recording.path,
        features=tuple(features),
        episodes=tuple(
            _episode(index, piece, told, resets[index], _ends_known(columns))
            for index, piece in enumerate(pieces)
        ),
        dropped=tuple(dropped),
        control_hz=_control_hz(labelled.identity),
        identity=msgspec.to_builtins(labelled.identity),
        _columns={c.feature.name: c for c in columns},
        _table=table,
        _rows=[p.rows for p in pieces],
        _resets=resets,
    )


def _flag_role(flag: str) -> Role:
    return "terminated" if flag == "terminated" else "truncated"


def _left_out(told: Mapping[str, Array], kept: Int64Array) -> list[Dropped]:
    """Say how many rows are no transitions, and why."""
    rest = np.ones(len(told["env"]), np.bool_)
    rest[kept] = False
    resets = told["control_step"] == 0
    reasons = {
        "resets, which are no transitions": rest & resets,
        "rows that only reset (autoreset)": rest & (told["valid"] == 0) & ~resets,
        "rows of an unknown environment, episode or control step": rest
        & (told["valid"] != 0)
        & ~resets,
    }
    return [Dropped(w, int(m.sum())) for w, m in reasons.items() if m.any()]


def _reset_rows(told: Mapping[str, Array], pieces: list[Piece]) -> list[int]:
    """The row of the reset that each piece begins with; -1 where there is none."""
    rows = np.flatnonzero((told["control_step"] == 0) & (told["episode"] > 0))
    env, episode = told["env"][rows].tolist(), told["episode"][rows].tolist()
    known = dict(zip(zip(env, episode, strict=True), rows.tolist(), strict=True))
    return [
        known.get((p.env, p.number), -1) if p.first_step == 1 else -1 for p in pieces
    ]


def _columns(
    labelled: LabelledRecording,
    kept: Int64Array,
    resets: list[int],
    dropped: list[Dropped],
) -> list[_Column]:
    found: list[_Column] = []
    seen = list(dict.fromkeys(labelled.names(BEFORE) + labelled.names(AFTER)))
    for name in seen:
        before, after = (_track(labelled, group, name) for group in (BEFORE, AFTER))
        told = before or after
        if told is None:
            continue
        called = "observation" if len(seen) == 1 else f"observation/{name}"
        feature = _feature(called, "observation", "boundary", told)
        rows = kept
        if before is None:
            if min(resets, default=-1) < 0:
                dropped.append(
                    Dropped(f"{called} is not known where episodes begin", 1)
                )
                continue
            rows = np.concatenate([kept, np.array(resets, np.int64)])
        if all(_usable(track, rows) for track in (before, after) if track is not None):
            found.append(_Column(feature, before, after))
        else:
            dropped.append(Dropped(f"{called} is absent in part of the rows", 1))
    for group, role in ROLES.items():
        names = labelled.names(group)
        for name in names:
            track = _track(labelled, group, name)
            if track is None:
                continue
            alone = len(names) == 1 and role in ("action", "raw_action")
            called = group if alone else f"{group}/{name}"
            if _usable(track, kept):
                found.append(_Column(_feature(called, role, "step", track), track))
            elif not (role == "action" and _whole(_given(labelled), kept)):
                dropped.append(Dropped(f"{called} is absent in part of the rows", 1))
    return found + _never_clipped(labelled, kept, found)


def _never_clipped(
    labelled: LabelledRecording, kept: Int64Array, found: list[_Column]
) -> list[_Column]:
    """Actions of whole numbers as given, where it isn't told how they were applied.

    They are not clipped, so that one is the other.
    """
    raw = _given(labelled)
    if any(c.feature.role == "action" for c in found) or not _whole(raw, kept):
        return []
    out = []
    for name, track in raw.items():
        called = "action" if len(raw) == 1 else f"action/{name}"
        feature = _feature(called, "action", "step", track)
        about = "as given: actions of whole numbers are not clipped"
        out.append(_Column(replace(feature, about=about), track))
    return out


def _given(labelled: LabelledRecording) -> dict[str, FrameTrack]:
    tracks = {
        n: _track(labelled, "raw_action", n) for n in labelled.names("raw_action")
    }
    return {name: track for name, track in tracks.items() if track is not None}


def _whole(tracks: Mapping[str, FrameTrack], kept: Int64Array) -> bool:
    """Whether these are whole numbers, told in every row."""
    return bool(tracks) and all(
        track.dtype.kind in "iu" and _usable(track, kept) for track in tracks.values()
    )


def _track(labelled: LabelledRecording, group: str, name: str) -> FrameTrack | None:
    try:
        track = labelled.track(TABLE, group, name)
    except KeyError:
        return None
    return track if isinstance(track, FrameTrack) else None


def _usable(track: FrameTrack, rows: Int64Array) -> bool:
    """Whether what is absent can be told from values: it is NaN, or nothing is."""
    if track.dtype.kind == "f":
        return True
    return bool(len(track)) and bool(track.valid[rows].all())


def _feature(name: str, role: Role, per: Per, track: FrameTrack) -> Feature:
    told = track.field
    size = int(np.prod(told.shape, dtype=np.int64))
    names = tuple(told.names) if len(told.names) == size else ()
    return Feature(
        name=name,
        role=role,
        dtype=track.dtype,
        shape=tuple(told.shape),
        names=names,
        units=(told.unit,) * size if told.unit is not None else (),
        low=tuple(told.low) if len(told.low) == size else None,
        high=tuple(told.high) if len(told.high) == size else None,
        per=per,
    )


def _gathered(track: FrameTrack | None, rows: Int64Array) -> Array | None:
    """Values of some rows, read as one window; absent reals are NaN."""
    if track is None or not len(rows):
        return None
    low, high = int(rows.min()), int(rows.max()) + 1
    window = track.read(low, high)
    values = np.array(window.values[rows - low])
    if track.dtype.kind == "f":
        values[~window.valid[rows - low]] = np.nan
    return values


def _ends_known(columns: list[_Column]) -> bool:
    seen = [c for c in columns if c.feature.role == "observation"]
    return bool(seen) and all(c.after is not None for c in seen)


def _episode(
    index: int, piece: Piece, told: Mapping[str, Array], reset: int, final: bool
) -> Episode:
    last = piece.rows[-1]
    ends = {flag: int(told[flag][last]) for flag in FLAGS}
    over = {flag: None if value < 0 else bool(value) for flag, value in ends.items()}
    begun = told["seed"][[reset if reset >= 0 else piece.rows[0]]]
    given = begun[begun >= 0]
    first, stop = told["first_row"][piece.rows[0]], told["last_row"][last]
    notes: dict[str, Any] = {}
    if piece.first_step != 1:
        notes["first_control_step"] = piece.first_step
    if piece.part:
        notes["part"] = piece.part
    return Episode(
        index=index,
        id=piece.id,
        length=len(piece.rows),
        env=piece.env,
        number=piece.number,
        terminated=over["terminated"] if piece.last else False,
        truncated=over["truncated"] if piece.last else False,
        complete=piece.last and any(over.values()),
        final=final,
        seed=int(given[0]) if len(given) else None,
        native=(int(first), int(stop)) if first >= 0 <= stop else None,
        rows=piece.rows,
        notes=notes,
    )


def _control_hz(identity: Identity) -> float | None:
    if identity.control_hz is not None:
        return float(identity.control_hz)
    if identity.simulation_hz is not None and identity.substeps:
        return float(identity.simulation_hz) / identity.substeps
    return None

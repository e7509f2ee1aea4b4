"""Episodes of a bare recording, which holds no actions, and the file that has them.

What the file says of a control step is joined to the native steps that were given to
that control step; it is refused where it speaks of control steps that the recording
does not have, since then one of the two is not what it seems to be. A controller's
`targetPose` is no action and never becomes one here.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from isoscope.core.dataset.memory import MemoryEpisodes
from isoscope.core.dataset.model import Dropped, Episode, Feature
from isoscope.core.dataset.transitions.pieces import pieces_of
from isoscope.core.errors import UsageError
from isoscope.core.recording.model import StepKind

if TYPE_CHECKING:
    from collections.abc import Mapping

    from isoscope.core.attribution.result import Attribution
    from isoscope.core.dataset.transitions.given import GivenTransitions
    from isoscope.core.dataset.transitions.pieces import Piece
    from isoscope.core.recording.model import Recording
    from isoscope.core.recording.tracks import Array, Int64Array

_PLACE_BITS = 21  # for each of episode and control step within one number


def joined_episodes(
    recording: Recording, attribution: Attribution, given: GivenTransitions
) -> MemoryEpisodes:
    """Join given transitions to a bare recording's native steps.

    Raises
    ------
    UsageError
        If they speak of control steps that the recording does not have.
    """
    told = given.columns
    first, last = _native_of(recording, attribution, told)
    missing = np.flatnonzero(first < 0)
    if len(missing):
        at = missing[0]
        env, episode, step = (int(told[n][at]) for n in _PLACES)
        raise UsageError(
            f"{given.path}: {len(missing)} of {len(first)} transitions are of control "
            f"steps that {recording.name} does not have, the first one env {env}, "
            f"episode {episode}, control step {step}; give the file that belongs to "
            "this recording, or --labels and --substeps that fit it"
        )
    pieces = pieces_of(*(told[name] for name in _PLACES))
    kept = sum(len(piece.rows) for piece in pieces)
    extra = len(first) - kept
    return MemoryEpisodes(
        name=recording.name,
        path=recording.path,
        format=recording.format,
        features=_features(given),
        episodes=[_episode(i, p, told, first, last) for i, p in enumerate(pieces)],
        columns=[_columns(piece, told) for piece in pieces],
        control_hz=given.control_hz or _control_hz(recording, attribution, first, last),
        dropped=[Dropped("transitions given twice", extra)] if extra else [],
        identity={
            "transitions_file": given.path.name,
            "precision": str(recording.real),
        },
    )


_PLACES = ("env", "episode", "control_step")


def _native_of(
    recording: Recording, attribution: Attribution, told: Mapping[str, Array]
) -> tuple[Int64Array, Int64Array]:
    """First and last native step of each given transition, int64 [n]; -1 if none."""
    labels = attribution.labels
    rows = np.flatnonzero((labels.kind == StepKind.SUBSTEP) & (labels.control_step > 0))
    keys = _keys(labels.env[rows], labels.episode[rows], labels.control_step[rows])
    order = np.argsort(keys, kind="stable")
    keys, rows = keys[order], rows[order]
    wanted = _keys(*(told[name] for name in _PLACES))
    begin = np.searchsorted(keys, wanted, "left")
    end = np.searchsorted(keys, wanted, "right")
    there = end > begin
    first = np.full(len(wanted), -1, np.int64)
    last = first.copy()
    first[there] = rows[begin[there]]
    last[there] = rows[end[there] - 1]
    return first, last


def _keys(env: Array, episode: Array, step: Array) -> Int64Array:
    key = env.astype(np.int64)
    for part in (episode, step):
        key = (key << _PLACE_BITS) | np.minimum(part, (1 << _PLACE_BITS) - 1)
    return key


def _features(given: GivenTransitions) -> list[Feature]:
    told = given.columns
    made = [
        Feature(
            "observation",
            "observation",
            told["obs"].dtype,
            told["obs"].shape[1:],
            names=given.observation_names,
            per="boundary",
        ),
        Feature(
            "action",
            "action",
            told["action"].dtype,
            told["action"].shape[1:],
            names=given.action_names,
        ),
    ]
    if "raw_action" in told:
        raw = told["raw_action"]
        made.append(Feature("raw_action", "raw_action", raw.dtype, raw.shape[1:]))
    made += [
        Feature("reward", "reward", np.dtype(np.float64)),
        Feature("terminated", "terminated", np.dtype(np.bool_)),
        Feature("truncated", "truncated", np.dtype(np.bool_)),
    ]
    return made


def _columns(piece: Piece, told: Mapping[str, Array]) -> dict[str, Array]:
    rows = piece.rows
    names = [n for n in told if n not in (*_PLACES, "obs", "next_obs")]
    columns = {name: told[name][rows] for name in names}
    columns["observation"] = np.concatenate(
        [told["obs"][rows], told["next_obs"][rows[-1:]]]
    )
    return columns


def _episode(
    index: int, piece: Piece, told: Mapping[str, Array], first: Array, last: Array
) -> Episode:
    end = piece.rows[-1]
    terminated = piece.last and bool(told["terminated"][end])
    truncated = piece.last and bool(told["truncated"][end])
    notes = {"part": piece.part} if piece.part else {}
    if piece.first_step != 1:
        notes["first_control_step"] = piece.first_step
    return Episode(
        index=index,
        id=piece.id,
        length=len(piece.rows),
        env=piece.env,
        number=piece.number,
        terminated=terminated,
        truncated=truncated,
        complete=terminated or truncated,
        native=(int(first[piece.rows[0]]), int(last[end])),
        rows=piece.rows,
        notes=notes,
    )


def _control_hz(
    recording: Recording, attribution: Attribution, first: Array, last: Array
) -> float | None:
    """1 / H, where H is the same in nearly all control steps."""
    if attribution.substeps is None or not len(first):
        return None
    h_s = float(np.median(recording.steps.h_s[last]))
    return round(1.0 / (h_s * attribution.substeps), 9) if h_s > 0 else None

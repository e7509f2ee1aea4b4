"""Holds a restored policy against a recording: its actions' range, and the actions.

A policy that was restored without what scaled its actions acts, but in another range.
So it acts on the recorded observations, and what comes out is held against the limits
that the recording declares and the actions that it holds.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal

import msgspec
import numpy as np

from isoscope.core.recording.tracks import Track
from isoscope.core.replay.checkpoint.acting import SavedPolicy
from isoscope.core.replay.checkpoint.model import CheckpointError
from isoscope.core.replay.checkpoint.pieces import Chance

if TYPE_CHECKING:
    from isoscope.core.recording.labelled.labelled import LabelledRecording
    from isoscope.core.recording.model import Recording
    from isoscope.core.recording.tracks import Array
    from isoscope.core.replay.checkpoint.model import Checkpoint

MOST = 20_000  # observations acted on
WIDER = 1.5  # times the recorded range, from where it is another one
EQUAL = 1e-4  # of the recorded range: what another build's rounding makes


class ComponentRange(msgspec.Struct, frozen=True, kw_only=True):
    """One component of the action.

    Attributes
    ----------
    declared
        Limits as the recording declares them; None where it doesn't.
    saved
        Limits as the checkpoint has them.
    recorded, restored
        Smallest and largest of the recorded actions, and of the restored policy's on
        the same observations.
    agrees
        Whether the restored ones lie within the declared limits, and span about what
        the recorded ones do.
    """

    name: str
    declared: tuple[float, float] | None
    saved: tuple[float, float] | None
    recorded: tuple[float, float]
    restored: tuple[float, float]
    agrees: bool


class RangeReport(
    msgspec.Struct, frozen=True, kw_only=True, rename={"schema_": "schema"}
):
    """A checkpoint against a recording: ``isoscope.policy-range/1``.

    Attributes
    ----------
    steps
        Recorded actions with their observations.
    equal
        Of these, how many the restored policy takes again, but for rounding.
    draws
        Whether it draws its actions, so that they need not be equal.
    agrees
        Whether all components do.
    """

    schema_: Literal["isoscope.policy-range/1"] = "isoscope.policy-range/1"
    checkpoint: str
    recording: str
    parts: list[str]
    steps: int
    equal: int
    draws: bool
    components: list[ComponentRange]
    agrees: bool
    why: str


def hold_against(
    checkpoint: Checkpoint,
    recording: Recording,
    *,
    name: str,
    parts: list[str] | None = None,
) -> RangeReport:
    """Let a checkpoint's policy act on recorded observations.

    Parameters
    ----------
    recording
        A labelled one, with observations and actions.
    name
        The checkpoint's, for people.
    parts
        See `SavedPolicy`.

    Raises
    ------
    CheckpointError
        If the recording has no actions, or observations of another size.
    """
    labelled = recording.labelled
    doing = f"holding {name} against {recording.path or recording.name}"
    if labelled is None:
        raise CheckpointError(f"{doing}: it is a bare recording, without actions")
    before = _vectors(labelled, "observation_before")
    taken = _vectors(labelled, "raw_action") or _vectors(labelled, "action")
    if before is None or taken is None:
        raise CheckpointError(f"{doing}: it holds no actions with their observations")
    observations, seen = before
    actions, there = taken
    rows = np.flatnonzero(seen & there)[:MOST]
    if not len(rows):
        raise CheckpointError(f"{doing}: it holds no actions with their observations")
    acted = _act(checkpoint, labelled, observations, rows, parts, doing)
    recorded = actions[rows].astype(np.float64)
    if acted.shape != recorded.shape:
        raise CheckpointError(
            f"{doing}: its actions have {recorded.shape[1]} numbers, and the policy's "
            f"{acted.shape[1]}"
        )
    space = next((s for s in labelled.identity.spaces if s.role == "action"), None)
    names = list(space.names) if space is not None else []
    components = [
        _component(k, names, space, checkpoint, recorded[:, k], acted[:, k])
        for k in range(recorded.shape[1])
    ]
    span = np.maximum(np.ptp(recorded, axis=0), 1e-12)
    equal = int((np.abs(acted - recorded) <= EQUAL * span).all(1).sum())
    apart = [one for one in components if not one.agrees]
    return RangeReport(
        checkpoint=name,
        recording=str(recording.path or recording.name),
        parts=list(parts or checkpoint.parts),
        steps=len(rows),
        equal=equal,
        draws=_draws(checkpoint, parts),
        components=components,
        agrees=not apart,
        why=_why(apart[0]) if apart else "its actions lie in the recorded range",
    )


def _draws(checkpoint: Checkpoint, parts: list[str] | None) -> bool:
    """Whether it draws: by a generator that is run here, and with something to draw."""
    rng = checkpoint.parts.get("rng")
    if rng is None or rng.kind != Chance.KIND or (parts and "rng" not in parts):
        return False
    told = checkpoint.parts["policy"].tensors.get("log_spread")
    box = checkpoint.action
    return (told is not None and told.size > 0) or bool(box is not None and box.choices)


def _vectors(labelled: LabelledRecording, group: str) -> tuple[Array, Array] | None:
    """Flat vectors of transitions [n, size], and where they are there."""
    count = labelled.count("transitions")
    for key, track in labelled.fields.items():
        if (key.over, key.group) == ("transitions", group) and isinstance(track, Track):
            window = track.read(0, count)
            return window.values.reshape(count, -1), np.asarray(window.valid)
    return None


def _act(
    checkpoint: Checkpoint,
    labelled: LabelledRecording,
    observations: Array,
    rows: Array,
    parts: list[str] | None,
    doing: str,
) -> Array:
    """What it does on recorded observations, each environment's in their order."""
    env = labelled.column("transitions", "env")[rows]
    episode = labelled.column("transitions", "episode")[rows]
    out: Array | None = None
    for number in np.unique(env).tolist():
        policy = SavedPolicy(checkpoint, 1, parts)
        last: Any = None
        for k in np.flatnonzero(env == number).tolist():
            begins = np.array([episode[k] != last])
            last = episode[k]
            try:
                action = policy.act(observations[rows[k]][None], begins)
            except CheckpointError as error:
                raise CheckpointError(f"{doing}: {error}") from None
            flat = np.asarray(action, np.float64).reshape(1, -1)
            if out is None:
                out = np.zeros((len(rows), flat.shape[1]))
            out[k] = flat[0]
    assert out is not None  # there are rows
    return out


def _component(
    k: int,
    names: list[str],
    space: Any,
    checkpoint: Checkpoint,
    recorded: Array,
    acted: Array,
) -> ComponentRange:
    declared = _limits(space, k)
    saved = _limits(checkpoint.action, k)
    a = float(recorded.min()), float(recorded.max())
    b = float(acted.min()), float(acted.max())
    agrees = True
    if declared is not None:
        room = 1e-5 * max(abs(declared[0]), abs(declared[1]), 1.0)
        agrees = declared[0] - room <= b[0] and b[1] <= declared[1] + room
        if saved is not None:
            agrees = agrees and bool(np.allclose(declared, saved, rtol=1e-5))
    width, other = a[1] - a[0], b[1] - b[0]
    if width > 0 and other > WIDER * width and (declared is None or not agrees):
        agrees = False
    if width > 0 and other * 10 * WIDER < width:
        agrees = False
    return ComponentRange(
        name=names[k] if k < len(names) else str(k),
        declared=declared,
        saved=saved,
        recorded=a,
        restored=b,
        agrees=agrees,
    )


def _limits(space: Any, k: int) -> tuple[float, float] | None:
    if space is None or space.low is None or space.high is None:
        return None
    if k >= len(space.low) or k >= len(space.high):
        return None
    return float(space.low[k]), float(space.high[k])


def _why(one: ComponentRange) -> str:
    def said(limits: tuple[float, float]) -> str:
        return f"{limits[0]:.4g} to {limits[1]:.4g}"

    parts = [f"{one.name} goes from {said(one.restored)} on the recorded observations"]
    parts.append(f"recorded were {said(one.recorded)}")
    if one.declared is not None:
        parts.append(f"declared are {said(one.declared)}")
    if one.saved is not None:
        parts.append(f"saved with {said(one.saved)}")
    return ", ".join(parts)

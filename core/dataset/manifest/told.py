"""What a recording tells for a manifest beyond its episodes.

All of it is counted or taken over as it is; nothing that isn't told is made up.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import msgspec
import numpy as np

from isoscope.core.dataset.manifest.forms import Clocks

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from isoscope.core.dataset.model import Episodes
    from isoscope.core.recording.labelled.labelled import LabelledRecording
    from isoscope.core.recording.model import Recording

CHANGES_KEPT = 1000
WINDOW = 1 << 16
CLOSE = 1e-9


@dataclass(slots=True)
class Told:
    """See `isoscope.core.dataset.manifest.forms.Manifest`."""

    configuration: dict[str, Any] = field(default_factory=dict)
    clocks: Clocks = field(default_factory=Clocks)
    reasons: dict[str, int] = field(default_factory=dict)
    frames: list[dict[str, Any]] = field(default_factory=list)
    failures: list[dict[str, Any]] = field(default_factory=list)
    solver: dict[str, int] = field(default_factory=dict)


def told_of(
    episodes: Episodes, recording: Recording | None, substeps: int | None = None
) -> Told:
    """What is told by the recording, or where there is none by the dataset's identity.

    Parameters
    ----------
    substeps
        M, where the recording itself doesn't tell it.

    Raises
    ------
    ReadError
        If something of it can't be read.
    """
    out = Told()
    h_s: list[float] = []
    if recording is not None:
        steps = np.asarray(recording.steps.h_s, np.float64)
        h_s = [float(h) for h in np.unique(steps[np.isfinite(steps)])][:16]
        labelled = recording.labelled
        out.configuration["actors"] = _actors(recording)
        if labelled is not None:
            _labelled(out, labelled)
    out.clocks = _clocks(episodes, h_s, substeps)
    return out


def _actors(recording: Recording) -> list[dict[str, Any]]:
    return [
        {"name": actor.name, "type": str(actor.type), "fields": list(actor.fields)}
        for actor in recording.actors
    ]


def _labelled(out: Told, labelled: LabelledRecording) -> None:
    out.configuration["scenes"] = [
        msgspec.to_builtins(scene) for scene in labelled.scenes.values()
    ]
    out.configuration["models"] = [
        {
            "name": actor.info.name,
            "type": actor.info.type,
            "scene": actor.info.scene,
            "sha256": _digest(labelled.reference(actor)),
        }
        for actor in labelled.actors.values()
    ]
    changes = labelled.changes()
    out.configuration["changes"] = [
        {"key": c.key, "env": c.env, "row": c.row, "old": c.old, "new": c.new}
        for c in changes[:CHANGES_KEPT]
    ]
    if len(changes) > CHANGES_KEPT:
        out.configuration["changes_not_listed"] = len(changes) - CHANGES_KEPT
    digests = {row.hex() for row in _column(labelled, "configuration_digest")}
    out.configuration["digests"] = sorted(digests)[:CHANGES_KEPT]
    out.failures = _grouped(
        [(f.what, f.message, f.row) for f in labelled.failures()]
    ) + [
        {"what": f"not recorded: {d.what}", "count": d.count, "first": d.why}
        for d in labelled.dropped()
    ]
    out.solver = _solver(labelled)
    out.reasons = _reasons(labelled)
    out.frames = _frames(labelled)


def _digest(arrays: Mapping[str, Any]) -> str | None:
    """Of what an actor's creation holds; None where it holds nothing."""
    if not arrays:
        return None
    found = hashlib.sha256()
    for name in sorted(arrays):
        values = np.ascontiguousarray(arrays[name])
        found.update(f"{name} {values.dtype.str} {values.shape}\n".encode())
        found.update(values.tobytes())
    return found.hexdigest()


def _column(labelled: LabelledRecording, name: str) -> set[bytes]:
    found: set[bytes] = set()
    if not labelled.has("native", name):
        return found
    for start in range(0, labelled.count("native"), WINDOW):
        rows = labelled.column("native", name, start, start + WINDOW)
        found |= {row.tobytes() for row in np.unique(rows, axis=0) if row.any()}
    return found


def _grouped(found: Iterable[tuple[str, str, int]]) -> list[dict[str, Any]]:
    out: dict[str, dict[str, Any]] = {}
    for what, message, row in found:
        one = out.setdefault(
            what, {"what": what, "count": 0, "first": message, "native": row}
        )
        one["count"] += 1
    return list(out.values())


def _solver(labelled: LabelledRecording) -> dict[str, int]:
    names = labelled.identity.solver_statuses
    out: dict[str, int] = {}
    if not labelled.has("native", "solver_status"):
        return out
    for start in range(0, labelled.count("native"), WINDOW):
        rows = labelled.column("native", "solver_status", start, start + WINDOW)
        for value, count in zip(*np.unique(rows, return_counts=True), strict=True):
            if value >= 0:
                name = names.get(int(value), str(int(value)))
                out[name] = out.get(name, 0) + int(count)
    return out


def _reasons(labelled: LabelledRecording) -> dict[str, int]:
    """How often each reason is true in the transitions' `reasons`."""
    out: dict[str, int] = {}
    if not labelled.has("transitions", "reasons"):
        return out
    numbers = labelled.column("transitions", "reasons")
    for number, count in zip(*np.unique(numbers, return_counts=True), strict=True):
        told = labelled.json(int(number))
        for name in _true(told):
            out[name] = out.get(name, 0) + int(count)
    return out


def _true(told: Any) -> list[str]:
    if isinstance(told, dict):
        return [
            name
            for key, value in told.items()
            for name in ([key] if value is True else _below(key, value))
        ]
    if isinstance(told, list | tuple):
        return [str(one) for one in told]
    return [told] if isinstance(told, str) and told else []


def _below(key: str, value: Any) -> list[str]:
    return (
        [f"{key}/{name}" for name in _true(value)]
        if isinstance(value, dict | list | str)
        else []
    )


def _frames(labelled: LabelledRecording) -> list[dict[str, Any]]:
    if not labelled.count("streams"):
        return []
    told = {
        name: labelled.column("streams", name)
        for name in ("capture_time_s", "read_time_s")
    }
    names = labelled.columns("streams")["name"]
    out = []
    for name in dict.fromkeys(names.tolist()):
        mine = names == name
        out.append({"stream": name, "count": int(mine.sum())})
        for key, values in told.items():
            times = values[mine]
            times = times[np.isfinite(times)]
            out[-1][key] = [float(times[0]), float(times[-1])] if len(times) else None
        age = (told["read_time_s"] - told["capture_time_s"])[mine]
        age = age[np.isfinite(age)]
        out[-1]["largest_age_s"] = float(age.max()) if len(age) else None
    return out


def _clocks(episodes: Episodes, h_s: list[float], found: int | None) -> Clocks:
    identity = episodes.identity
    hz = episodes.control_hz
    substeps = identity.get("substeps") or found
    simulated = identity.get("simulation_hz")
    if not h_s and isinstance(simulated, int | float) and simulated:
        h_s = [1 / simulated]
    relation = ""
    period = 1 / hz if hz else None
    if period is not None and isinstance(substeps, int) and h_s:
        # A reset's own step may have another h; and h may be a float32 of the engine's.
        off = [abs(substeps * h - period) for h in h_s]
        native = substeps * h_s[off.index(min(off))]
        same = min(off) <= max(CLOSE, 1e-6 * period)
        relation = "H = M h" if same else f"H = {period:.9g} s, M h = {native:.9g} s"
    return Clocks(
        h_s=h_s,
        control_period_s=period,
        control_hz=hz,
        substeps=substeps if isinstance(substeps, int) else None,
        relation=relation,
    )

"""What failed, put together from the events and the failures of a labelled recording.

A tap may tell one failure twice: as an event of the scene and as a failure of the
environment. Here it is one.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from isoscope.core.isolation.labelled_context import LabelledContext

KINDS = ("exception", "failure")  # events whose detail says what was being done
UNKNOWN_NS = -1


@dataclass(slots=True)
class Failed:
    """Something that failed.

    Attributes
    ----------
    doing
        ``"step"``, ``"reset"``, ``"restore"``, ``"capture"``, ``"cleanup"``, or
        whatever else was told.
    env, scene
        -1 where unknown.
    row
        The next native row at that time.
    event
        Number of its event; -1 where only a failure was recorded.
    """

    doing: str
    env: int
    scene: int
    row: int
    problem: str
    event: int = -1
    wall_ns: int = UNKNOWN_NS
    episode: int | None = None
    control_step: int | None = None


def failed(window: LabelledContext) -> list[Failed]:
    """Everything that failed, by native row."""
    found: dict[tuple[str, int, int], Failed] = {}
    events = window.events
    bad = (events.ok == 0) | events.are(*KINDS)
    for i in np.flatnonzero(bad).tolist():
        detail = events.detail(i)
        kind = events.kind(i)
        doing = kind if kind not in KINDS else str(detail.get("doing", "step"))
        one = Failed(
            _word(doing),
            int(events.env[i]),
            int(events.scene[i]),
            int(events.row[i]),
            str(detail.get("problem") or detail.get("error") or ""),
            events.first + i,
            int(events.column("wall_ns")[i]),
        )
        found.setdefault((one.doing, one.env, one.row), one)
    failures = window.failures
    for i in range(len(failures)):
        detail = failures.json("detail", i)
        told: dict[str, Any] = detail if isinstance(detail, dict) else {}
        one = Failed(
            _word(failures.what(i)),
            int(failures.env[i]),
            int(failures.scene[i]),
            int(failures.row[i]),
            failures.message(i) or str(told.get("problem") or ""),
            wall_ns=int(failures.column("wall_ns")[i]),
        )
        known = found.setdefault((one.doing, one.env, one.row), one)
        known.problem = known.problem or one.problem
        known.scene = max(known.scene, one.scene)
        known.episode = _number(told.get("episode"))
        known.control_step = _number(told.get("control_step"))
    return sorted(found.values(), key=lambda one: one.row)


def _word(doing: str) -> str:
    """One word for what was being done: ``"cleanup viewer"`` is a cleanup."""
    word = doing.split(" ", 1)[0]
    return "cleanup" if word in ("cleanup", "deregistering") else word


def _number(value: Any) -> int | None:
    whole = isinstance(value, int) and not isinstance(value, bool) and value >= 0
    return value if whole else None

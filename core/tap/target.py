"""What several sources are merged into: an intake, and the numbers given out in it."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from isoscope.core.recording.labelled.intake import Intake
    from isoscope.core.recording.tracks import Array

_LONGEST_SEEDS = 1 << 20


class Numbers:
    """Gives out numbers: the same as the source's wherever that is possible."""

    def __init__(self) -> None:
        self._next = 0

    def give(self, wish: int) -> int:
        """A number that nobody has: this one, if none as high was given yet."""
        number = max(wish, self._next)
        self._next = number + 1
        return number


@dataclass(slots=True)
class Target:
    """An intake that sources are merged into.

    Attributes
    ----------
    intake
        Gets everything. Only one thread merges into it.
    environments
        How many there are in all, where that is known.
    adds_times
        Whether recording time has to be added up anew, over all sources.
    frames
        Table of a frame to what it goes with, and for a ragged one the table of its
        entries, else -1.
    """

    intake: Intake
    environments: int | None = None
    adds_times: bool = True
    frames: dict[int, tuple[str, int]] = field(default_factory=dict)
    scenes: Numbers = field(default_factory=Numbers)
    actors: Numbers = field(default_factory=Numbers)
    snapshots: Numbers = field(default_factory=Numbers)
    _time_s: float = 0.0
    _identities: dict[str, dict[str, Any]] = field(default_factory=dict)

    def length(self, table: str) -> int:
        """Rows of a fixed table so far."""
        return len(self.intake.buffers[self.intake.tables[table]])

    def times(self, h_s: Array, told: Array) -> Array:
        """The recording time after each of these steps, float64 [n], seconds."""
        if not self.adds_times:
            return told
        added = np.where(np.isfinite(h_s), h_s, 0.0)
        # One after the other, as the recorder adds them up.
        out: Array = np.cumsum(np.concatenate([[self._time_s], added]))[1:]
        if len(out):
            self._time_s = float(out[-1])
        return out

    def identify(self, source: str, told: dict[str, Any]) -> None:
        """Take what a source says of the run, and say what all of them say."""
        self._identities[source] = told
        merged = merge_identities(list(self._identities.values()))
        if self.environments is not None:
            merged["environments"] = max(
                self.environments, int(merged.get("environments") or 0)
            )
        self.intake.define({"define": "identity", **merged})


def merge_identities(told: list[dict[str, Any]]) -> dict[str, Any]:
    """One identity out of several processes': the first that says a thing is right.

    Seeds go by the environment's number; packages and what else has names are united.
    """
    merged: dict[str, Any] = {}
    for one in told:
        for name, value in one.items():
            have = merged.get(name)
            if name == "define" or value in (None, "", [], {}):
                continue
            if name == "seeds" and isinstance(value, list):
                merged[name] = _seeds(have or [], value)
            elif name == "spaces" and isinstance(value, list):
                have = have or []
                merged[name] = [*have, *(s for s in value if s not in have)]
            elif isinstance(value, dict) and isinstance(have, dict):
                merged[name] = {**value, **have}
            elif name == "environments" and isinstance(have, int):
                merged[name] = max(have, value)
            elif have in (None, "", [], {}):
                merged[name] = value
    return merged


def _seeds(have: list[Any], more: list[Any]) -> list[Any]:
    count = min(max(len(have), len(more)), _LONGEST_SEEDS)
    out = []
    for k in range(count):
        old = have[k] if k < len(have) else None
        out.append(more[k] if old is None and k < len(more) else old)
    return out

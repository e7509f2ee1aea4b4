"""Tensors of a trajectory lie to each other as T and T + E say.

T chunks in E epochs: what goes with a chunk has T rows; flags have a row more before
each epoch, values one after it. `dones` is `terminations` or `truncations`, and what
was observed after a chunk is what is observed before the next, unless it was done.
Source: the trajectory contract, in docs/trajectory-contract.md.
"""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

import numpy as np

from isoscope.core.dataset.validate.rules.tensors import TensorRule

if TYPE_CHECKING:
    from collections.abc import Mapping

    from isoscope.core.dataset.model import Episode
    from isoscope.core.dataset.validate.rule import Outcome, Severity
    from isoscope.core.recording.tracks import Array

FLAGS = ("dones", "terminations", "truncations")
BEFORE, AFTER = FLAGS, ("prev_values",)
FREE = "extra."  # our own, which may hold a row for each boundary
BLOCK = 1 << 12


class TrajectoryRule(TensorRule):
    """See the module's docstring."""

    ID = "trajectory-alignment"
    SEVERITY: Severity = "error"
    ABOUT = "tensors of trajectories have T rows, flags and values T + E, that agree"

    def end(self, episode: Episode, rows: Mapping[str, int]) -> None:
        """Compare an episode's tensors."""
        tensors = self._rows(episode)
        steps = int(tensors.get("actions", episode.length))
        extra = {
            key: count - steps
            for key, count in tensors.items()
            if key.split(".")[0] in (*BEFORE, *AFTER)
        }
        # What most of them say is taken for right, so that the odd one is named.
        said_by = Counter(extra.values())
        agreed = max(said_by, key=lambda e: (said_by[e], -e), default=0)
        wrong = False
        for key, count in tensors.items():
            top = key.split(".")[0]
            if top in (*BEFORE, *AFTER):
                epochs = count - steps
                if epochs < 1 or steps % epochs or epochs != agreed:
                    wrong = True
                    said = f"{steps} + E, E the same for flags and values"
                    self._fail(episode, key, f"{count} rows", said)
            elif count != steps and not (key.startswith(FREE) and count == steps + 1):
                wrong = True
                said = f"{steps}, as there are actions"
                self._fail(episode, key, f"{count} rows", said)
        if wrong:
            return  # no row of one could be said to go with a row of another
        if all(key in tensors for key in FLAGS):
            self._flags(episode, steps + agreed)
        if "dones" in tensors:
            for key in tensors:
                after = f"next_obs.{key.removeprefix('curr_obs.')}"
                if key.startswith("curr_obs.") and after in tensors:
                    self._observed(episode, key, after, steps, extra["dones"])

    def _flags(self, episode: Episode, rows: int) -> None:
        for start in range(0, rows, BLOCK):
            stop = min(start + BLOCK, rows)
            done, ended, cut = (
                self._read(episode, key, start, stop).astype(np.bool_) for key in FLAGS
            )
            if done.shape != ended.shape or done.shape != cut.shape:
                self._fail(episode, "dones", f"{rows} rows", "flags of one shape")
                return
            odd = (done != (ended | cut)).reshape(len(done), -1).any(axis=1)
            if odd.any():
                at = start + int(np.flatnonzero(odd)[0])
                said = "terminations or truncations"
                self._fail(episode, "dones", None, said, at, int(odd.sum()))

    def _observed(
        self, episode: Episode, before: str, after: str, steps: int, epochs: int
    ) -> None:
        size = steps // epochs
        for epoch in range(epochs):
            first = epoch * size
            # One more than is compared: each block's last row is the next one's first.
            for at in range(0, size - 1, BLOCK):
                low, high = first + at, first + min(at + BLOCK, size - 1)
                # Row 0 of an epoch's flags is before its first chunk.
                shift = epoch + 1
                done = self._read(episode, "dones", low + shift, high + shift)
                goes_on = ~done.astype(np.bool_).reshape(len(done), -1).any(axis=1)
                a = _bits(self._read(episode, after, low, high))
                b = _bits(self._read(episode, before, low + 1, high + 1))
                odd = (a != b).any(axis=1) & goes_on
                if odd.any():
                    said = f"the next row of {before}"
                    found = low + int(np.flatnonzero(odd)[0])
                    self._fail(episode, after, None, said, found, int(odd.sum()))

    def finish(self) -> Outcome:
        """Say what that means."""
        if self.outcome.count:
            self.outcome.message = (
                "rows of one tensor don't go with those of another: a reward, flag or "
                "observation would be taken for another chunk's"
            )
        return self.outcome


def _bits(values: Array) -> Array:
    """Rows as bytes: a NaN equals itself."""
    return np.ascontiguousarray(values).reshape(len(values), -1).view(np.uint8)

"""The loss mask of a trajectory is what follows from its `dones`.

A slot counts up to the first done, that one included; `loss_mask_sum` is how many
action slots of the environment count, repeated. A lane whose reward was filtered out
may be all False. Source: the trajectory contract, in docs/trajectory-contract.md.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from isoscope.core.dataset.validate.rule import NotCheckableError
from isoscope.core.dataset.validate.rules.tensors import TensorRule

if TYPE_CHECKING:
    from collections.abc import Mapping

    from isoscope.core.dataset.model import Episode
    from isoscope.core.dataset.validate.rule import Outcome, Severity, Subject
    from isoscope.core.recording.tracks import Array

MASK, SUM, DONES = "loss_mask", "loss_mask_sum", "dones"
MOST_ROWS = 1 << 22


class LossMaskRule(TensorRule):
    """See the module's docstring."""

    ID = "loss-mask"
    SEVERITY: Severity = "error"
    ABOUT = "loss masks count the slots up to the first done, and their sums agree"

    def begin(self, subject: Subject) -> None:
        """See whether there is one."""
        self._source = subject.episodes
        tensors = self._first()
        if MASK not in tensors:
            raise NotCheckableError("there is no loss_mask")
        if DONES not in tensors:
            raise NotCheckableError("there are no dones that it could follow from")

    def end(self, episode: Episode, rows: Mapping[str, int]) -> None:
        """Compute an episode's anew."""
        tensors = self._rows(episode)
        steps = tensors.get(MASK, 0)
        epochs = tensors.get(DONES, 0) - steps
        if epochs < 1 or steps < 1 or steps % epochs or steps > MOST_ROWS:
            self._fail(episode, MASK, f"{steps} rows", "T, with T + E of dones")
            return
        mask = self._flags(episode, MASK, steps)
        dones = self._flags(episode, DONES, steps + epochs)
        size = steps // epochs
        for epoch in range(epochs):
            first = epoch * (size + 1)
            counts = counted(dones[first : first + size + 1])
            here = slice(epoch * size, (epoch + 1) * size)
            wanted = counts
            if mask.shape[1] == 1 and counts.shape[1] > 1:
                wanted = np.asarray(counts.any(axis=1, keepdims=True))  # by chunks
            told = mask[here]
            if told.shape != wanted.shape:
                said = f"{wanted.shape[1]} slots a chunk"
                self._fail(episode, MASK, f"{told.shape[1]} slots", said)
                continue
            odd = (told != wanted).any(axis=1)
            if odd.any() and told.any():  # else it was filtered out
                at = here.start + int(np.flatnonzero(odd)[0])
                expected = wanted[at - here.start].tolist()
                value = told[at - here.start].tolist()
                self._fail(episode, MASK, value, expected, at, int(odd.sum()))
            if SUM in tensors:
                self._sums(episode, here, int(counts.sum()))

    def _sums(self, episode: Episode, here: slice, expected: int) -> None:
        sums = self._read(episode, SUM, here.start, here.stop)
        odd = (sums.reshape(len(sums), -1) != expected).any(axis=1)
        if len(sums) != here.stop - here.start or odd.any():
            at = here.start + int(np.flatnonzero(odd)[0]) if odd.any() else None
            value = sums.reshape(-1)[:1].tolist()
            self._fail(episode, SUM, value, expected, at, max(int(odd.sum()), 1))

    def _flags(self, episode: Episode, key: str, rows: int) -> Array:
        """The first rows of a tensor of flags, bool [rows, slots]."""
        found = self._read(episode, key, 0, rows)
        return found.reshape(len(found), -1).astype(np.bool_)

    def finish(self) -> Outcome:
        """Say what that means."""
        if self.outcome.count:
            self.outcome.message = (
                "slots would be learned from that belong to no episode, or left out "
                "that do"
            )
        return self.outcome


def counted(dones: Array) -> Array:
    """Which slots count: bool [T, C] of bool [T + 1, C], the first row before chunk 0.

    That row counts by its last slot only.
    """
    slots = dones.shape[1]
    in_time = dones.reshape(-1)
    before = in_time[slots - 1 : -1]
    return np.asarray(np.cumsum(before) == 0).reshape(-1, slots)

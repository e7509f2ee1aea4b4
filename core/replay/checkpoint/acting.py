"""Runs a saved policy: observations in, actions out, its hidden state kept right.

A row's hidden state begins anew with its episode. In a slot that only resets, in which
a vector environment ignores the action, it does not go on: the next episode's first
observation must find it as if that slot had not been.

A policy may give a chunk of C actions at once. They are taken one a step, whatever is
observed meanwhile, as when it was trained; then, or where an episode begins, the next
chunk is made of what is observed then. Only that advances a hidden state.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from isoscope.core.replay.checkpoint.model import Checkpoint, CheckpointError, Part
from isoscope.core.replay.checkpoint.networks import Network
from isoscope.core.replay.checkpoint.pieces import (
    Chance,
    Connector,
    Hidden,
    Normaliser,
    Untouched,
)
from isoscope.core.replay.checkpoint.restoring import restore
from isoscope.core.summary import listed

if TYPE_CHECKING:
    from collections.abc import Collection

    from isoscope.core.recording.tracks import Array
    from isoscope.core.replay.checkpoint.restoring import Restorable

ACTS = ("normaliser", "policy", "connector", "hidden", "rng")


class SavedPolicy:
    """A policy out of a checkpoint, for so many environments.

    Parameters
    ----------
    checkpoint
        All of its parts are restored, or those of `parts`.
    batch
        Environments. A saved hidden state of as many goes on; of others it begins anew,
        as in every episode.
    parts
        Parts to restore, where half of it is meant; the policy is always among them.

    Raises
    ------
    CheckpointError
        If its parts don't fit each other, or some are missing that it was saved with.
    """

    def __init__(
        self,
        checkpoint: Checkpoint,
        batch: int = 1,
        parts: Collection[str] | None = None,
    ) -> None:
        if "policy" not in checkpoint.parts or (
            parts is not None and "policy" not in parts
        ):
            raise CheckpointError("restoring a policy: without its weights")
        probe = Network()
        probe.load_part(checkpoint.parts["policy"])
        self.checkpoint, self.batch = checkpoint, batch
        self.network = probe
        box = checkpoint.action
        self.choices = 0 if box is None else box.choices
        self.size = self._size(box.size if box is not None else 0)
        self.chunk = probe.outputs // (self.choices or self.size)
        pieces: dict[str, Restorable] = {"policy": probe}
        known = set(checkpoint.parts) if parts is None else set(parts)
        if parts is None:
            self._refuse_half(checkpoint)
        self.normaliser = self.connector = self.hidden = self.chance = None
        if "normaliser" in known:
            self.normaliser = pieces["normaliser"] = Normaliser(probe.inputs)
        if "connector" in known:
            self.connector = pieces["connector"] = Connector(self.size)
        if "rng" in known & set(checkpoint.parts) and self._draws(checkpoint):
            self.chance = pieces["rng"] = Chance()
        if "hidden" in known:
            if not probe.hidden:
                raise CheckpointError(
                    "restoring a policy: it has a hidden state, which its weights "
                    "make nothing of"
                )
            self.hidden = pieces["hidden"] = Hidden(probe.hidden, batch)
            if "hidden" in checkpoint.parts:
                checkpoint = _of_batch(checkpoint, batch)
        elif probe.hidden and parts is None:
            raise CheckpointError("restoring a policy: its hidden state is missing")
        for name in known - set(pieces):
            pieces[name] = Untouched()
        self.restored = restore(checkpoint, pieces, parts)
        if probe.hidden and self.hidden is None:
            self.hidden = Hidden(probe.hidden, batch)
        self._pieces = pieces
        # The actions that were made, and how many of them were taken, a row each.
        shape = (batch, self.chunk)
        self._made: Array = np.zeros(
            shape if self.choices else (*shape, self.size),
            np.int64 if self.choices else np.float32,
        )
        self._taken = np.full(batch, self.chunk)

    @staticmethod
    def _refuse_half(checkpoint: Checkpoint) -> None:
        told = checkpoint.parts["policy"].settings.get("needs", [])
        needs = [str(name) for name in told] if isinstance(told, list) else []
        lacking = [name for name in needs if name not in checkpoint.parts]
        if lacking:
            raise CheckpointError(
                f"restoring a policy: it needs its {listed(lacking)}, which the "
                "checkpoint lacks; name the parts to restore if half of it is meant"
            )

    @staticmethod
    def _draws(checkpoint: Checkpoint) -> bool:
        return checkpoint.parts["rng"].kind == Chance.KIND

    def _size(self, told: int) -> int:
        outputs = self.network.outputs
        if self.choices:
            if told != 1 or outputs % self.choices:
                raise CheckpointError(
                    f"restoring a policy: {outputs} numbers for {self.choices} choices"
                )
            return 1
        size = told or outputs
        if outputs % size:
            raise CheckpointError(
                f"restoring a policy: {outputs} numbers for actions of {size}"
            )
        return size

    def act(
        self,
        observations: Array,
        begins: Array | None = None,
        skips: Array | None = None,
    ) -> Array:
        """Choose actions.

        Parameters
        ----------
        observations
            Floats [B, S].
        begins
            bool [B]: rows whose observation is the first of an episode.
        skips
            bool [B]: rows in which the action is ignored, since they only reset.

        Returns
        -------
        numpy.ndarray
            float32 [B, A]; of a discrete action int64 [B].

        Raises
        ------
        CheckpointError
            For observations of another size.
        """
        x = np.asarray(observations, np.float64).reshape(len(observations), -1)
        if x.shape != (self.batch, self.network.inputs):
            raise CheckpointError(
                f"acting: observations {list(x.shape)}, and the policy takes "
                f"[{self.batch}, {self.network.inputs}]"
            )
        skipped = np.zeros(self.batch, np.bool_)
        if skips is not None:
            skipped |= np.asarray(skips, np.bool_)
        if begins is not None:
            begun = np.asarray(begins, np.bool_)
            self._taken[begun] = self.chunk
            if self.hidden is not None:
                self.hidden.begin(begun)
        wanting = self._taken >= self.chunk
        if wanting.any():
            made = self._make(x, wanting & ~skipped)
            self._made[wanting], self._taken[wanting] = made[wanting], 0
        found: Array = self._made[np.arange(self.batch), self._taken]
        # What a slot is given that only resets is of no chunk.
        self._taken = np.where(skipped, self.chunk, self._taken + 1)
        return found

    def _make(self, x: Array, advances: Array) -> Array:
        """Chunks of what is observed, for all rows; [B, C, A], or discrete [B, C].

        Parameters
        ----------
        x
            float64 [B, S].
        advances
            bool [B]: rows whose hidden state goes on.
        """
        if self.normaliser is not None:
            x = self.normaliser(x)
        before = None if self.hidden is None else self.hidden.state
        numbers, after = self.network(x, before)
        if self.hidden is not None and after is not None:
            self.hidden.state = np.where(advances[:, None], after, self.hidden.state)
        if self.choices:
            logits = numbers.reshape(self.batch * self.chunk, self.choices)
            return self._choose(logits).reshape(self.batch, self.chunk)
        numbers = numbers.astype(np.float64)
        if self.chance is not None and self.network.spread is not None:
            noise = self.chance.generator.standard_normal(numbers.shape)
            numbers = numbers + noise * self.network.spread
        numbers = numbers.reshape(self.batch * self.chunk, self.size)
        if self.connector is not None:
            numbers = self.connector(numbers)
        return numbers.astype(np.float32).reshape(self.batch, self.chunk, self.size)

    def _choose(self, logits: Array) -> Array:
        if self.chance is None:
            best: Array = logits.argmax(1)
            return best
        shifted = np.exp(logits - logits.max(1, keepdims=True))
        below = (shifted / shifted.sum(1, keepdims=True)).cumsum(1)[:, :-1]
        uniform = self.chance.generator.random(len(logits))
        found: Array = (uniform[:, None] >= below).sum(1)
        return found

    def save(self) -> Checkpoint:
        """All of it as it is now; what is left of a chunk is not in it."""
        parts = {name: one.save_part() for name, one in self._pieces.items()}
        told = self.checkpoint
        return Checkpoint(parts, told.observation, told.action, told.about)


def _of_batch(checkpoint: Checkpoint, batch: int) -> Checkpoint:
    """The checkpoint, without a hidden state of another number of environments."""
    one = checkpoint.parts["hidden"]
    state = one.tensors.get("state")
    if state is None or state.shape[:1] == (batch,):
        return checkpoint
    rest = {name: value for name, value in one.tensors.items() if name != "state"}
    parts = {**checkpoint.parts, "hidden": Part(one.kind, one.settings, rest)}
    return Checkpoint(
        parts, checkpoint.observation, checkpoint.action, checkpoint.about
    )

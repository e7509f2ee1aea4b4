"""Saved weights that act: linear feedback, layers of tanh, and a recurrent layer.

In NumPy, in the precision of the weights: what was trained elsewhere acts here without
what trained it. Rows of a batch don't depend on each other.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from isoscope.core.replay.checkpoint.model import CheckpointError, Part, part
from isoscope.core.replay.checkpoint.pieces import needed, of_kind, taken

if TYPE_CHECKING:
    from isoscope.core.recording.tracks import Array

LINEAR, MLP, RNN = "linear", "mlp", "rnn"
KINDS = (LINEAR, MLP, RNN)
MOST_LAYERS = 64


class Network:
    """Weights, and what they make of an observation.

    Attributes
    ----------
    inputs, outputs, hidden
        S, numbers it gives, and of its hidden state (0 without one).
    spread
        Standard deviation of each number, where it has one; else None.
    """

    def __init__(self) -> None:
        self._part = Part(LINEAR, {}, {"gain": np.zeros((1, 1))})
        self.inputs, self.outputs, self.hidden = 1, 1, 0
        self.spread: Array | None = None
        self._layers: list[tuple[Array, Array]] = []

    def save_part(self) -> Part:
        """See `Restorable.save_part`."""
        return self._part

    def load_part(self, one: Part) -> None:
        """See `Restorable.load_part`."""
        of_kind(one, *KINDS)
        spread = None
        layers: list[tuple[Array, Array]] = []
        if one.kind == LINEAR:
            gain = needed(one, "gain", None, None)
            offset = taken(one, "offset", len(gain), optional=True)
            layers = [(-gain, np.zeros(len(gain)) if offset is None else offset)]
            inputs, outputs, hidden = gain.shape[1], gain.shape[0], 0
        elif one.kind == MLP:
            layers = _layers(one)
            inputs, outputs, hidden = layers[0][0].shape[1], len(layers[-1][1]), 0
            told = one.tensors.get("log_spread")
            if told is not None and told.size:
                spread = np.exp(needed(one, "log_spread", outputs))
        else:
            into = needed(one, "input", None, None)
            hidden, inputs = into.shape
            again = needed(one, "recurrent", hidden, hidden)
            bias = needed(one, "bias", hidden)
            head = needed(one, "head", None, hidden)
            outputs = len(head)
            layers = [(into, bias), (again, bias * 0)]
            layers.append((head, needed(one, "head_bias", outputs)))
        if not inputs or not outputs:
            raise CheckpointError(
                f"restoring a {one.kind}: it has no inputs or outputs"
            )
        self._part, self._layers, self.spread = one, layers, spread
        self.inputs, self.outputs, self.hidden = inputs, outputs, hidden

    def __call__(self, observations: Array, hidden: Array | None) -> tuple[Array, Any]:
        """Numbers [B, outputs], and the hidden state [B, H] after; None without one."""
        if self._part.kind == RNN:
            (into, bias), (again, _), (head, last) = self._layers
            state = np.zeros((len(observations), self.hidden))
            before = state if hidden is None else hidden
            after = np.tanh(_apply(into, bias, observations) + _apply(again, 0, before))
            return _apply(head, last, after), after
        x = observations
        for weight, bias in self._layers[:-1]:
            x = np.tanh(_apply(weight, bias, x))
        weight, bias = self._layers[-1]
        return _apply(weight, bias, x), None


def _apply(weight: Array, bias: Any, x: Array) -> Array:
    """X Wᵀ + b, row by row, so that a row doesn't depend on how many there are."""
    x = np.asarray(x, weight.dtype)
    found: Array = np.stack([weight @ row for row in x]) + bias
    return found


def _layers(one: Part) -> list[tuple[Array, Array]]:
    names = one.settings.get("layers")
    if (
        not isinstance(names, list)
        or not 1 <= len(names) <= MOST_LAYERS
        or not all(isinstance(name, str) for name in names)
        or one.settings.get("activation", "tanh") != "tanh"
    ):
        raise CheckpointError(
            "restoring a mlp: it has to name its layers, with tanh between them"
        )
    found: list[tuple[Array, Array]] = []
    size: int | None = None
    for name in names:
        weight = needed(one, f"{name}.weight", None, size)
        found.append((weight, needed(one, f"{name}.bias", len(weight))))
        size = len(weight)
    return found


def mlp_part(tensors: dict[str, Any], layers: list[str], **settings: Any) -> Part:
    """A part of weights named ``LAYER.weight`` and ``LAYER.bias``, tanh between them.

    Parameters
    ----------
    tensors
        Also others, a critic's say, which are kept; ``log_spread`` is the logarithm of
        the numbers' standard deviations.
    layers
        Those that act, in order.
    """
    told = {"layers": layers, "activation": "tanh", **settings}
    return part(MLP, told, tensors)

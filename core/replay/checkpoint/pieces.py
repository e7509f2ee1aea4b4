"""What a saved policy is run with: normaliser, connector, hidden state, generator.

Each can be saved as a part and become what a part says; sizes and values are looked at
before anything changes.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from isoscope.core.replay.checkpoint.model import CheckpointError, Part, part

if TYPE_CHECKING:
    from isoscope.core.recording.tracks import Array

EPSILON = 1e-8


def taken(
    one: Part, name: str, *shape: int | None, optional: bool = False
) -> Array | None:
    """A tensor of a part, of this shape (None is any size), with finite numbers.

    Raises
    ------
    CheckpointError
        If it isn't there, or is another.
    """
    array = one.tensors.get(name)
    if array is None:
        if optional:
            return None
        raise CheckpointError(f"restoring a {one.kind}: it has no tensor {name}")
    fits = array.ndim == len(shape) and all(
        wanted in (None, size) for wanted, size in zip(shape, array.shape, strict=True)
    )
    if not fits or array.dtype.kind != "f":
        wanted = ", ".join("any" if n is None else str(n) for n in shape)
        raise CheckpointError(
            f"restoring a {one.kind}: {name} is {array.dtype}{list(array.shape)}, and "
            f"has to be of floats [{wanted}]"
        )
    if not np.isfinite(array).all():
        raise CheckpointError(f"restoring a {one.kind}: {name} has numbers not finite")
    return np.array(array)


def needed(one: Part, name: str, *shape: int | None) -> Array:
    """As `taken`, of a tensor that has to be there."""
    array = taken(one, name, *shape)
    assert array is not None  # refused otherwise
    return array


def of_kind(one: Part, *kinds: str) -> None:
    """Refuse a part of another kind.

    Raises
    ------
    CheckpointError
    """
    if one.kind not in kinds:
        raise CheckpointError(
            f"restoring a {one.kind}: here is one of {' or '.join(kinds)}"
        )


class Normaliser:
    """(x - mean) / sqrt(var + epsilon), clipped; kind ``mean_var``."""

    KIND = "mean_var"

    def __init__(self, size: int) -> None:
        self.mean, self.var = np.zeros(size), np.ones(size)
        self.epsilon, self.clip = EPSILON, float("inf")

    def __call__(self, observations: Array) -> Array:
        """[B, S] to [B, S]."""
        scaled = (observations - self.mean) / np.sqrt(self.var + self.epsilon)
        found: Array = np.clip(scaled, -self.clip, self.clip)
        return found

    def save_part(self) -> Part:
        """See `Restorable.save_part`."""
        clip = None if np.isinf(self.clip) else self.clip
        told = {"epsilon": self.epsilon, "clip": clip}
        return part(self.KIND, told, {"mean": self.mean, "var": self.var})

    def load_part(self, one: Part) -> None:
        """See `Restorable.load_part`."""
        of_kind(one, self.KIND)
        size = len(self.mean)
        mean, var = needed(one, "mean", size), needed(one, "var", size)
        epsilon, clip = one.settings.get("epsilon"), one.settings.get("clip")
        epsilon = EPSILON if epsilon is None else epsilon
        clip = float("inf") if clip is None else clip
        told = isinstance(epsilon, int | float) and isinstance(clip, int | float)
        if not told or (var < 0).any() or not epsilon > 0 or not clip > 0:
            raise CheckpointError(
                "restoring a mean_var: variances, epsilon and clip have to be positive"
            )
        self.mean, self.var = mean, var
        self.epsilon, self.clip = float(epsilon), float(clip)


class Connector:
    """From the policy's numbers to an action; kinds ``none``, ``clip``, ``scale``.

    ``scale`` takes -1 .. 1 to low .. high, and clips.
    """

    KINDS = ("none", "clip", "scale")

    def __init__(self, size: int) -> None:
        self.kind = "none"
        self.low, self.high = np.full(size, -np.inf), np.full(size, np.inf)

    def __call__(self, numbers: Array) -> Array:
        """[B, A] to [B, A]."""
        if self.kind == "none":
            return numbers
        if self.kind == "scale":
            span = self.high - self.low
            numbers = self.low + (np.clip(numbers, -1, 1) + 1) * 0.5 * span
        found: Array = np.clip(numbers, self.low, self.high)
        return found

    def save_part(self) -> Part:
        """See `Restorable.save_part`."""
        if self.kind == "none":
            return part("none", {"size": len(self.low)})
        return part(self.kind, {}, {"low": self.low, "high": self.high})

    def load_part(self, one: Part) -> None:
        """See `Restorable.load_part`."""
        of_kind(one, *self.KINDS)
        size = len(self.low)
        if one.kind == "none":
            self.kind = "none"
            self.low, self.high = np.full(size, -np.inf), np.full(size, np.inf)
            return
        low, high = needed(one, "low", size), needed(one, "high", size)
        if not (low < high).all():
            raise CheckpointError(f"restoring a {one.kind}: a low limit above the high")
        self.kind, self.low, self.high = one.kind, low, high


class Hidden:
    """State that a policy carries on, a row an environment; kind ``rnn``."""

    KIND = "rnn"

    def __init__(self, size: int, batch: int) -> None:
        self.initial = np.zeros(size)
        self.state = np.zeros((batch, size))

    def begin(self, begins: Array) -> None:
        """Begin episodes in these rows, bool [B]."""
        self.state[begins] = self.initial

    def save_part(self) -> Part:
        """See `Restorable.save_part`."""
        tensors = {"initial": self.initial, "state": self.state}
        return part(self.KIND, {}, tensors)

    def load_part(self, one: Part) -> None:
        """See `Restorable.load_part`; a state of another batch is refused."""
        of_kind(one, self.KIND)
        batch, size = self.state.shape
        initial = needed(one, "initial", size)
        state = taken(one, "state", batch, size, optional=True)
        self.initial = initial
        self.state = np.tile(initial, (batch, 1)) if state is None else state


class Chance:
    """The generator that actions are drawn with; kind ``pcg64``, NumPy's."""

    KIND = "pcg64"

    def __init__(self) -> None:
        self.generator = np.random.Generator(np.random.PCG64(0))

    def save_part(self) -> Part:
        """See `Restorable.save_part`."""
        told: dict[str, Any] = dict(self.generator.bit_generator.state)
        inner = told["state"]
        return part(
            self.KIND,
            {
                "state": f"{inner['state']:x}",
                "inc": f"{inner['inc']:x}",
                "has_uint32": int(told["has_uint32"]),
                "uinteger": int(told["uinteger"]),
            },
        )

    def load_part(self, one: Part) -> None:
        """See `Restorable.load_part`."""
        of_kind(one, self.KIND)
        made: Any = np.random.PCG64(0)
        try:
            made.state = {
                "bit_generator": "PCG64",
                "state": {
                    name: int(str(one.settings[name]), 16) for name in ("state", "inc")
                },
                "has_uint32": int(one.settings["has_uint32"]),
                "uinteger": int(one.settings["uinteger"]),
            }
        except (KeyError, TypeError, ValueError, OverflowError):
            raise CheckpointError(
                "restoring a pcg64: its state is none of that generator"
            ) from None
        self.generator = np.random.Generator(made)


class Untouched:
    """A part that acting has no use for, kept as it is: an optimiser's, say."""

    def __init__(self) -> None:
        self._part = Part("none")

    def save_part(self) -> Part:
        """See `Restorable.save_part`."""
        return self._part

    def load_part(self, one: Part) -> None:
        """See `Restorable.load_part`."""
        self._part = one

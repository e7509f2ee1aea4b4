"""The parts of a policy's checkpoint, and what each has to be."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import msgspec
import numpy as np

from isoscope.core.errors import IsoscopeError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from isoscope.core.recording.tracks import Array

# In the order in which they act; the last two act on nothing by themselves.
PARTS = ("normaliser", "policy", "connector", "hidden", "rng", "optimiser")
ABOUT = {
    "policy": "weights that act",
    "normaliser": "what observations go through first",
    "connector": "what the policy's numbers go through to become actions",
    "hidden": "state that the policy carries on from step to step",
    "rng": "states of the generators that it draws from",
    "optimiser": "what training goes on with",
}
DTYPES = {
    *("bool", "uint8", "int8", "uint16", "int16", "uint32", "int32"),
    *("uint64", "int64", "float16", "float32", "float64"),
}
_NAME = re.compile(r"[\w./-]{1,200}")


class CheckpointError(IsoscopeError):
    """A checkpoint that can't be written, read or restored."""


@dataclass(frozen=True, eq=False)
class Part:
    """A part of a checkpoint.

    Attributes
    ----------
    kind
        What reads it, such as ``"mlp"``.
    settings
        Plain values, as JSON has them.
    tensors
        By name.
    """

    kind: str
    settings: Mapping[str, Any] = field(default_factory=dict)
    tensors: Mapping[str, Array] = field(default_factory=dict)

    def same(self, other: Part) -> bool:
        """Whether it is the other, to the last bit."""
        if self.kind != other.kind or dict(self.settings) != dict(other.settings):
            return False
        if self.tensors.keys() != other.tensors.keys():
            return False
        return all(
            one.dtype == other.tensors[name].dtype
            and one.shape == other.tensors[name].shape
            and one.tobytes() == other.tensors[name].tobytes()
            for name, one in self.tensors.items()
        )


class Box(msgspec.Struct, frozen=True, kw_only=True):
    """A space of flat vectors.

    Attributes
    ----------
    size
        Numbers in it; of a discrete action 1.
    low, high
        Limits by component; None where there are none.
    choices
        Of a discrete action, how many there are; 0 for a box.
    names
        Of the components; empty where unknown.
    """

    size: int
    low: list[float] | None = None
    high: list[float] | None = None
    choices: int = 0
    names: list[str] = []


@dataclass(frozen=True, eq=False)
class Checkpoint:
    """All that acted.

    Attributes
    ----------
    parts
        By name, of `PARTS`.
    observation, action
        What it takes and what it gives; None where unknown.
    about
        Anything else, plain values by name: the run, training steps, who made it.
    """

    parts: Mapping[str, Part]
    observation: Box | None = None
    action: Box | None = None
    about: Mapping[str, Any] = field(default_factory=dict)


def part(
    kind: str,
    settings: Mapping[str, Any] | None = None,
    tensors: Mapping[str, Any] | None = None,
) -> Part:
    """Make a part of arrays, or tensors of torch's, which are copied to the host.

    Raises
    ------
    CheckpointError
        For what can't be written: other dtypes, names, or values beyond JSON.
    """
    told = {str(name): value for name, value in (settings or {}).items()}
    found = {str(k): host_array(k, v) for k, v in (tensors or {}).items()}
    try:
        plain = msgspec.json.decode(msgspec.json.encode(told))
    except (TypeError, ValueError, RecursionError, msgspec.MsgspecError) as error:
        raise CheckpointError(f"a part {kind}: settings beyond JSON: {error}") from None
    return Part(kind, plain, found)


def host_array(name: str, value: Any) -> Array:
    """An array of its own, of a NumPy array or a tensor of torch's.

    Raises
    ------
    CheckpointError
        For another dtype, or a name that is none.
    """
    if not _NAME.fullmatch(str(name)):
        raise CheckpointError(f"a tensor {name!r}: names are letters, digits and ._/-")
    if hasattr(value, "detach"):
        dtype = str(value.dtype).removeprefix("torch.")
        if dtype not in DTYPES:
            raise CheckpointError(f"tensor {name} is {dtype}, which can't be kept")
        value = value.detach().cpu().numpy()
    array = np.array(value, order="C")
    if array.dtype.name not in DTYPES:
        raise CheckpointError(f"tensor {name} is {array.dtype}, which can't be kept")
    return array


def check_checkpoint(checkpoint: Checkpoint, doing: str) -> None:
    """Refuse parts that nobody knows, or a checkpoint without any.

    Raises
    ------
    CheckpointError
    """
    if not checkpoint.parts:
        raise CheckpointError(f"{doing}: it has no part")
    for name, one in checkpoint.parts.items():
        if name not in PARTS:
            raise CheckpointError(
                f"{doing}: a part {name}; parts are {', '.join(PARTS)}"
            )
        if not one.kind:
            raise CheckpointError(f"{doing}: part {name} doesn't say its kind")
    for what, box in (
        ("observation", checkpoint.observation),
        ("action", checkpoint.action),
    ):
        if box is None:
            continue
        limits = [one for one in (box.low, box.high) if one is not None]
        if box.size < 1 or any(len(one) != box.size for one in limits):
            raise CheckpointError(f"{doing}: its {what} space makes no sense")

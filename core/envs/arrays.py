"""The little that NumPy's arrays and torch's tensors don't have in common.

An environment computes on whatever arrays its scene has, and never imports torch.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping


def as_float32(array: Any, xp: Any) -> Any:
    """A copy (or, if it is float32 already, possibly the array itself) in float32."""
    return array.to(xp.float32) if hasattr(array, "to") else array.astype(xp.float32)


def like(array: Any, other: Any) -> Any:
    """The array in the dtype of the other one."""
    if array.dtype == other.dtype:
        return array
    if hasattr(array, "to"):
        return array.to(other.dtype)
    return array.astype(other.dtype)


def copied(array: Any) -> Any:
    """An array of its own, whatever is written into the first one later."""
    return array.clone() if hasattr(array, "clone") else array.copy()


def rows(mask: Any, array: Any) -> Any:
    """A mask [W] with as many axes as the array [W, …] has."""
    return mask.reshape((-1,) + (1,) * (array.ndim - 1))


def choose(mask: Any, yes: Any, no: Any, xp: Any) -> Any:
    """Rows of `yes` where the mask [W] is set, otherwise of `no`; None means all."""
    return yes if mask is None else xp.where(rows(mask, yes), yes, no)


def on_host(array: Any) -> bool:
    """Whether looking at it costs no crossing: it is in the memory of the CPU."""
    device = getattr(array, "device", "cpu")
    return str(getattr(device, "type", device)) == "cpu"


def any_or_unknown(mask: Any) -> bool:
    """Whether a row of the mask is set; True where only a read-back could tell."""
    return bool(mask.any()) if on_host(mask) else True


def any_of(masks: Mapping[str, Any], other: Any, xp: Any) -> Any:
    """Whether any of some masks [W] is set; `other` is one that has their shape."""
    found = xp.zeros_like(other)
    for mask in masks.values():
        found = xp.logical_or(found, mask)
    return found

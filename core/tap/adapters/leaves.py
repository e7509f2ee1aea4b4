"""What a space holds, leaf by leaf: where values are, their dtype, names, limits."""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from isoscope.core.recording.labelled import records as r
from isoscope.core.recording.labelled.tables import pool_of

if TYPE_CHECKING:
    from collections.abc import Sequence

MOST_NAMED = 4096  # components; a camera's pixels have no names
LARGEST = float(np.finfo(np.float64).max)
Path = tuple[Any, ...]


@dataclass(frozen=True, slots=True)
class Leaf:
    """One array of a space's values.

    Attributes
    ----------
    path
        Keys from the value to it; empty where the value is the array.
    dtype, shape
        Of one environment's value.
    names, units
        By component, flat; empty where unknown.
    low, high
        Limits by component; empty where there are none, the largest float64 on a side
        that has none.
    twin
        How many leaves before it have the same path as text.
    """

    path: Path
    dtype: np.dtype[Any]
    shape: tuple[int, ...] = ()
    names: tuple[str, ...] = ()
    units: tuple[str, ...] = ()
    low: tuple[float, ...] = ()
    high: tuple[float, ...] = ()
    twin: int = 0

    @property
    def size(self) -> int:
        """Components."""
        return math.prod(self.shape)

    @property
    def flat(self) -> bool:
        """Whether the space's values are vectors, and this is all of them."""
        return not self.path and len(self.shape) == 1

    @property
    def name(self) -> str:
        """Its path as text, ``"value"`` where there is none."""
        name = "/".join(map(str, self.path)) or "value"
        return f"{name}#{self.twin + 1}" if self.twin else name

    def field(self, group: str) -> r.Field:
        """The field that holds it in a recording."""
        units = set(self.units)
        return r.Field(
            name=self.name,
            shape=self.shape,
            unit=_unit(self.units) if units else None,
            group=group,
            low=self.low,
            high=self.high,
            names=self.names,
        )

    def of(self, value: Any) -> Any:
        """The leaf of a value of the space."""
        for key in self.path:
            value = value[key]
        return value


def leaves(
    space: Any, names: Sequence[str] = (), units: Sequence[str] = ()
) -> list[Leaf]:
    """The leaves of a space; those that no column can hold are left out.

    Parameters
    ----------
    space
        Gymnasium's, or None.
    names, units
        Of the flat vector's components, where somebody knows them.
    """
    found: list[Leaf] = []
    _walk(space, (), found)
    names_of = Counter[str]()
    for k, leaf in enumerate(found):
        found[k] = replace(leaf, twin=names_of[leaf.name])
        names_of[leaf.name] += 1
    if len(found) == 1 and not found[0].path and found[0].size in (len(names), 1):
        only = found[0]
        own = tuple(names) if len(names) == only.size else only.names
        told = tuple(units) if len(units) == only.size else ()
        found = [
            Leaf(only.path, only.dtype, only.shape, own, told, only.low, only.high)
        ]
    return found


def described(space: Any, role: str, env: int, found: Sequence[Leaf]) -> r.Space:
    """The space for the recording's identity."""
    dtypes = {leaf.dtype.name for leaf in found}
    few = all(leaf.size <= MOST_NAMED for leaf in found)
    limited = few and bool(found) and all(leaf.low for leaf in found)
    plain = len(found) == 1 and not found[0].path
    return r.Space(
        role=role,
        dtype=dtypes.pop() if len(dtypes) == 1 else "",
        shape=list(found[0].shape) if plain else [sum(leaf.size for leaf in found)],
        names=[n for leaf in found for n in _named(leaf)] if few else [],
        units=[u for leaf in found for u in leaf.units] if few else [],
        low=[x for leaf in found for x in leaf.low] if limited else None,
        high=[x for leaf in found for x in leaf.high] if limited else None,
        declared=str(space)[:MOST_NAMED],
        env=env,
    )


def _walk(space: Any, path: Path, found: list[Leaf]) -> None:
    kinds = {base.__name__ for base in type(space).__mro__}
    if "Dict" in kinds:
        for key, inner in space.spaces.items():
            _walk(inner, (*path, key), found)
    elif "Tuple" in kinds:
        for key, inner in enumerate(space.spaces):
            _walk(inner, (*path, key), found)
    elif "Box" in kinds:
        _add(found, path, space.dtype, space.shape, space.low, space.high)
    elif "Discrete" in kinds:
        last = int(space.start + space.n - 1)
        _add(found, path, space.dtype, (), int(space.start), last)
    elif "MultiDiscrete" in kinds:
        start = np.asarray(getattr(space, "start", 0))
        last = start + np.asarray(space.nvec) - 1
        low = np.broadcast_to(start, space.shape)
        _add(found, path, space.dtype, space.shape, low, last)
    elif "MultiBinary" in kinds:
        zero = np.zeros(space.shape)
        _add(found, path, space.dtype, space.shape, zero, zero + 1)


def _add(
    found: list[Leaf],
    path: Path,
    dtype: Any,
    shape: tuple[int, ...],
    low: Any,
    high: Any,
) -> None:
    kind = np.dtype(dtype)
    try:
        pool_of(kind)
    except TypeError:
        return
    few = math.prod(shape) <= MOST_NAMED
    limits = [np.asarray(side, np.float64).reshape(-1) for side in (low, high)]
    if few and any(np.isfinite(side).any() for side in limits):
        # JSON has no infinity: a side without a limit has the largest number there is.
        told = [tuple(np.clip(side, -LARGEST, LARGEST).tolist()) for side in limits]
    else:
        told = [(), ()]
    found.append(Leaf(path, kind, tuple(shape), low=told[0], high=told[1]))


def _named(leaf: Leaf) -> list[str]:
    if leaf.names:
        return list(leaf.names)
    if leaf.size == 1:
        return [leaf.name]
    return [f"{leaf.name}[{k}]" for k in range(leaf.size)]


def _unit(units: tuple[str, ...]) -> str:
    # As the schema writes a pose's: every unit once, in order.
    return " or ".join(dict.fromkeys("" if u == "1" else u for u in units))

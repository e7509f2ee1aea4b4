"""Named parts of observations and actions, with units, and the spaces they make.

SuperDex Lab flattens its Dict spaces in key order; so do we. The order in which a task
lists its quantities therefore never matters, their names do.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import gymnasium as gym
import numpy as np

from isoscope.core.envs.errors import TaskError

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping


@dataclass(frozen=True, slots=True)
class Quantity:
    """One entry of a Dict space: a vector of numbers of the same unit.

    Attributes
    ----------
    unit
        ``"m"``, ``"rad/s"``, ``"N"``, ``"1"`` for none.
    low, high
        Bounds, the same for all numbers.
    """

    name: str
    unit: str
    size: int = 1
    low: float = -math.inf
    high: float = math.inf
    about: str = ""


class Layout:
    """Quantities in key order, side by side in one float32 vector.

    Parameters
    ----------
    quantities
        In any order; names must differ.
    """

    def __init__(self, quantities: Iterable[Quantity]) -> None:
        self.quantities = tuple(sorted(quantities, key=lambda q: q.name))
        names = [q.name for q in self.quantities]
        if len(set(names)) != len(names):
            raise TaskError(f"laying out a space: a name twice among {names}")
        self._slices: dict[str, slice] = {}
        start = 0
        for quantity in self.quantities:
            self._slices[quantity.name] = slice(start, start + quantity.size)
            start += quantity.size
        self.size = start

    @property
    def names(self) -> tuple[str, ...]:
        """Names in key order."""
        return tuple(self._slices)

    @property
    def labels(self) -> tuple[str, ...]:
        """A label for each number of the vector: ``name`` or ``name[i]``."""
        return tuple(
            q.name if q.size == 1 else f"{q.name}[{i}]"
            for q in self.quantities
            for i in range(q.size)
        )

    @property
    def units(self) -> tuple[str, ...]:
        """The unit of each number of the vector."""
        return tuple(q.unit for q in self.quantities for _ in range(q.size))

    @property
    def low(self) -> np.ndarray[Any, np.dtype[np.float32]]:
        """Lower bounds, float32 [size]."""
        return np.array(
            [q.low for q in self.quantities for _ in range(q.size)], np.float32
        )

    @property
    def high(self) -> np.ndarray[Any, np.dtype[np.float32]]:
        """Upper bounds, float32 [size]."""
        return np.array(
            [q.high for q in self.quantities for _ in range(q.size)], np.float32
        )

    def box(self) -> gym.spaces.Box:
        """The flat space: float32 [size]."""
        return gym.spaces.Box(self.low, self.high, dtype=np.float32)

    def structure(self, flat: Any) -> dict[str, Any]:
        """Give a flat array [W, size] its structure back: name to [W, n]."""
        return {name: flat[:, part] for name, part in self._slices.items()}

    def flatten(self, parts: Mapping[str, Any], xp: Any) -> Any:
        """Put parts [W, n] side by side in key order: a new array [W, size].

        Raises
        ------
        TaskError
            If parts are missing, unknown or of another size.
        """
        if parts.keys() != self._slices.keys():
            raise TaskError(
                f"laying out a space: got {sorted(parts)}, expected {list(self.names)}"
            )
        for q in self.quantities:
            if parts[q.name].shape[1] != q.size:
                raise TaskError(
                    f"laying out a space: {q.name} has {parts[q.name].shape[1]} "
                    f"numbers instead of {q.size}"
                )
        return xp.concatenate([parts[name] for name in self._slices], 1)

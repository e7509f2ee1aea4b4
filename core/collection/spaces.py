"""Between Gymnasium's spaces and the trajectory core: actions and observations.

Actions are floats [B, C, A] on their way, whatever the space: the number of a discrete
action as a float, a box's values as they are. Observations become dicts of tensors that
lead with B; what is no dict becomes ``states``.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from gymnasium import spaces

from isoscope.core.collection.errors import CollectionError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from gymnasium import Space

Array = np.ndarray[Any, Any]


@dataclass(frozen=True, slots=True)
class ActionSpec:
    """What one environment takes.

    Attributes
    ----------
    width
        Numbers in one action, A.
    choices
        How many values each number can take, counted from 0; empty for a box.
    low, high
        Of a box, each A numbers; may be infinite.
    shape
        As the environment wants it.
    start
        The first discrete action.
    dtype
        As the environment wants it.
    """

    width: int
    choices: tuple[int, ...] = ()
    low: tuple[float, ...] = ()
    high: tuple[float, ...] = ()
    shape: tuple[int, ...] = ()
    start: tuple[int, ...] = ()
    dtype: str = "float32"

    @classmethod
    def of(cls, space: Space[Any]) -> ActionSpec:
        """Read a single environment's action space.

        Raises
        ------
        CollectionError
            If it is neither discrete, multi-discrete, multi-binary nor a box.
        """
        dtype = str(space.dtype)
        match space:
            case spaces.Discrete():
                return cls(
                    1, (int(space.n),), shape=(), start=(int(space.start),), dtype=dtype
                )
            case spaces.MultiDiscrete():
                counts = tuple(int(n) for n in space.nvec.reshape(-1))
                start = tuple(int(n) for n in np.reshape(space.start, -1))
                shape = tuple(space.nvec.shape)
                return cls(len(counts), counts, shape=shape, start=start, dtype=dtype)
            case spaces.MultiBinary():
                width = int(np.prod(space.shape))
                return cls(
                    width,
                    (2,) * width,
                    shape=space.shape,
                    start=(0,) * width,
                    dtype=dtype,
                )
            case spaces.Box() if space.shape is not None:
                return cls(
                    int(np.prod(space.shape)),
                    low=tuple(float(x) for x in space.low.reshape(-1)),
                    high=tuple(float(x) for x in space.high.reshape(-1)),
                    shape=space.shape,
                    dtype=dtype,
                )
        raise CollectionError(
            f"reading the action space: {type(space).__name__} is not supported; "
            "wrap the environment so that it takes Discrete, MultiDiscrete, "
            "MultiBinary or Box actions"
        )

    def to_environment(self, actions: Array) -> Array:
        """Turn floats [B, A] into what the environments take.

        Raises
        ------
        CollectionError
            If a discrete action is no whole number in its range.
        """
        batch = len(actions)
        if not self.choices:
            return actions.reshape(batch, *self.shape).astype(self.dtype)
        whole = np.rint(actions)
        with np.errstate(invalid="ignore"):
            bad = (whole != actions) | (whole < 0) | (whole >= np.asarray(self.choices))
        if bad.any():
            row, column = (int(at) for at in np.argwhere(bad)[0])
            raise CollectionError(
                f"acting: number {column} of the action in row {row} is "
                f"{float(actions[row, column]):g}; it has to be a whole number from 0 "
                f"to {self.choices[column] - 1}"
            )
        shifted: Array = whole + np.asarray(self.start)
        return shifted.reshape(batch, *self.shape).astype(self.dtype)


def chunk_of(actions: Any, chunk: int, spec: ActionSpec) -> Array:
    """Give actions as floats [B, C, A], from that shape or [B, C·A].

    Raises
    ------
    CollectionError
        If their shape is another.
    """
    array = np.asarray(torch.as_tensor(actions).detach().cpu().to(torch.float64))
    shapes = (chunk, spec.width), (chunk * spec.width,)
    if array.shape[1:] in shapes and len(array):
        return array.reshape(len(array), chunk, spec.width)
    raise CollectionError(
        f"acting: the actions are {list(array.shape)}; give [B, {chunk}, {spec.width}] "
        f"or [B, {chunk * spec.width}]"
    )


def as_observation(batch: Any, tasks: Sequence[str] | None = None) -> dict[str, Any]:
    """Copy a batch of observations into a dict of tensors.

    Float64 becomes float32, as policies take it. Nested dicts stay nested, tuples
    become dicts with the keys ``"0"``, ``"1"``.

    Parameters
    ----------
    batch
        What a vector environment gives.
    tasks
        A text for each environment, kept as ``task_descriptions``.

    Raises
    ------
    CollectionError
        If something in it is no array of numbers.
    """
    found = _tensors(batch, "observation")
    observation = found if isinstance(found, dict) else {"states": found}
    if tasks is not None:
        observation["task_descriptions"] = list(tasks)
    return observation


def _tensors(value: Any, where: str) -> Any:
    if isinstance(value, tuple):
        value = {str(at): item for at, item in enumerate(value)}
    if isinstance(value, dict):
        return {key: _tensors(item, f"{where}[{key!r}]") for key, item in value.items()}
    array = np.asarray(value)
    if array.dtype.kind not in "biuf":
        raise CollectionError(
            f"reading an {where}: it is {array.dtype}, and only numbers can be "
            "collected; wrap the environment"
        )
    if array.dtype == np.float64:
        array = array.astype(np.float32)
    tensor = torch.from_numpy(np.array(array))
    return tensor[:, None] if tensor.dim() == 1 else tensor


def replaced_rows(batch: Any, rows: Array, by: Any) -> Any:
    """Copy a batch of raw observations, with some rows taken from another one."""
    if isinstance(batch, dict):
        return {key: replaced_rows(batch[key], rows, by[key]) for key in batch}
    if isinstance(batch, tuple):
        return tuple(replaced_rows(*pair) for pair in _zipped(batch, rows, by))
    copy = np.array(batch)
    copy[rows] = np.asarray(by)[rows]
    return copy


def _zipped(batch: tuple[Any, ...], rows: Array, by: Any) -> list[tuple[Any, ...]]:
    return [(one, rows, other) for one, other in zip(batch, by, strict=True)]


def copied(batch: Any) -> Any:
    """Copy a batch of raw observations; an environment may write into its own again."""
    if isinstance(batch, dict):
        return {key: copied(item) for key, item in batch.items()}
    if isinstance(batch, tuple):
        return tuple(copied(item) for item in batch)
    return np.array(batch)

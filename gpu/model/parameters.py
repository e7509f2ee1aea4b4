"""The persistent numbers of a model as tensors: what a snapshot does not cover."""

from __future__ import annotations

from dataclasses import dataclass, fields, replace
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from torch import Tensor

from isoscope.gpu.errors import ParameterError
from isoscope.gpu.model import initial
from isoscope.gpu.model.declarations import DECLARATIONS, Declaration, declaration

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    import numpy.typing as npt

    from isoscope.gpu.model.tree import Tree

    Array = npt.NDArray[np.float64]
    Values = float | Sequence[float] | npt.NDArray[Any] | Tensor


@dataclass(frozen=True, slots=True, eq=False)
class Parameters:
    """The persistent numbers of W worlds.

    Each tensor is [n, 1], the same in all worlds, or [n, W], a column for each; what
    its rows mean is in `DECLARATIONS`. Tensors are never written to: `replaced` gives
    another `Parameters`.

    Attributes
    ----------
    worlds
        W.
    zeros
        Which rows of the structural parameters are known to be exactly zero in every
        world. Setting some worlds to zero doesn't make one known; setting all does.
    """

    worlds: int
    zeros: tuple[tuple[str, tuple[bool, ...]], ...]

    mass: Tensor
    center: Tensor
    inertia: Tensor
    damping: Tensor
    armature: Tensor
    spring_stiffness: Tensor
    spring_rest: Tensor
    limit_lower: Tensor
    limit_upper: Tensor
    limit_stiffness: Tensor
    limit_damping: Tensor
    drive_gear: Tensor
    drive_stiffness: Tensor
    drive_damping: Tensor
    drive_force_lower: Tensor
    drive_force_upper: Tensor
    drive_control_lower: Tensor
    drive_control_upper: Tensor
    gravity: Tensor
    friction: Tensor
    contact_stiffness: Tensor
    contact_damping: Tensor
    slip_speed: Tensor

    @classmethod
    def from_tree(
        cls,
        tree: Tree,
        *,
        dtype: torch.dtype = torch.float64,
        device: torch.device | str = "cpu",
        worlds: int = 1,
    ) -> Parameters:
        """The model's own numbers, the same in all worlds: every tensor [n, 1]."""
        values = {d.name: d.initial(tree) for d in DECLARATIONS}
        zeros = {
            d.name: tuple(value == 0.0 for value in values[d.name])
            for d in DECLARATIONS
            if d.structural
        }
        tensors = {
            name: torch.tensor(row, dtype=torch.float64).to(dtype=dtype, device=device)
            for name, row in values.items()
        }
        return cls(
            worlds=worlds,
            zeros=tuple(zeros.items()),
            **{name: tensor.reshape(-1, 1) for name, tensor in tensors.items()},
        )

    @property
    def structure(self) -> tuple[tuple[str, tuple[bool, ...]], ...]:
        """A hashable key: generated code made for it fits these parameters."""
        return self.zeros

    def is_zero(self, name: str) -> tuple[bool, ...]:
        """For each row of a structural parameter whether it is zero in all worlds."""
        return dict(self.zeros)[name]

    def items(self) -> Iterator[tuple[Declaration, Tensor]]:
        """All parameters with what they are, in the order of `DECLARATIONS`."""
        for declared in DECLARATIONS:
            yield declared, self[declared.name]

    def __getitem__(self, name: str) -> Tensor:
        """A parameter by its name.

        Raises
        ------
        ParameterError
            If there is none of this name.
        """
        tensor: Tensor = getattr(self, declaration(name).name)
        return tensor

    def replaced(
        self, name: str, value: Values, worlds: Sequence[int] | None = None
    ) -> Parameters:
        """The same with one parameter set, in all worlds or in some.

        Parameters
        ----------
        value
            One number for all rows, or [n], the same in all worlds that are meant, or
            [n, k], one for each of them: k is 1, or W, or how many `worlds` names.
            A tensor may require a gradient.
        worlds
            The numbers of the worlds that are meant; None: all.

        Raises
        ------
        ParameterError
            If there is no such parameter or world, or it can't have such a value.
        """
        declared = declaration(name)
        old = self[name]
        given = _as_rows(declared, value, old)
        count = self.worlds if worlds is None else len(worlds)
        if given.shape[1] not in (1, count):
            raise ParameterError(
                f"setting {name}: values for {given.shape[1]} worlds were given "
                f"for {count}; give one column, or {count}"
            )
        index = None if worlds is None else _world_numbers(name, worlds, self.worlds)
        # looked at where they were given, so that nothing is read back from a device
        looked_at = given.detach().cpu().numpy().astype(np.float64)
        _require_allowed(declared, looked_at)
        zeros = dict(self.zeros)
        if declared.structural:
            flags = (looked_at == 0.0).all(axis=1).tolist()
            if index is not None:
                pairs = zip(flags, zeros[name], strict=True)
                flags = [now and before for now, before in pairs]
            zeros[name] = tuple(flags)
        new = given.to(old.device)
        if index is not None:
            new = old.expand(-1, self.worlds).index_copy(
                1, index.to(old.device), new.expand(-1, count)
            )
        changes: dict[str, Any] = {name: new, "zeros": tuple(zeros.items())}
        return replace(self, **changes)

    def block(self, start: int, stop: int) -> Parameters:
        """Those of the worlds from `start` up to `stop`; its tensors are views."""
        if start == 0 and stop == self.worlds:
            return self
        parts: dict[str, Any] = {
            d.name: tensor[:, start:stop]
            for d, tensor in self.items()
            if tensor.shape[1] != 1 or self.worlds == 1
        }
        return replace(self, worlds=stop - start, **parts)

    def to(
        self,
        *,
        dtype: torch.dtype | None = None,
        device: torch.device | str | None = None,
    ) -> Parameters:
        """The same in another precision or on another device."""
        moved: dict[str, Any] = {
            d.name: tensor.to(dtype=dtype or tensor.dtype, device=device)
            for d, tensor in self.items()
        }
        return replace(self, **moved)


if tuple(f.name for f in fields(Parameters))[2:] != tuple(
    d.name for d in DECLARATIONS
):  # pragma: no cover
    raise AssertionError("the fields of Parameters are not those of DECLARATIONS")


def _as_rows(declared: Declaration, value: Values, like: Tensor) -> Tensor:
    tensor = torch.as_tensor(value, dtype=like.dtype)
    if tensor.ndim == 0:
        return tensor.reshape(1, 1).expand(like.shape[0], 1)
    if tensor.ndim == 1:
        tensor = tensor.reshape(-1, 1)
    if tensor.ndim != 2 or tensor.shape[0] != like.shape[0]:
        raise ParameterError(
            f"setting {declared.name}: a value of shape {tuple(tensor.shape)} was "
            f"given; this model has {like.shape[0]} of them, so give one number, "
            f"[{like.shape[0]}] or [{like.shape[0]}, worlds]"
        )
    return tensor


def _world_numbers(name: str, worlds: Sequence[int], count: int) -> Tensor:
    numbers = [int(world) for world in worlds]
    wrong = [world for world in numbers if not 0 <= world < count]
    if wrong:
        raise ParameterError(
            f"setting {name}: there is no world {wrong[0]}; they are 0 to {count - 1}"
        )
    if len(set(numbers)) != len(numbers):
        raise ParameterError(f"setting {name}: a world is named twice; name it once")
    return torch.tensor(numbers, dtype=torch.int64)


def _require_allowed(declared: Declaration, values: Array) -> None:
    if np.isnan(values).any() or (not declared.infinite and np.isinf(values).any()):
        raise ParameterError(
            f"setting {declared.name}: a value is not finite; give finite numbers"
        )
    low = declared.low
    if low is not None:
        wrong = values[values <= low] if declared.above else values[values < low]
        if wrong.size:
            bound = "more than" if declared.above else "at least"
            raise ParameterError(
                f"setting {declared.name}: {wrong.flat[0]:g} was given; "
                f"it must be {bound} {low:g} {declared.unit}".rstrip()
            )
    if declared.name == "inertia":
        problem = initial.first_impossible_inertia(values)
        if problem:
            raise ParameterError(f"setting inertia: {problem}")

"""What generated code may take as constant: zeros, missing limits, gears of one.

Whatever is folded gives the same bits as computing with it would: x + 0 y, 1 x and
min(x, inf) are x. So a world's bits do not depend on what the other worlds' parameters
allow to be left out.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, TypeAlias

import torch
from torch.autograd import forward_ad

from isoscope.gpu.dynamics.algebra import Inertia

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from isoscope.gpu.dynamics.expression import Graph, Scalar
    from isoscope.gpu.model.parameters import Parameters

# for each parameter and row the constant that it is in all worlds, or None
Structure: TypeAlias = tuple[tuple[str, tuple[float | None, ...]], ...]

# the values that simplify the code, for each parameter that the dynamics read
SIMPLE: dict[str, float | None] = {
    "mass": 0.0,
    "center": 0.0,
    "inertia": 0.0,
    "armature": 0.0,
    "gravity": 0.0,
    "damping": 0.0,
    "spring_stiffness": 0.0,
    "spring_rest": 0.0,
    "limit_lower": -math.inf,
    "limit_upper": math.inf,
    "limit_stiffness": None,
    "limit_damping": None,
    "drive_gear": 1.0,
    "drive_stiffness": 0.0,
    "drive_damping": 0.0,
    "drive_force_lower": -math.inf,
    "drive_force_upper": math.inf,
    "drive_control_lower": -math.inf,
    "drive_control_upper": math.inf,
}


def structure_of(parameters: Parameters) -> Structure:
    """Find what is constant in all worlds; reads the parameters back where they are.

    Nothing of a parameter that is differentiated by is folded: a zero has a derivative.
    """
    known = dict(parameters.structure)
    result: list[tuple[str, tuple[float | None, ...]]] = []
    for name, simple in SIMPLE.items():
        tensor = parameters[name]
        flags: Sequence[bool]
        if simple is None or _differentiated(tensor):
            flags = [False] * tensor.shape[0]
        elif name in known:
            flags = known[name]
        else:
            flags = (tensor.detach() == simple).all(dim=1).tolist()
        result.append((name, tuple(simple if flag else None for flag in flags)))
    return tuple(result)


def _differentiated(tensor: torch.Tensor) -> bool:
    """Whether autograd, torch.func or forward mode follows the tensor."""
    if tensor.requires_grad or torch._C._functorch.is_functorch_wrapped_tensor(tensor):
        return True
    return (
        forward_ad._current_level >= 0
        and forward_ad.unpack_dual(tensor).tangent is not None  # type: ignore[no-untyped-call]
    )


def keepable(parameters: Parameters) -> bool:
    """Whether what is computed from the parameters may be kept from call to call."""
    return not any(_differentiated(parameters[name]) for name in SIMPLE)


def size_in_bytes(parameters: Parameters) -> int:
    """Return how much memory the parameters that the dynamics read hold at most."""
    return sum(
        parameters[name].numel() * parameters[name].element_size() for name in SIMPLE
    )


class Numbers:
    """The parameters as scalars: plain numbers, or expressions where not constant."""

    def __init__(self, rows: Mapping[str, Sequence[Scalar]]) -> None:
        self.rows = rows

    @classmethod
    def symbolic(cls, graph: Graph, structure: Structure) -> Numbers:
        """Make them from a structure."""
        return cls(
            {
                name: [
                    graph.input(name, row, wide=False) if value is None else value
                    for row, value in enumerate(values)
                ]
                for name, values in structure
            }
        )

    def __getitem__(self, name: str) -> Sequence[Scalar]:
        """Return a parameter's rows."""
        return self.rows[name]

    def gravity(self) -> tuple[Scalar, Scalar, Scalar]:
        """Return gravity in the world's axes."""
        x, y, z = self["gravity"]
        return (x, y, z)

    def center(self, link: int) -> tuple[Scalar, Scalar, Scalar]:
        """Return a link's centre of mass in its axes."""
        x, y, z = self["center"][3 * link : 3 * link + 3]
        return (x, y, z)

    def inertias(self) -> list[Inertia]:
        """Return every link's inertia about its frame's origin."""
        result = []
        for link, mass in enumerate(self["mass"]):
            xx, yy, zz, xy, xz, yz = self["inertia"][6 * link : 6 * link + 6]
            result.append(
                Inertia.about_origin(mass, self.center(link), (xx, yy, zz, xy, xz, yz))
            )
        return result

"""A tree's dynamics on tensors of many worlds, by code generated for the tree."""

from __future__ import annotations

from collections import OrderedDict
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import torch

from isoscope.gpu.dynamics.programs import KINEMATIC_PARTS, RECIPES, program
from isoscope.gpu.dynamics.structure import (
    SIMPLE,
    keepable,
    size_in_bytes,
    structure_of,
)

if TYPE_CHECKING:
    from torch import Tensor

    from isoscope.gpu.dynamics.emit import Program
    from isoscope.gpu.dynamics.joint_forces import Control
    from isoscope.gpu.dynamics.structure import Structure
    from isoscope.gpu.model.parameters import Parameters
    from isoscope.gpu.model.tree import Tree

# How many sets of parameters are remembered, a scene having one for each block of
# worlds, and how much memory they may hold.
REMEMBERED = 64
REMEMBERED_BYTES = 256 * 1024**2

# What a block of worlds may hold at once on a CPU: a few second-level caches. Of much
# smaller blocks, starting each operation would take most of the time.
BLOCK_BYTES = 8 * 1024**2
LEAST_BLOCK = 4096


@dataclass(frozen=True, slots=True, eq=False)
class Kinematics:
    """Where L links of W worlds are and how they move, in the world's axes.

    Attributes
    ----------
    position
        Of the links' origins [m], [L, 3, W].
    rotation
        Quaternions x y z w, [L, 4, W].
    matrix
        The same as matrices, row by row, [L, 9, W]; they turn links' axes into the
        world's.
    linear, angular
        Velocities of the origins [m/s] and of the links [rad/s], [L, 3, W].
    center, center_velocity
        Of the centres of mass [m, m/s], [L, 3, W].
    """

    position: Tensor
    rotation: Tensor
    matrix: Tensor
    linear: Tensor
    angular: Tensor
    center: Tensor
    center_velocity: Tensor


@dataclass(slots=True, eq=False)
class _Known:
    """What has been made for one set of parameters."""

    parameters: Parameters
    structure: Structure
    keepable: bool
    programs: dict[tuple[str, tuple[str, ...]], tuple[Program, Any]] = field(
        default_factory=dict
    )


class Dynamics:
    """Kinematics and dynamics of a tree, for any number of worlds at once.

    All tensors have the worlds last and contiguous, and one dtype and device. Every
    method is differentiable by autograd and can be transformed by torch.func. A world's
    bits depend on its own numbers alone.

    Parameters
    ----------
    tree
        The compiled model.
    parameters
        The code for these is made at once; others may be given to each method.

    Notes
    -----
    Of spherical and free joints q has unit quaternions; `integrate` keeps them so.
    """

    def __init__(self, tree: Tree, parameters: Parameters) -> None:
        self.tree = tree
        self._known: OrderedDict[int, _Known] = OrderedDict()
        self._held = 0
        self._structure = self._of(parameters).structure

    def kinematics(self, q: Tensor, v: Tensor, parameters: Parameters) -> Kinematics:
        """Compute poses and velocities of all links from q [nq, W] and v [nv, W]."""
        rows = self._call("kinematics", parameters, q, v)
        links, at, parts = len(self.tree.links), 0, []
        for size in KINEMATIC_PARTS:
            part = torch.stack(rows[at : at + links * size])
            parts.append(part.reshape(links, size, q.shape[-1]))
            at += links * size
        return Kinematics(*parts)

    def inverse(
        self,
        q: Tensor,
        v: Tensor,
        a: Tensor,
        parameters: Parameters,
        wrench: Tensor | None = None,
    ) -> Tensor:
        """Compute the generalised force that gives acceleration a, armature included.

        Parameters
        ----------
        a
            [nv, W].
        wrench
            Force and couple on each link about its origin, in the world's axes,
            (fx fy fz tx ty tz), [L, 6, W].

        Returns
        -------
        Tensor
            [nv, W] [N or N·m], without friction, limits and drives.
        """
        return self._stack("inverse", parameters, q, v, a, wrench=wrench)

    def bias(
        self, q: Tensor, v: Tensor, parameters: Parameters, wrench: Tensor | None = None
    ) -> Tensor:
        """Compute `inverse` at acceleration zero, [nv, W]."""
        return self._stack("bias", parameters, q, v, wrench=wrench)

    def mass_matrix(self, q: Tensor, parameters: Parameters) -> Tensor:
        """Compute the mass matrix, [nv, nv, W], armature on its diagonal."""
        rows = self._call("mass_matrix", parameters, q)
        nv = self.tree.nv
        if not rows:
            return q.new_zeros((nv, nv, q.shape[-1]))
        return torch.stack(rows).reshape(nv, nv, q.shape[-1])

    def acceleration(
        self,
        q: Tensor,
        v: Tensor,
        force: Tensor,
        parameters: Parameters,
        wrench: Tensor | None = None,
    ) -> Tensor:
        """Compute the acceleration [nv, W] that generalised forces [nv, W] give."""
        return self._stack("acceleration", parameters, q, v, force, wrench=wrench)

    def integrate(
        self, q: Tensor, v: Tensor, h: float | Tensor, parameters: Parameters
    ) -> Tensor:
        """Compute q (+) h v, [nq, W]: where v leads from q in h seconds."""
        return self._stack("integrate", parameters, q, v, h)

    def energy(
        self, q: Tensor, v: Tensor, parameters: Parameters
    ) -> tuple[Tensor, Tensor]:
        """Compute kinetic and potential energy [J], each [W].

        The kinetic is ½ v M v, so armature counts; the potential is zero at the world's
        origin and is gravity's alone.
        """
        kinetic, potential = self._call("energy", parameters, q, v)
        return kinetic, potential

    def momentum(self, q: Tensor, v: Tensor, parameters: Parameters) -> Tensor:
        """Compute each actor's momentum in the world's axes, [A, 6, W].

        Linear [kg·m/s], then angular about the world's origin [kg·m²/s].
        """
        rows = self._call("momentum", parameters, q, v)
        return torch.stack(rows).reshape(len(self.tree.actors), 6, q.shape[-1])

    def joint_force(
        self, q: Tensor, v: Tensor, control: Control, parameters: Parameters
    ) -> Tensor:
        """Compute friction, springs, limits, drives and `control.forces`, [nv, W]."""
        return self._stack(
            "joint_force",
            parameters,
            q,
            v,
            targets=control.targets,
            forces=control.forces,
        )

    def semi_implicit(
        self,
        q: Tensor,
        v: Tensor,
        h: float | Tensor,
        control: Control,
        parameters: Parameters,
    ) -> tuple[Tensor, Tensor]:
        """Compute the next q and v: v' = v + h a(q, v), q' = q (+) h v'.

        One piece of code, so cheaper than its parts one by one.
        """
        rows = self._call(
            "semi_implicit",
            parameters,
            q,
            v,
            h,
            targets=control.targets,
            forces=control.forces,
            wrench=control.wrenches,
        )
        nq = self.tree.nq
        return _stacked(rows[:nq], q), _stacked(rows[nq:], v)

    def residual(
        self,
        q: Tensor,
        v: Tensor,
        next_v: Tensor,
        h: float | Tensor,
        control: Control,
        parameters: Parameters,
    ) -> Tensor:
        """Compute by how much forces miss a backward Euler step, [nv, W].

        inverse(q', v', (v' - v)/h) - joint_force(q', v') with q' = q (+) h v'. The
        wrenches in `control` are taken as given.
        """
        return self._stack(
            "residual",
            parameters,
            q,
            v,
            next_v,
            h,
            targets=control.targets,
            forces=control.forces,
            wrench=control.wrenches,
        )

    def residual_jacobian(
        self,
        q: Tensor,
        v: Tensor,
        next_v: Tensor,
        h: float | Tensor,
        control: Control,
        parameters: Parameters,
    ) -> tuple[Tensor, Tensor]:
        """Compute `residual` [nv, W] and its derivative by next_v, [nv, nv, W].

        Rows before columns. The wrenches in `control` are taken as constant.
        """
        rows = self._call(
            "residual_jacobian",
            parameters,
            q,
            v,
            next_v,
            h,
            targets=control.targets,
            forces=control.forces,
            wrench=control.wrenches,
        )
        nv = self.tree.nv
        every = _stacked(rows, v)
        return every[:nv], every[nv:].reshape(nv, nv, q.shape[-1])

    def wrench_force(self, q: Tensor, wrench: Tensor, parameters: Parameters) -> Tensor:
        """Compute what wrenches [L, 6, W] on the links do at the joints, [nv, W]."""
        return self._stack("wrench_force", parameters, q, wrench.flatten(0, 1))

    def block_worlds(
        self, worlds: int, dtype: torch.dtype, device: torch.device | str = "cpu"
    ) -> int:
        """Return how many of `worlds` to step at once, so that caches are used.

        No world's bits depend on it. On other devices than CPUs: all.
        """
        if torch.device(device).type != "cpu":
            return worlds
        code = program(
            self.tree, self._structure, "semi_implicit", ("targets", "wrench")
        )
        fit = BLOCK_BYTES // (code.live_rows * dtype.itemsize)
        blocks = -(-worlds // max(LEAST_BLOCK, fit))
        # all of one size
        return -(-worlds // max(1, blocks))

    def source(self, name: str, *given: str) -> str:
        """Return the generated code of a method, to be read.

        Parameters
        ----------
        given
            Which of its optional inputs there are: ``wrench``, ``targets``, ``forces``.
        """
        chosen = tuple(o for o in RECIPES[name].optional if o in given)
        return program(self.tree, self._structure, name, chosen).source

    def _of(self, parameters: Parameters) -> _Known:
        known = self._known.get(id(parameters))
        if known is None:
            known = _Known(parameters, structure_of(parameters), keepable(parameters))
            self._known[id(parameters)] = known
            self._held += size_in_bytes(parameters)
            while len(self._known) > 1 and (
                len(self._known) > REMEMBERED or self._held > REMEMBERED_BYTES
            ):
                _, dropped = self._known.popitem(last=False)
                self._held -= size_in_bytes(dropped.parameters)
        return known

    def _call(
        self,
        name: str,
        parameters: Parameters,
        *inputs: Tensor | float,
        **optional: Tensor | None,
    ) -> tuple[Any, ...]:
        """Run a program; the rows of its outputs."""
        known = self._of(parameters)
        given = tuple(key for key, value in optional.items() if value is not None)
        q = inputs[0]
        assert isinstance(q, torch.Tensor)
        like = q[0] if self.tree.nq else q.new_zeros(q.shape[-1])
        found = known.programs.get((name, given))
        if found is None:
            made = program(self.tree, known.structure, name, given)
            found = (made, _prepared(made, parameters) if known.keepable else None)
            known.programs[name, given] = found
        code, prepared = found
        if prepared is None:
            prepared = _prepared(code, parameters)
        rows = [
            value.unbind(0) if key != "h" and isinstance(value, torch.Tensor) else value
            for key, value in zip(RECIPES[name].inputs, inputs, strict=True)
        ]
        for key in given:
            tensor = optional[key]
            assert tensor is not None
            rows.append((tensor.flatten(0, 1) if key == "wrench" else tensor).unbind(0))
        return code.run(like, prepared, *rows)

    def _stack(
        self,
        name: str,
        parameters: Parameters,
        *inputs: Tensor | float,
        **optional: Tensor | None,
    ) -> Tensor:
        rows = self._call(name, parameters, *inputs, **optional)
        q = inputs[0]
        assert isinstance(q, torch.Tensor)
        return _stacked(rows, q)


def _stacked(rows: tuple[Tensor, ...], like: Tensor) -> Tensor:
    return torch.stack(rows) if rows else like.new_zeros((0, like.shape[-1]))


def _prepared(code: Program, parameters: Parameters) -> Any:
    return code.prepare(
        parameters.mass,
        *(parameters[name].unbind(0) for name in SIMPLE),
    )

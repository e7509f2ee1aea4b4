"""A row's recorded fields, read from the device into arrays that the caller owns."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import torch

from isoscope.gpu.scene.actors import position_drives
from isoscope.gpu.scene.contact_reading import contact_field
from isoscope.gpu.scene.errors import SceneError
from isoscope.gpu.scene.principal import PrincipalFrames, turned

if TYPE_CHECKING:
    from isoscope.core.scene import SceneRow
    from isoscope.gpu.contact.report import ContactReport
    from isoscope.gpu.dynamics.dynamics import Kinematics
    from isoscope.gpu.model.parameters import Parameters
    from isoscope.gpu.model.tree import Tree
    from isoscope.gpu.scene.machine import Machine
    from isoscope.gpu.scene.state import StateBlock
    from isoscope.gpu.transfer import Ledger

    Array = np.ndarray[Any, np.dtype[Any]]

CAUSE = "read"


class Reader:
    """Computes what is asked for when it is asked for, once for each state.

    `changed` says that the state, or a persistent value, is another one now.
    """

    def __init__(self, tree: Tree, rows: tuple[SceneRow, ...], ledger: Ledger) -> None:
        self._tree = tree
        self._rows = rows
        self._ledger = ledger
        self._kinematics: Kinematics | None = None
        self._mean: torch.Tensor | None = None
        self._report: ContactReport | None = None
        self._frames = PrincipalFrames(ledger, CAUSE)
        self._chosen: torch.Tensor | None = None

    def changed(self) -> None:
        """Forget what was computed of the last state."""
        self._kinematics = self._mean = self._report = None

    def row(self, index: int, what: str) -> SceneRow:
        """The row of this number.

        Raises
        ------
        SceneError
            If there is none.
        """
        if isinstance(index, bool) or not isinstance(index, (int, np.integer)):
            raise SceneError(f"reading {what}: {index!r} is no row's number")
        if not 0 <= index < len(self._rows):
            raise SceneError(
                f"reading {what}: there is no row {index}; they are 0 to "
                f"{len(self._rows) - 1}"
            )
        return self._rows[index]

    def row_with(self, index: int, field: str) -> SceneRow:
        """The row of this number, which has this field.

        Raises
        ------
        SceneError
            If there is no such row, or it has no such field.
        """
        row = self.row(index, field)
        if field not in row.fields:
            raise SceneError(
                f"reading {field} of {row.name}: it has none; it has "
                + ", ".join(row.fields)
            )
        return row

    def read(
        self,
        index: int,
        field: str,
        machine: Machine,
        state: StateBlock,
        parameters: Parameters,
        chosen: torch.Tensor | None = None,
    ) -> Array:
        """A field of a row, [W, …].

        Parameters
        ----------
        chosen
            Numbers of the worlds to cross over, on the state's device; None for all.

        Raises
        ------
        SceneError
            If there is no such row, or it has no such field; for contacts of some
            worlds.
        """
        row = self.row_with(index, field)
        self._chosen = chosen
        try:
            return self._read(row, field, machine, state, parameters)
        finally:
            self._chosen = None

    def _read(
        self,
        row: SceneRow,
        field: str,
        machine: Machine,
        state: StateBlock,
        parameters: Parameters,
    ) -> Array:
        if row.shape is not None:
            return self._of_shape(row.shape, field, state)
        if field.startswith("contacts_"):
            if self._chosen is not None:
                raise SceneError(f"reading {field} of some worlds: read it of all")
            return self._contact(row, field, machine, state, parameters)
        if row.type == "Articulated":
            return self._of_articulation(row, field, machine, state, parameters)
        assert row.link is not None  # rows of bodies have one
        return self._of_link(row.link, field, machine, state, parameters)

    # -- kinds of rows -------------------------------------------------------------

    def _of_link(
        self,
        link: int,
        field: str,
        machine: Machine,
        state: StateBlock,
        parameters: Parameters,
    ) -> Array:
        if field == "vcom":
            return self._out(self._mean_of(machine, state, parameters)[link])
        kinematics = self._moving(machine, state, parameters)
        if field == "rotationCom":
            rotation = self._out(kinematics.rotation[link])
            principal = self._frames.of(parameters)[:, link]
            if self._chosen is not None and len(principal) > 1:
                principal = principal[self._chosen.tolist()]
            return turned(rotation, principal)
        source = {
            "translation": kinematics.position,
            "rotation": kinematics.rotation,
            "translationCom": kinematics.center,
            "omega": kinematics.angular,
        }
        return self._out(source[field][link])

    def _of_articulation(
        self,
        row: SceneRow,
        field: str,
        machine: Machine,
        state: StateBlock,
        parameters: Parameters,
    ) -> Array:
        assert row.actor is not None  # an articulation is an actor
        actor = self._tree.actors[row.actor]
        if field == "pose":
            return self._out(state.q[slice(*actor.positions)])
        if field == "targetPose":
            return self._target_pose(row.actor, state)
        links = slice(*actor.links)
        if field == "vcom":
            return self._out(self._mean_of(machine, state, parameters)[links])
        kinematics = self._moving(machine, state, parameters)
        if field == "omega":
            return self._out(kinematics.angular[links])
        source = kinematics.position if field == "translation" else kinematics.rotation
        return self._out(source[actor.links[0]])

    def _target_pose(self, number: int, state: StateBlock) -> Array:
        actor = self._tree.actors[number]
        first, end = actor.velocities
        pose = np.full((self._count(state), end - first), np.nan)
        pose = pose.astype(str(state.q.dtype).removeprefix("torch."))
        numbers = position_drives(self._tree, actor)
        places = [self._tree.drives[n].velocity_index - first for n in numbers]
        pose[:, places] = self._out(state.targets[list(numbers)])
        return pose

    def _of_shape(self, number: int, field: str, state: StateBlock) -> Array:
        shape = self._tree.shapes[number].shape
        value = shape.position if field == "translation" else shape.rotation
        real = str(state.q.dtype).removeprefix("torch.")
        return np.tile(np.array(value, real), (self._count(state), 1))

    def _count(self, state: StateBlock) -> int:
        return state.layout.worlds if self._chosen is None else len(self._chosen)

    def _contact(
        self,
        row: SceneRow,
        field: str,
        machine: Machine,
        state: StateBlock,
        parameters: Parameters,
    ) -> Array:
        assert machine.contacts is not None  # only then rows have such fields
        if self._report is None:
            kinematics = self._moving(machine, state, parameters)
            self._report = machine.contacts(kinematics, parameters)
        assert row.link is not None  # only links touch
        return contact_field(self._report, row, self._rows, field, self._ledger)

    # -- what is computed once -----------------------------------------------------

    def _moving(
        self, machine: Machine, state: StateBlock, parameters: Parameters
    ) -> Kinematics:
        if self._kinematics is None:
            self._kinematics = machine.kinematics(state.q, state.v, parameters)
        return self._kinematics

    def _mean_of(
        self, machine: Machine, state: StateBlock, parameters: Parameters
    ) -> torch.Tensor:
        """Mean velocity of each link's centre over the last step [L, 3, W]."""
        if self._mean is None:
            start, end = (
                machine.kinematics(q, state.v, parameters).center
                for q in (state.q_start, state.q_end)
            )
            now = self._moving(machine, state, parameters)
            self._mean = mean_velocity(start, end, state.h_last, now)
        return self._mean

    def _out(self, tensor: torch.Tensor) -> Array:
        """Worlds first, on the host."""
        first = tensor.movedim(-1, 0)
        if self._chosen is not None:
            first = first[self._chosen]
        return self._ledger.to_host(first, CAUSE)


def mean_velocity(
    start: torch.Tensor, end: torch.Tensor, h_last: torch.Tensor, now: Kinematics
) -> torch.Tensor:
    """Mean velocity of each link's centre over the last step [L, 3, W].

    Where no step was made, or one of length 0, the velocity itself, which is what the
    mean goes to.

    Parameters
    ----------
    start, end
        Where the centres were then [L, 3, W].
    h_last
        Length of the step, float64 [W].
    """
    h = h_last.to(start.dtype)
    mean = (end - start) / torch.where(h > 0, h, 1.0)
    return torch.where(h > 0, mean, now.center_velocity)

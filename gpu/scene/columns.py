"""Recorded fields as columns of one table: from where each number comes."""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch

from isoscope.gpu.scene.actors import position_drives
from isoscope.gpu.scene.errors import SceneError
from isoscope.gpu.scene.reading import mean_velocity

if TYPE_CHECKING:
    from collections.abc import Sequence

    from isoscope.core.scene import SceneRow
    from isoscope.gpu.dynamics.dynamics import Kinematics
    from isoscope.gpu.model.parameters import Parameters
    from isoscope.gpu.model.tree import Tree
    from isoscope.gpu.scene.machine import Machine

# Of a link in the table of what moves: numbers of each part, in order.
PARTS = {"position": 3, "rotation": 4, "center": 3, "angular": 3, "mean": 3}
OF_LINK = {
    "translation": "position",
    "rotation": "rotation",
    "rotationCom": "rotation",
    "translationCom": "center",
    "omega": "angular",
    "vcom": "mean",
}


class Columns:
    """The columns of some rows' fields, end to end.

    Parameters
    ----------
    fields
        Rows and names of their fields.

    Attributes
    ----------
    width
        How many columns.
    places, numbers
        Columns that are filled from the table of what moves, and rows of that table;
        both [n].
    stored
        Columns that are filled from what a state stores: the columns, the name of the
        array, and rows of that.
    fixed
        Columns that never change, and their values.
    turned
        Columns of quaternions that are turned into the principal frame, [n, 4], and
        the links that they are of.

    Raises
    ------
    SceneError
        For contacts, whose numbers are not those of worlds.
    """

    def __init__(self, tree: Tree, fields: Sequence[tuple[SceneRow, str]]) -> None:
        self._tree = tree
        self._links = len(tree.links)
        self.width = 0
        self.places: list[int] = []
        self.numbers: list[int] = []
        self.stored: list[tuple[list[int], str, list[int]]] = []
        self.fixed: tuple[list[int], list[float]] = [], []
        self.turned: tuple[list[range], list[int]] = [], []
        for row, field in fields:
            self._add(row, field)
        mean = self._first("mean")
        self.mean = any(number >= mean for number in self.numbers)

    def _add(self, row: SceneRow, field: str) -> None:
        if row.shape is not None:
            shape = self._tree.shapes[row.shape].shape
            value = shape.position if field == "translation" else shape.rotation
            self.fixed[0].extend(self._more(len(value)))
            self.fixed[1].extend(value)
        elif field.startswith("contacts_"):
            raise SceneError(f"sampling {field} of {row.name}: read it by itself")
        elif row.type == "Articulated":
            self._add_articulation(row, field)
        else:
            assert row.link is not None  # rows of bodies have one
            places = self._add_links(OF_LINK[field], [row.link])
            if field == "rotationCom":
                self.turned[0].append(places)
                self.turned[1].append(row.link)

    def _add_articulation(self, row: SceneRow, field: str) -> None:
        assert row.actor is not None  # an articulation is an actor
        actor = self._tree.actors[row.actor]
        first, end = actor.velocities
        if field == "pose":
            numbers = list(range(*actor.positions))
            self.stored.append((list(self._more(len(numbers))), "q", numbers))
        elif field == "targetPose":
            places = self._more(end - first)
            drives = list(position_drives(self._tree, actor))
            driven = [
                places[self._tree.drives[n].velocity_index - first] for n in drives
            ]
            self.stored.append((driven, "targets", drives))
        elif field in ("vcom", "omega"):
            self._add_links(OF_LINK[field], range(*actor.links))
        else:
            self._add_links(OF_LINK[field], [actor.links[0]])

    def _more(self, count: int) -> range:
        """The next columns."""
        self.width += count
        return range(self.width - count, self.width)

    def _add_links(self, part: str, links: Sequence[int]) -> range:
        size, first = PARTS[part], self._first(part)
        numbers = [first + size * link + k for link in links for k in range(size)]
        places = self._more(len(numbers))
        self.places += places
        self.numbers += numbers
        return places

    def _first(self, part: str) -> int:
        """The row of the table at which a part begins."""
        before = list(PARTS)[: list(PARTS).index(part)]
        return self._links * sum(PARTS[name] for name in before)

    # -- the table of what moves -------------------------------------------------------

    def table_at_once(
        self,
        machine: Machine,
        parameters: Parameters,
        positions: Sequence[torch.Tensor],
        v: torch.Tensor,
        h_last: torch.Tensor,
    ) -> torch.Tensor:
        """The table [rows, N] by one evaluation, where worlds have the same parameters.

        Parameters
        ----------
        positions
            [nq, N]: now, and where the last step began and ended.
        v, h_last
            [nv, N], float64 [N].
        """
        if not self.mean:
            return self._table(machine.kinematics(positions[0], v, parameters), None)
        every = torch.cat(tuple(positions), 1)
        moving = machine.kinematics(every, v.repeat(1, len(positions)), parameters)
        count = v.shape[1]
        start = moving.center[..., count : 2 * count]
        end = moving.center[..., 2 * count :]
        now = _first_worlds(moving, count)
        return self._table(now, mean_velocity(start, end, h_last, now))

    def table_of_each(
        self,
        machine: Machine,
        parameters: Parameters,
        positions: Sequence[torch.Tensor],
        v: torch.Tensor,
        h_last: torch.Tensor,
    ) -> torch.Tensor:
        """The same where N are all worlds, each with parameters of its own."""
        now = machine.kinematics(positions[0], v, parameters)
        if not self.mean:
            return self._table(now, None)
        start, end = (
            machine.kinematics(q, v, parameters).center for q in positions[1:]
        )
        return self._table(now, mean_velocity(start, end, h_last, now))

    @staticmethod
    def _table(now: Kinematics, mean: torch.Tensor | None) -> torch.Tensor:
        parts = [now.position, now.rotation, now.center, now.angular]
        if mean is not None:
            parts.append(mean)
        return torch.cat([part.flatten(0, 1) for part in parts])


def _first_worlds(moving: Kinematics, count: int) -> Kinematics:
    parts = (getattr(moving, name)[..., :count] for name in moving.__slots__)
    return type(moving)(*parts)

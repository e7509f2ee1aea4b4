"""The state of all worlds as one block of bytes on the device, seen as named arrays.

One block makes three things simple and whole: a snapshot is one copy, two snapshots are
equal where their bytes are (also where there is a NaN), and what a step computed takes
effect by one copy, which no exception and no Ctrl+C can cut in half.

The first part is what a step changes; what only the user changes comes behind it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import torch

if TYPE_CHECKING:
    from isoscope.gpu.model.tree import Tree

# Every array begins at a multiple of this, since a view of float64 asks for it.
ALIGNMENT_BYTES = 16


@dataclass(frozen=True, slots=True)
class Section:
    """One array [rows, W] of the block, and the bytes where it lies."""

    name: str
    dtype: torch.dtype
    rows: int
    start: int
    end: int


@dataclass(frozen=True, slots=True)
class Layout:
    """Where everything lies in a block of W worlds.

    Attributes
    ----------
    moving
        Numbers of the actors that have degrees of freedom.
    step_bytes
        Length of the part that a step changes.
    total_bytes
        Length of the whole.
    """

    worlds: int
    moving: tuple[int, ...]
    sections: tuple[Section, ...]
    step_bytes: int
    total_bytes: int

    @classmethod
    def of(cls, tree: Tree, worlds: int, real: torch.dtype) -> Layout:
        """Lay out the state of a model.

        Parameters
        ----------
        real
            Dtype of all numbers but times, which are always float64.
        """
        moving = tuple(
            actor.index
            for actor in tree.actors
            if actor.velocities[0] < actor.velocities[1]
        )
        stepped = (
            ("time", torch.float64, 1),
            ("h_last", torch.float64, 1),
            ("q", real, tree.nq),
            ("v", real, tree.nv),
            ("q_start", real, tree.nq),
            ("q_end", real, tree.nq),
            ("targets_previous", real, len(tree.drives)),
            ("doubtful", torch.bool, len(moving)),
        )
        given = (
            ("targets", real, len(tree.drives)),
            ("dof_forces", real, tree.nv),
            ("wrenches", real, 6 * len(tree.links)),
        )
        sections: list[Section] = []
        offset = 0
        for name, dtype, rows in (*stepped, *given):
            end = offset + rows * worlds * dtype.itemsize
            sections.append(Section(name, dtype, rows, offset, end))
            offset = -(-end // ALIGNMENT_BYTES) * ALIGNMENT_BYTES
        step_bytes = sections[len(stepped)].start
        return cls(worlds, moving, tuple(sections), step_bytes, offset)


class StateBlock:
    """The state of W worlds; all arrays are views of `storage`, worlds last.

    Attributes
    ----------
    storage
        uint8 [total_bytes]; what lies between the arrays is zero.
    time
        float64 [W]: each world's own clock [s].
    h_last
        float64 [W]: length of the last step [s]; 0 before the first one.
    q, v
        [nq, W], [nv, W].
    q_start, q_end
        [nq, W]: where the last step began and ended: what the mean velocities of that
        step are computed from, when somebody reads them.
    targets, targets_previous
        [drives, W]: current ones, and those in force during the last step.
    dof_forces
        [nv, W]: external forces on degrees of freedom.
    wrenches
        [links, 6, W]: external force and torque on each link's origin, world axes.
    doubtful
        bool [moving actors, W]: those whose state must not be used.
    """

    __slots__ = (
        "dof_forces",
        "doubtful",
        "h_last",
        "layout",
        "q",
        "q_end",
        "q_start",
        "storage",
        "targets",
        "targets_previous",
        "time",
        "v",
        "wrenches",
    )

    def __init__(self, layout: Layout, storage: torch.Tensor) -> None:
        self.layout = layout
        self.storage = storage
        views = {
            section.name: storage[section.start : section.end]
            .view(section.dtype)
            .view(section.rows, layout.worlds)
            for section in layout.sections
        }
        self.time = views["time"][0]
        self.h_last = views["h_last"][0]
        self.q = views["q"]
        self.v = views["v"]
        self.q_start = views["q_start"]
        self.q_end = views["q_end"]
        self.targets = views["targets"]
        self.targets_previous = views["targets_previous"]
        self.dof_forces = views["dof_forces"]
        self.wrenches = views["wrenches"].view(-1, 6, layout.worlds)
        self.doubtful = views["doubtful"]

    @classmethod
    def zeros(cls, layout: Layout, device: torch.device) -> StateBlock:
        """Allocate a block of zeros."""
        storage = torch.zeros(layout.total_bytes, dtype=torch.uint8, device=device)
        return cls(layout, storage)

    @classmethod
    def at_start(cls, tree: Tree, layout: Layout, device: torch.device) -> StateBlock:
        """Allocate the model's start: its positions, at rest, nothing pushed."""
        block = cls.zeros(layout, device)
        start = torch.tensor(tree.start, dtype=block.q.dtype, device=device)
        for positions in (block.q, block.q_start, block.q_end):
            positions.copy_(start[:, None].expand_as(positions))
        return block

    def arrays(self) -> tuple[torch.Tensor, ...]:
        """All arrays, in the order of the layout, worlds last."""
        return (
            self.time,
            self.h_last,
            self.q,
            self.v,
            self.q_start,
            self.q_end,
            self.targets_previous,
            self.doubtful,
            self.targets,
            self.dof_forces,
            self.wrenches,
        )

    def usable(self) -> torch.Tensor:
        """Bool [W]: worlds without a doubtful actor."""
        return ~self.doubtful.any(0)

    def finite(self, positions: slice, velocities: slice) -> torch.Tensor:
        """Bool [W]: where these rows of q and v are finite."""
        return _finite(self.q[positions]) & _finite(self.v[velocities])


def _finite(rows: torch.Tensor) -> torch.Tensor:
    """Where all rows are finite, [W]; a NaN survives amax, and is below nothing."""
    if not len(rows):
        return torch.ones(rows.shape[1:], dtype=torch.bool, device=rows.device)
    # Several times faster than isfinite, which torch has no vector code for on a CPU.
    return rows.abs().amax(0) < torch.inf

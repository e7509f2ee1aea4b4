"""Preconditioners: cheap matrices near the inverse that save iterations."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from itertools import groupby
from typing import TYPE_CHECKING, Protocol

import torch

from isoscope.gpu.device import contract
from isoscope.gpu.errors import LinearSystemError

if TYPE_CHECKING:
    from isoscope.gpu.linear.operators import Operator

# Rows of a matrix of which 16, or 8 bytes an entry, make up whole lines of 64 bytes.
ALIGNED = 4

Apply = Callable[[torch.Tensor], torch.Tensor]
"""Takes and returns ``[n, W]``; changes nothing in place."""


class Preconditioner(Protocol):
    """A recipe; each solve builds from it what it applies to its own matrices."""

    def build(self, operator: Operator) -> Apply:
        """Return what multiplies ``[n, W]`` by the preconditioner."""


@dataclass(frozen=True)
class Jacobi:
    """Divides by the diagonal (Saad, Iterative Methods, 2nd ed., section 10.2).

    An entry that is zero or not finite counts as 1.
    """

    def build(self, operator: Operator) -> Apply:
        """Return what multiplies ``[n, W]`` by the preconditioner."""
        diagonal = operator.diagonal()
        usable = torch.isfinite(diagonal) & (diagonal != 0)
        inverse = 1 / torch.where(usable, diagonal, 1.0)
        # One over a number near the smallest is infinite.
        inverse = torch.where(torch.isfinite(inverse), inverse, 1.0)
        return lambda residual: residual * inverse


@dataclass(frozen=True)
class BlockJacobi:
    """Multiplies by the inverses of diagonal blocks (Saad, 2nd ed., section 12.2).

    Where a block is singular or not finite, it counts as the identity in that world.

    Parameters
    ----------
    sizes
        The blocks' sizes, in order; their sum is n.
    """

    sizes: tuple[int, ...]

    def build(self, operator: Operator) -> Apply:
        """Return what multiplies ``[n, W]`` by the preconditioner.

        Raises
        ------
        LinearSystemError
            Where the sizes don't add up to n.
        """
        if min(self.sizes, default=0) < 1 or sum(self.sizes) != operator.size:
            raise LinearSystemError(
                f"building the block-Jacobi preconditioner: blocks of {self.sizes} "
                f"don't add up to {operator.size} unknowns"
            )
        # Neighbours of one size are inverted and applied together.
        groups = []
        start = 0
        for size, same in groupby(self.sizes):
            count = len(list(same))
            blocks = torch.stack(
                [operator.block(start + k * size, size) for k in range(count)]
            )
            groups.append((start, _inverted(blocks)))
            start += count * size

        def apply(residual: torch.Tensor) -> torch.Tensor:
            parts = []
            for first, inverse in groups:
                size, count = inverse.shape[0], inverse.shape[1]
                part = residual[first : first + size * count].view(count, size, -1)
                product = contract(inverse, part.transpose(0, 1).unsqueeze(2), 0)
                parts.append(product.view(size * count, -1))
            return parts[0] if len(parts) == 1 else torch.cat(parts)

        return apply


def _inverted(blocks: torch.Tensor) -> torch.Tensor:
    """Invert blocks ``[count, row, column, W]`` to ``[column, count, row, W]``."""
    # To [count, W, row, column]: what the library inverts one by one.
    batch = blocks.permute(0, 3, 1, 2)
    size = batch.shape[2]
    finite = torch.isfinite(batch).flatten(2).all(2)
    # How the library rounds depends on where in a cache line a matrix begins, so each
    # is bordered by an identity to a size with which all of them begin one.
    whole = -(-size // ALIGNED) * ALIGNED
    bordered = torch.eye(whole, dtype=batch.dtype, device=batch.device)
    bordered = bordered.repeat(*batch.shape[:2], 1, 1)
    identity = bordered[0, 0, :size, :size].clone()
    bordered[..., :size, :size] = torch.where(finite[..., None, None], batch, identity)
    inverse, info = torch.linalg.inv_ex(bordered)
    inverse = inverse[..., :size, :size]
    usable = (info == 0) & torch.isfinite(inverse).flatten(2).all(2)
    inverse = torch.where(usable[..., None, None], inverse, identity)
    return inverse.permute(3, 0, 2, 1).contiguous()

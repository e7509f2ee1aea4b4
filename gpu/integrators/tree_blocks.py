"""A block-Jacobi preconditioner with a block for each actor's tree of links.

Actors touch each other by contact alone, so that the blocks leave little out, and
nothing where no two actors touch. Where actors may touch and all together are small,
one block has them all: it costs less than iterating. The blocks are factorised as L U
without exchanging rows: they are a mass matrix and what a step adds to it. Every
operation runs along the worlds, which costs far less than a library's call per world.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import torch

if TYPE_CHECKING:
    from collections.abc import Callable

    from isoscope.gpu.linear.operators import Operator
    from isoscope.gpu.model.tree import Tree

# So many unknowns are factorised as a whole.
SMALL = 24


@dataclass(frozen=True)
class TreeBlocks:
    """Multiplies by the inverses of diagonal blocks.

    In a world where a block can't be factorised it counts as the identity.

    Attributes
    ----------
    spans
        First row of each block, and one past its last; in order, without gaps.

    Notes
    -----
    Saad, Iterative Methods for Sparse Linear Systems, 2nd edition, sections 10.1 and
    12.2.
    """

    spans: tuple[tuple[int, int], ...]

    @classmethod
    def of(cls, tree: Tree, *, touching: bool) -> TreeBlocks:
        """Make it for a tree's degrees of freedom.

        Parameters
        ----------
        touching
            Whether there is any contact.
        """
        spans = [actor.velocities for actor in tree.actors]
        if touching and tree.nv <= SMALL:
            spans = [(0, tree.nv)]
        return cls(tuple((a, b) for a, b in spans if b > a))

    def build(self, operator: Operator) -> Callable[[torch.Tensor], torch.Tensor]:
        """Return what multiplies ``[n, W]`` by the preconditioner."""
        factors = [factorised(operator.block(a, b - a)) for a, b in self.spans]

        def apply(residual: torch.Tensor) -> torch.Tensor:
            parts = [
                substituted(factor, residual[a:b])
                for factor, (a, b) in zip(factors, self.spans, strict=True)
            ]
            return parts[0] if len(parts) == 1 else torch.cat(parts)

        return apply


def factorised(block: torch.Tensor) -> torch.Tensor:
    """Factorise ``[n, n, W]`` as L U, L's diagonal of ones left out, U's inverted.

    Gaussian elimination without pivoting: outer products, one column after the other.
    """
    size = block.shape[0]
    factors = block.clone()
    for k in range(size):
        factors[k, k] = 1 / factors[k, k]
        if k + 1 < size:
            column = factors[k + 1 :, k] * factors[k, k]
            factors[k + 1 :, k] = column
            factors[k + 1 :, k + 1 :] -= column[:, None] * factors[k, None, k + 1 :]
    usable = (factors.abs().amax((0, 1)) < torch.inf)[None, None]
    identity = torch.eye(size, dtype=block.dtype, device=block.device)[..., None]
    return torch.where(usable, factors, identity)


def substituted(factors: torch.Tensor, right: torch.Tensor) -> torch.Tensor:
    """Solve L U x = right, ``[n, W]``."""
    size = len(factors)
    x = right.clone()
    for k in range(size - 1):
        x[k + 1 :] -= factors[k + 1 :, k] * x[k]
    for k in reversed(range(size)):
        x[k] *= factors[k, k]
        if k:
            x[:k] -= factors[:k, k] * x[k]
    return x

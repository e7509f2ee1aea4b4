"""The mass matrix' factors, which fill in along the branches of the tree alone.

Source: Featherstone, Rigid Body Dynamics Algorithms (2008), section 6.5.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeAlias

from isoscope.gpu.model.spec import VELOCITIES

if TYPE_CHECKING:
    from collections.abc import Sequence

    from isoscope.gpu.dynamics.expression import Scalar
    from isoscope.gpu.model.tree import Tree

# entries (i, j), i >= j, that the tree's branches leave; the others are zero
Branches: TypeAlias = "dict[tuple[int, int], Scalar]"


def dof_parents(tree: Tree) -> list[int]:
    """Return λ over degrees of freedom, -1 for none (section 6.5)."""
    parents: list[int] = []
    last: list[int] = []
    for link in tree.links:
        before = last[link.parent] if link.parent >= 0 else -1
        for k in range(VELOCITIES[link.joint]):
            parents.append(before)
            before = link.velocity_start + k
        last.append(before)
    return parents


def factorize(parents: Sequence[int], matrix: Branches) -> Branches:
    """Return L and D of M = Lᵀ D L (table 6.3): D on the diagonal, L's ones left out.

    Filled in only along branches, and there only where M or a product is not zero.
    """
    entries = dict(matrix)
    for k in reversed(range(len(parents))):
        i = parents[k]
        while i >= 0:
            if (k, i) in entries:
                ratio = entries[k, i] / entries[k, k]
                j = i
                while j >= 0:
                    if (k, j) in entries:
                        entries[i, j] = entries.get((i, j), 0.0) - (
                            ratio * entries[k, j]
                        )
                    j = parents[j]
                entries[k, i] = ratio
            i = parents[i]
    return entries


def solve(
    parents: Sequence[int], factors: Branches, right: Sequence[Scalar]
) -> list[Scalar]:
    """Return x of Lᵀ D L x = right (section 6.5)."""
    x = list(right)
    for i in reversed(range(len(parents))):
        j = parents[i]
        while j >= 0:
            if (i, j) in factors:
                x[j] = x[j] - factors[i, j] * x[i]
            j = parents[j]
    x = [value / factors[i, i] for i, value in enumerate(x)]
    for i in range(len(parents)):
        j = parents[i]
        while j >= 0:
            if (i, j) in factors:
                x[i] = x[i] - factors[i, j] * x[j]
            j = parents[j]
    return x

"""What a kind of pair yields: candidate points and their shares of the stiffness."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import torch

from isoscope.gpu.contact.vectors import total

if TYPE_CHECKING:
    from torch import Tensor

# Points within this part of the smaller shape's smallest half length (or radius) of the
# deepest one carry a pair's load together with it.
SHARING_DEPTH = 0.1


@dataclass(frozen=True, slots=True)
class Posed:
    """n shapes of one type, placed in the world.

    Attributes
    ----------
    center
        [n, 3, W].
    matrix
        Rotation, [n, 3, 3, W].
    size
        As in `isoscope.gpu.model.spec.Shape`, [n, sizes, 1].
    """

    center: Tensor
    matrix: Tensor
    size: Tensor

    @property
    def axis(self) -> Tensor:
        """The frame's z, [n, 3, W]: a plane's normal, a capsule's axis."""
        return self.matrix[:, :, 2]


@dataclass(frozen=True, slots=True)
class Candidates:
    """k candidate points for each of n pairs.

    Attributes
    ----------
    position
        Halfway between the two surfaces, [n, k, 3, W].
    normal
        Unit vector from B to A, [n, k, 3, W].
    distance
        Gap along it, below 0 inside, [n, k, W].
    share
        Part of the pair's stiffness; 1 in sum where any point counts, [n, k, W].
    """

    position: Tensor
    normal: Tensor
    distance: Tensor
    share: Tensor


def near_deepest(above: Tensor, depth: Tensor) -> Tensor:
    """Weigh points by their height above the deepest: 1 there, 0 from `depth` on.

    ``max(1 - (above / depth)², 0)²``: its slope is zero at both ends, so that a body at
    rest on several points feels constant weights, to second order in its tilt.
    """
    ratio = above / depth
    left = torch.clamp(1.0 - ratio * ratio, min=0.0)
    return left * left


def shared(distance: Tensor, extent: Tensor, depth: Tensor) -> Tensor:
    """Share a pair's stiffness among its points by depth and by what each stands for.

    Parameters
    ----------
    distance
        [n, k, W].
    extent
        What a point stands for (a length of the contact's outline, or 1), not negative;
        0 for a point that does not exist. Broadcasts to [n, k, W].
    depth
        Points so much above the deepest no longer share, [n, 1, 1].

    Returns
    -------
    Tensor
        [n, k, W], 1 in sum; all 0 where no point exists.
    """
    exists = extent > 0
    deepest = torch.where(exists, distance, torch.inf).amin(1, keepdim=True)
    deepest = torch.where(torch.isfinite(deepest), deepest, 0.0)
    weight = torch.where(exists, extent * near_deepest(distance - deepest, depth), 0.0)
    whole = total(weight, 1).unsqueeze(1)
    return weight / torch.where(whole > 0, whole, 1.0)


def shared_along(distance: Tensor, depth: Tensor) -> Tensor:
    """Share among the nearest point of an axis and the two ends of where it may lie.

    Parameters
    ----------
    distance
        [n, 3, W]: of the nearest point, then of both ends. While the ends are as near
        as the nearest they carry half each; otherwise the nearest carries the rest.

    Returns
    -------
    Tensor
        [n, 3, W], 1 in sum.
    """
    nearest, low, high = distance.unbind(1)
    low = 0.5 * near_deepest(low - nearest, depth)
    high = 0.5 * near_deepest(high - nearest, depth)
    return torch.stack((1.0 - (low + high), low, high), 1)

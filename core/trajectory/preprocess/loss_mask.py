"""Which action slots count: those up to the first done.

Only without auto-reset is a slot after a done not part of any episode. The slot that
finished the episode still counts. Trace, T=2 chunks of C=2 slots, one environment, done
in slot 1 of chunk 0; the boundary row before chunk 0 counts by its last slot only::

    dones   [. F] [F T] [F F]        boundary, chunk 0, chunk 1
    before    F    F F   T T         was there a done strictly before the slot
    mask           T T   F F
    sum            2 2   2 2
"""

from __future__ import annotations

import torch
from torch import Tensor

from isoscope.core.trajectory.errors import TrajectoryValueError


def compute_loss_mask(dones: Tensor) -> tuple[Tensor, Tensor]:
    """Mask the slots after the first done.

    Parameters
    ----------
    dones
        Bool ``[T+1, b, C]``: the row before the first chunk, then one for each chunk.

    Returns
    -------
    loss_mask
        Bool ``[T, b, C]``.
    loss_mask_sum
        int64 ``[T, b, C]``: how many slots of that environment count, repeated.

    Raises
    ------
    TrajectoryValueError
        If `dones` has other than three axes or no chunk.
    """
    if dones.dim() != 3 or dones.shape[0] < 2:
        raise TrajectoryValueError(
            f"computing the loss mask: dones is {list(dones.shape)}; it must be "
            "[T+1, b, C] with at least one chunk"
        )
    rows, batch, slots = dones.shape
    in_time = dones.bool().transpose(1, 2).reshape(rows * slots, batch)
    before = in_time[slots - 1 : -1]  # the boundary's last slot, then all but the last
    mask = torch.cumsum(before, dim=0) == 0
    count = mask.sum(dim=0)
    mask = mask.reshape(rows - 1, slots, batch).transpose(1, 2).contiguous()
    return mask, count[None, :, None].expand_as(mask).contiguous()

"""From trajectories to training batches: routing, masks, advantages, micro-batches.

Axis order everywhere: ``[T, b, ...]``, chunks in time, then environments. What
describes the state between chunks has T+1 rows: dones, terminations, truncations lead
with the row before the first chunk; prev_values end with the row after the last. C is
the number of action slots in a chunk, S the number of steps that advantages are
computed over: T where rewards count by chunk, T*C where they count by action.

Both actor paths use the same functions: :mod:`.output` for micro-batches that the
collector emits, :mod:`.training` for trajectories that an actor received.
"""

from __future__ import annotations

from isoscope.core.trajectory.preprocess.advantages import calculate_adv_and_returns
from isoscope.core.trajectory.preprocess.loss_mask import compute_loss_mask
from isoscope.core.trajectory.preprocess.microbatches import (
    flatten_embodied_batch,
    micro_batches,
    pack_batch,
    split_dict_to_chunk,
    unpack_batch,
)
from isoscope.core.trajectory.preprocess.normalise import (
    masked_stats,
    normalize_from_stats,
)
from isoscope.core.trajectory.preprocess.prepare import (
    merge_rollout_epochs,
    preprocess_embodied_batch,
)
from isoscope.core.trajectory.preprocess.routing import CommMapper
from isoscope.core.trajectory.preprocess.settings import PreprocessSettings
from isoscope.core.trajectory.preprocess.training import to_training_batch

__all__ = [
    "CommMapper",
    "PreprocessSettings",
    "calculate_adv_and_returns",
    "compute_loss_mask",
    "flatten_embodied_batch",
    "masked_stats",
    "merge_rollout_epochs",
    "micro_batches",
    "normalize_from_stats",
    "pack_batch",
    "preprocess_embodied_batch",
    "split_dict_to_chunk",
    "to_training_batch",
    "unpack_batch",
]

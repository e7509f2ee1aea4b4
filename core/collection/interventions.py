"""An expert's actions that the environments report in their infos.

Wrappers with a person at the controls say ``intervene_flag`` and ``intervene_action``
for a step in which the person's action was carried out instead.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import torch

from isoscope.core.collection.errors import CollectionError

if TYPE_CHECKING:
    from isoscope.core.collection.slots import ChunkRun

ACTION, FLAG = "intervene_action", "intervene_flag"


def interventions(run: ChunkRun, shape: tuple[int, ...]) -> dict[str, Any]:
    """Collect what was reported in a chunk's slots.

    Parameters
    ----------
    run
        What came of the chunk.
    shape
        Of its actions: B, C, A.

    Returns
    -------
    dict
        ``intervene_actions`` float [B, C·A] and ``intervene_flags`` bool [B, C]; empty
        if no slot reported either.

    Raises
    ------
    CollectionError
        If an action is reported in another shape, or without a flag.
    """
    if not any(ACTION in info for info in run.infos):
        return {}
    batch, chunk, width = shape
    actions = np.zeros(shape, dtype=np.float32)
    flags = np.zeros((batch, chunk), dtype=bool)
    for slot, info in enumerate(run.infos):
        if ACTION not in info:
            continue
        action = np.asarray(info[ACTION])
        if FLAG not in info or action.size != batch * width:
            raise CollectionError(
                f"reading {ACTION} of slot {slot}: it is {list(action.shape)}, "
                f"{'with' if FLAG in info else 'without'} {FLAG}; report both, "
                f"[{batch}, {width}] and [{batch}]"
            )
        given = np.asarray(info.get(f"_{FLAG}", True))
        actions[:, slot] = action.reshape(batch, width)
        flags[:, slot] = np.asarray(info[FLAG], dtype=bool).reshape(batch) & given
    flags &= run.valid
    return {
        "intervene_actions": torch.from_numpy(actions.reshape(batch, -1)),
        "intervene_flags": torch.from_numpy(flags),
    }

"""What every slot saw and did, for recording episodes while collecting.

Section 1.4 of the trajectory contract, with a mask: observations are those before each
action, so that frames hold (o_t, a_t).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import torch

from isoscope.core.collection.interventions import ACTION
from isoscope.core.collection.policies.base import states_of
from isoscope.core.collection.spaces import as_observation

if TYPE_CHECKING:
    from collections.abc import Sequence

    from isoscope.core.collection.slots import ChunkRun, Info


def episode_data(
    run: ChunkRun, chunk: np.ndarray[Any, Any], tasks: Sequence[str] | None
) -> dict[str, Any]:
    """Lay out a chunk's frames.

    Parameters
    ----------
    run
        What came of the chunk.
    chunk
        Its actions [B, C, A].
    tasks
        A text for each environment.
    """
    return {
        "chunk_actions": torch.from_numpy(chunk.astype(np.float32)),
        "obs_list": [with_state(as_observation(b, tasks)) for b in run.before],
        "terminations": torch.from_numpy(run.terminated),
        "truncations": torch.from_numpy(run.truncated),
        "infos_list": [numbers_of(info, len(chunk)) for info in run.infos],
        "valid_action_mask": torch.from_numpy(run.valid),
    }


def with_state(observation: dict[str, Any]) -> dict[str, Any]:
    """Give an observation that names no state one: all its numbers but bytes, in a row.

    Bytes are pictures.
    """
    if "states" in observation or "state" in observation:
        return observation
    numbers = without_pictures(observation)
    return {**observation, "states": states_of(numbers)} if numbers else observation


def without_pictures(observation: dict[str, Any]) -> dict[str, Any]:
    """Leave out what is no number, or bytes."""
    kept: dict[str, Any] = {}
    for name, value in observation.items():
        if isinstance(value, dict):
            inner = without_pictures(value)
            if inner:
                kept[name] = inner
        elif isinstance(value, torch.Tensor) and value.dtype is not torch.uint8:
            kept[name] = value
    return kept


def numbers_of(info: Info, batch: int) -> dict[str, Any]:
    """Keep of an info what is a number for every environment.

    Gymnasium says by a mask ``_name`` for whom ``name`` was given; for the others it
    holds zeros, so a value that was given to some only is left out but for flags, where
    nothing said means False.
    """
    kept: dict[str, Any] = {}
    for name, value in info.items():
        if name.startswith("_"):
            continue
        if isinstance(value, dict):
            inner = numbers_of(value, batch)
            if inner:
                kept[name] = inner
        elif (
            isinstance(value, np.ndarray)
            and value.dtype.kind in "biuf"
            and value.shape[:1] == (batch,)
        ):
            given = info.get(f"_{name}")
            flagged = value.dtype.kind == "b" or name == ACTION  # that one has a flag
            if flagged or given is None or np.all(given):
                kept[name] = torch.from_numpy(np.array(value))
    return kept

"""Only the chunks in which somebody intervened, environment by environment.

Section 2.7 of the trajectory contract: what replay for DAgger trains on.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import torch

from isoscope.core.trajectory.errors import (
    TrajectoryAssertionError,
    TrajectoryIndexError,
    TrajectoryNotImplementedError,
    TrajectoryTypeError,
    TrajectoryValueError,
)
from isoscope.core.trajectory.fields import Field, Rows, trajectory_fields

if TYPE_CHECKING:
    from isoscope.core.trajectory.trajectory import Trajectory

Tensor = torch.Tensor
MODES = ("any", "all")


def interventions(trajectory: Trajectory, mode: str) -> list[Trajectory] | None:
    """Keep the chunks that are flagged.

    Parameters
    ----------
    trajectory
        With flags [T, B, D]. Its fields, but `versions`, are kept row by row. Of those
        with a row before each epoch, that row stays and the rows after kept chunks do.
    mode
        ``"any"``: a chunk is kept if any of its numbers is flagged; ``"all"``: if all.

    Returns
    -------
    list of Trajectory or None
        One of a single environment, [T_i, 1, ...], for each that has a kept chunk; None
        if there is no such chunk.

    Raises
    ------
    TrajectoryNotImplementedError
        For another mode.
    TrajectoryAssertionError, TrajectoryValueError, TrajectoryIndexError
        If the flags' rank, or a field's rows, don't fit.
    """
    from isoscope.core.trajectory.trajectory import Trajectory

    flags = trajectory.intervene_flags
    if flags is None or not flags.any():
        return None
    if mode not in MODES:
        raise TrajectoryNotImplementedError(
            f"extracting interventions: there is no mode {mode!r}; "
            f"choose one of {', '.join(MODES)}"
        )
    if flags.ndim != 3:
        raise TrajectoryAssertionError(
            f"extracting interventions: intervene_flags are {list(flags.shape)}; "
            "flatten actions and flags to [T, B, D]"
        )
    kept = flags.any(dim=2) if mode == "any" else flags.all(dim=2)
    found = []
    for env in kept.any(dim=0).nonzero().flatten().tolist():
        rows = kept[:, env]
        values = {
            field.name: _keep(field, trajectory.__dict__.get(field.name), rows, env)
            for field in trajectory_fields()
            if field.replayed
        }
        found.append(
            Trajectory(
                trajectory.max_episode_length, trajectory.model_weights_id, **values
            )
        )
    return found or None


def _keep(field: Field, value: Any, rows: Tensor, env: int) -> Any:
    if value is None:
        return None
    if field.tree:
        return {k: _keep_leaf(field, v, rows, env, k) for k, v in value.items()}
    return _keep_leaf(field, value, rows, env, "")


def _keep_leaf(field: Field, value: Any, rows: Tensor, env: int, key: str) -> Tensor:
    name = f"{field.name}[{key!r}]" if key else field.name
    if not isinstance(value, torch.Tensor):
        raise TrajectoryTypeError(
            f"extracting interventions: {name} is a {type(value).__name__}, and only "
            "tensors have rows; flatten it to one level of keys"
        )
    if field.rows is Rows.T_PLUS_FIRST:
        rows = _with_first_rows(rows, len(value), name)
    elif len(value) != len(rows):
        raise TrajectoryIndexError(
            f"extracting interventions: {name} has {len(value)} rows for {len(rows)} "
            "chunks; leave out the extra row of each epoch, or the field"
        )
    return value[:, env : env + 1][rows].contiguous()


def _with_first_rows(rows: Tensor, have: int, name: str) -> Tensor:
    """The rows to keep of a field with a row before each epoch."""
    chunks = len(rows)
    epochs = have - chunks
    if epochs < 0:
        raise TrajectoryValueError(
            f"extracting interventions: {name} has {have} rows for {chunks} chunks; "
            "give one row a chunk, and one more before each epoch"
        )
    if epochs == 0:
        return rows
    if chunks % epochs:
        raise TrajectoryAssertionError(
            f"extracting interventions: {name} has {have} rows for {chunks} chunks, "
            f"which {epochs} epochs can't share evenly; give one more row an epoch"
        )
    every = rows.reshape(epochs, chunks // epochs)
    return torch.cat([every.new_ones((epochs, 1)), every], dim=1).flatten()

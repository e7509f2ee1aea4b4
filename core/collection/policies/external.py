"""Actions from elsewhere: those of a script, or played back from an earlier run."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import torch

from isoscope.core.collection.errors import CollectionError

if TYPE_CHECKING:
    from isoscope.core.trajectory.keys import TrajectoryKey

Tensor = torch.Tensor


class PlayedBack:
    """Gives one chunk of actions after another; then the policy is asked.

    Parameters
    ----------
    actions
        Floats [chunks, B, C, A].

    Raises
    ------
    CollectionError
        If they have another number of axes.
    """

    def __init__(self, actions: Any) -> None:
        self.actions = torch.as_tensor(actions, dtype=torch.float32)
        if self.actions.dim() != 4:
            raise CollectionError(
                f"playing actions back: they are {list(self.actions.shape)}; give "
                "[chunks, environments, actions of a chunk, numbers of an action]"
            )
        self._at = 0

    def __call__(self, key: TrajectoryKey, obs: dict[str, Any]) -> Tensor | None:
        """The next chunk, [B, C, A]; None when there is no more."""
        if self._at >= len(self.actions):
            return None
        self._at += 1
        return self.actions[self._at - 1]

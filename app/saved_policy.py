"""A saved policy in a recorded run: which slots begin an episode, which only reset."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from isoscope.core.errors import UsageError
from isoscope.core.replay.checkpoint.acting import SavedPolicy
from isoscope.core.replay.checkpoint.bundle import read_checkpoint

if TYPE_CHECKING:
    from isoscope.core.replay.checkpoint.model import Checkpoint

ENDING = ".safetensors"
NEXT_STEP = "next"  # in the autoreset mode's name, whatever Gymnasium calls it


def is_saved(policy: str) -> bool:
    """Whether a policy is named that is a file of its own, not FILE:FUNCTION."""
    return policy.endswith(ENDING)


def parts_of(text: str | None) -> list[str] | None:
    """Names with commas between them; None for all."""
    return None if text is None else [one.strip() for one in text.split(",")]


def read_policy(path: str, parts: list[str] | None = None) -> Checkpoint:
    """Read a checkpoint that can act.

    Raises
    ------
    IsoscopeError
        If it can't be read, or can't act.
    """
    checkpoint = read_checkpoint(Path(path))
    SavedPolicy(checkpoint, 1, parts)
    return checkpoint


class SavedActing:
    """Acts by a checkpoint in an environment, or a vector of them.

    Parameters
    ----------
    env
        What is stepped.
    single
        Whether it is one environment.

    Raises
    ------
    IsoscopeError
        If the checkpoint doesn't fit the environment: other sizes or limits.
    """

    def __init__(
        self, path: str, env: Any, *, single: bool, parts: list[str] | None = None
    ) -> None:
        checkpoint = read_policy(path, parts)
        batch = 1 if single else int(env.num_envs)
        space = env.action_space if single else env.single_action_space
        self._single = single
        self._policy = SavedPolicy(checkpoint, batch, parts)
        _refuse_other(path, checkpoint, self._policy, space)
        mode = "" if single else str(env.metadata.get("autoreset_mode", "next_step"))
        self._only_resets = NEXT_STEP in mode.lower()
        self._begins = np.ones(batch, np.bool_)
        self._skips = np.zeros(batch, np.bool_)

    def __call__(self, seen: Any) -> Any:
        """An action for what is seen."""
        rows = np.asarray(seen)
        rows = rows[None] if self._single else rows
        action = self._policy.act(rows, self._begins, self._skips)
        if not self._single:
            return action
        return action[0] if action.ndim > 1 else int(action[0])

    def after(self, done: Any) -> None:
        """Take which environments ended in the step."""
        ended = np.atleast_1d(np.asarray(done, np.bool_))
        if self._only_resets:
            # What ended is reset by the next step, which ignores its action.
            self._begins, self._skips = self._skips, ended & ~self._skips
        else:
            self._begins = ended


def _refuse_other(
    path: str, checkpoint: Checkpoint, policy: SavedPolicy, space: Any
) -> None:
    """Refuse an action space that is not the one that it was saved with."""
    doing = f"acting by {path}"
    count = getattr(space, "n", None)
    if count is not None:
        if policy.choices != int(count):
            raise UsageError(
                f"{doing}: the environment takes one of {count} actions, and the "
                f"policy gives {policy.choices or policy.size}"
            )
        return
    size = int(np.prod(space.shape, dtype=np.int64))
    if policy.choices or policy.size != size:
        raise UsageError(
            f"{doing}: the environment takes actions of {size} numbers, and the "
            f"policy gives {policy.size}"
        )
    box = checkpoint.action
    for name in ("low", "high"):
        saved = None if box is None else getattr(box, name)
        here = np.asarray(getattr(space, name), np.float64).reshape(-1)
        if saved is not None and not np.allclose(saved, here, rtol=1e-5):
            raise UsageError(
                f"{doing}: it was saved for actions with {name} {list(saved)}, and the "
                f"environment has {here.tolist()}; name the parts to restore "
                "(--policy-parts) and give it a checkpoint of this range"
            )

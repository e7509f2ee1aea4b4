"""The tasks by name."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING, Any

from isoscope.core.envs.errors import TaskError
from isoscope.core.envs.tasks.cartpole import CartPole
from isoscope.core.envs.tasks.cartpole_lab import CartPoleLab
from isoscope.core.envs.tasks.double_pendulum_rail import DoublePendulumRail
from isoscope.core.envs.tasks.falling_bodies import FallingBodies
from isoscope.core.envs.tasks.pusher import Pusher

if TYPE_CHECKING:
    from isoscope.core.envs.task import Task

TASKS: dict[str, type[Any]] = {
    task.name: task
    for task in (CartPole, CartPoleLab, DoublePendulumRail, FallingBodies, Pusher)
}


def make_task(name: str, **settings: Any) -> Task:
    """Make a task of the registry.

    Parameters
    ----------
    settings
        Fields of the task's dataclass.

    Raises
    ------
    TaskError
        If there is no such task or setting.
    """
    kind = TASKS.get(name)
    if kind is None:
        raise TaskError(f"making task {name}: there are {', '.join(sorted(TASKS))}")
    known = {field.name for field in dataclasses.fields(kind)}
    unknown = settings.keys() - known
    if unknown:
        raise TaskError(
            f"making task {name}: no setting {', '.join(sorted(unknown))}; there are "
            + ", ".join(sorted(known))
        )
    task: Task = kind(**settings)
    return task

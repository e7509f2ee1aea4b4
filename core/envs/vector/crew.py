"""Who runs the environments: what a crew can be asked, and the crew of this process.

Spawned workers (`pool`) and this process are asked in the same way, one request a group
of lanes, and raise the same errors.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

from isoscope.core.envs.vector.errors import EnvironmentFailedError, WorkerLostError
from isoscope.core.envs.vector.factories import EnvIndex
from isoscope.core.envs.vector.lanes import LaneError, LaneGroup
from isoscope.core.envs.vector.memory import Memory, own_memory
from isoscope.core.envs.vector.worker import Failure, check_spaces, perform

if TYPE_CHECKING:
    from collections.abc import Sequence

    from gymnasium.vector import AutoresetMode

    from isoscope.core.envs.vector.factories import Factory
    from isoscope.core.envs.vector.memory import MemorySpec

Request = tuple[str, tuple[Any, ...]] | None  # None: this group is not asked
STEP_REQUEST: Request = ("step", ())
CLOSE_S = 10.0


@dataclass(frozen=True, slots=True)
class WorkerInfo:
    """Who runs which environments.

    Attributes
    ----------
    worker
        p; 0 where all run in this process.
    pid
        Of its process.
    lanes
        The global indices of its environments, in the order of their turn.
    threads
        What its environment told libraries to take (OMP_NUM_THREADS); None: not told.
    """

    worker: int
    pid: int
    lanes: tuple[int, ...]
    threads: int | None


class Crew(Protocol):
    """Groups of lanes that can be asked."""

    memory: Memory | None
    workers: list[WorkerInfo]
    lost: WorkerLostError | None
    metadata: dict[str, Any] | None
    render_mode: str | None

    def ask(self, doing: str, requests: Sequence[Request]) -> list[Any]:
        """Ask each group once; gives the answers, None where not asked."""

    def close(self, timeout_s: float = CLOSE_S, *, at_once: bool = False) -> list[str]:
        """Close all; gives what went wrong. Again and again without harm."""


class InProcess:
    """All lanes in this process, as one group."""

    def __init__(
        self,
        factories: Sequence[Factory],
        mode: AutoresetMode,
        spec: MemorySpec,
        spaces: tuple[Any, Any],
    ) -> None:
        indices = [EnvIndex(0, lane, lane) for lane in range(len(factories))]
        self.memory: Memory | None = own_memory(spec)
        self.lost: WorkerLostError | None = None
        self._group: LaneGroup | None = None
        try:
            rows = slice(0, len(factories))
            lanes = self.memory.lanes(0, rows)
            self._group = LaneGroup(factories, indices, mode, lanes)
            check_spaces(self._group, *spaces)
        except LaneError as error:
            self.close()
            raise failed("making", Failure.of(error), 0, 0) from error.error
        self.metadata: dict[str, Any] | None = dict(self._group.envs[0].metadata or {})
        self.render_mode = self._group.envs[0].render_mode
        self.workers = [WorkerInfo(0, os.getpid(), tuple(range(rows.stop)), None)]

    def ask(self, doing: str, requests: Sequence[Request]) -> list[Any]:
        """Ask the group."""
        request = requests[0]
        if request is None or self._group is None:
            return [None]
        try:
            return [perform(self._group, *request)]
        except LaneError as error:
            raise failed(doing, Failure.of(error), 0, 0) from error.error
        except Exception as error:
            raise failed(doing, Failure.of(error), 0, 0) from error

    def close(self, timeout_s: float = CLOSE_S, *, at_once: bool = False) -> list[str]:
        """Close all."""
        del timeout_s, at_once
        group, self._group, self.memory = self._group, None, None
        return [] if group is None else [f"worker 0: {said}" for said in group.close()]


def failed(
    doing: str, failure: Failure, worker: int, first: int
) -> EnvironmentFailedError:
    """Make the error of what went wrong in a worker whose environments begin there."""
    environment = first + failure.lane if failure.lane >= 0 else -1
    who = (
        f"in worker {worker}"
        if failure.lane < 0
        else f"environment {environment} (worker {worker}, lane {failure.lane})"
    )
    return EnvironmentFailedError(
        f"{failure.doing or doing} {who}: {failure.kind}: {failure.text}",
        environment=environment,
        worker=worker,
        lane=failure.lane,
        kind=failure.kind,
        remote_traceback=failure.remote_traceback,
    )

"""Errors of vector environments, one line each."""

from __future__ import annotations

from typing import TYPE_CHECKING

from isoscope.core.errors import IsoscopeError

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence


class VectorEnvError(IsoscopeError):
    """Environments, arguments and requests that don't fit together."""


class EnvironmentFailedError(VectorEnvError):
    """One of the environments raised.

    Attributes
    ----------
    environment
        Its global index; -1 where it was none of them in particular.
    worker, lane
        Where it runs.
    kind
        The name of the exception's class.
    remote_traceback
        Where it was raised, as text; also among the exception's notes.
    """

    def __init__(
        self,
        message: str,
        *,
        environment: int,
        worker: int,
        lane: int,
        kind: str,
        remote_traceback: str,
    ) -> None:
        super().__init__(message)
        self.environment = environment
        self.worker = worker
        self.lane = lane
        self.kind = kind
        self.remote_traceback = remote_traceback
        if remote_traceback:
            self.add_note(remote_traceback)


class WorkerLostError(VectorEnvError):
    """Workers that answer no more; the others were closed.

    Attributes
    ----------
    workers
        Their numbers.
    environments
        The global indices of the environments that they had.
    last_words
        The end of what they wrote to their standard error, as text.
    """

    def __init__(
        self,
        message: str,
        *,
        workers: Sequence[int],
        environments: Sequence[int],
        last_words: str,
    ) -> None:
        super().__init__(message)
        self.workers = tuple(workers)
        self.environments = tuple(environments)
        self.last_words = last_words
        if last_words:
            self.add_note(last_words)


class WorkerDiedError(WorkerLostError):
    """A worker's process ended by itself, or was killed."""


class WorkerTimeoutError(WorkerLostError):
    """A worker gave no answer in time, and was killed."""


def listed(environments: Iterable[int]) -> str:
    """Name environments: ``environment 3``, ``environments 0, 1, 2``."""
    numbers = [int(number) for number in environments]
    plural = "" if len(numbers) == 1 else "s"
    return f"environment{plural} {', '.join(map(str, numbers))}"

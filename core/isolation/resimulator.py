"""What steps an environment of a recording again, alone. Core has none: injected."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from isoscope.core.isolation.context import Examined


class Resimulator(Protocol):
    """An engine that can take a recording's environments up again.

    Who implements it begins each episode from a snapshot that the recording holds, and
    applies the native control inputs that it holds, in a scene of the environment's.
    """

    def alone(self, subject: Examined, env: int) -> Examined:
        """The same environment, with the same inputs, alone in its scene.

        Parameters
        ----------
        subject
            The recording.
        env
            Which of its environments.

        Returns
        -------
        Examined
            A recording with the same actors and precision that begins with the step of
            a reset, as the environment does in `subject`.

        Raises
        ------
        CannotRunError
            Of `isoscope.core.isolation.registry`, where this environment can't be
            stepped again: no snapshot, or another engine, build or precision.
        """
        ...

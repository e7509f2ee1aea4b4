"""What steps environments of a recording again, each alone, as the audit asks it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from collections.abc import Callable

    from isoscope.core.isolation.twins import Departure
    from isoscope.core.recording.tracks import BoolArray

    Stepping = Callable[[int, int], None]


class Resimulator(Protocol):
    """Takes the environments of one recording up again, each alone in its scene.

    Who implements it begins each episode from a snapshot that the recording holds, and
    applies the native control inputs that it holds: `isoscope.core.replay.alone`.
    """

    def environments(self) -> list[int]:
        """Environments that share a scene with others, which may have reached them.

        Raises
        ------
        CannotRunError
            Of `isoscope.core.isolation.registry`, where the recording can't be stepped
            again: no snapshots, or another engine, build or precision.
        """
        ...

    def departure(self, env: int, explained: BoolArray) -> Departure | None:
        """Where an environment goes otherwise alone; None if it doesn't.

        Parameters
        ----------
        env
            One of `environments`.
        explained
            bool [native steps]: steps that another finding accounts for. They are
            passed over, with what follows them in their episode.

        Raises
        ------
        CannotRunError
            Where this environment can't be stepped again.
        """
        ...

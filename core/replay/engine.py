"""What re-simulation needs of an engine: a scene, its states as bytes, and steps.

Core has no engine: whoever can make one (`app.replaying` for the built-in simulator)
gives a maker.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Protocol, runtime_checkable

from isoscope.core.errors import IsoscopeError

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from isoscope.core.recording.labelled.records import Identity
    from isoscope.core.recording.tracks import Array
    from isoscope.core.replay.tape import ControlField

    Take = Callable[[list[Array], bool | None], None]


class ReplayError(IsoscopeError):
    """A recording that can't be stepped again, or an engine that won't."""


@dataclass(frozen=True, slots=True)
class Blueprint:
    """What a recording tells of a scene that is to be made again.

    Attributes
    ----------
    file
        The recording, for messages.
    identity
        What ran.
    worlds
        W.
    engine, precision
        As the snapshots carry them.
    configuration
        The persistent configuration as it was first, by name; None in it stands for a
        number that is not finite, which JSON can't hold.
    build
        All that its snapshots tell of what can restore them, by name.
    topology
        Digest of the scene's actors; empty where not told.
    actors
        Names and kinds of the actors that there were at its first snapshot.
    controls
        The recorded native control inputs.
    """

    file: str
    identity: Identity
    worlds: int
    engine: str
    precision: str
    configuration: Mapping[str, Any]
    build: Mapping[str, Any] = field(default_factory=dict)
    topology: str = ""
    actors: Sequence[tuple[str, str]] = ()
    controls: Sequence[ControlField] = ()


class Engine(Protocol):
    """One scene of W worlds in an engine, which belongs to whoever made it."""

    @property
    def name(self) -> str:
        """Engine, version and build, as snapshots carry it, and the device."""
        ...

    @property
    def worlds(self) -> int:
        """W."""
        ...

    def has(self, actor: str, field: str) -> bool:
        """Whether `read` can give this field."""
        ...

    def configuration(self) -> Mapping[str, Any]:
        """The persistent configuration as plain values."""
        ...

    def configuration_digest(self) -> bytes:
        """Of the persistent configuration, as recordings carry it."""
        ...

    def configure(self, values: Mapping[str, Any]) -> None:
        """Set persistent values; None within one keeps what is there.

        Raises
        ------
        IsoscopeError
            For values that the engine refuses.
        """
        ...

    def check_bytes(self, data: bytes) -> None:
        """Refuse a snapshot that is cut, or of another build, precision or topology.

        Raises
        ------
        IsoscopeError
            With what is wrong; nothing was changed.
        """
        ...

    def restore_bytes(self, data: bytes, worlds: Sequence[int] | None = None) -> None:
        """Go to a snapshot's state, in all worlds or in these."""
        ...

    def state_bytes(self) -> bytes:
        """The present state as a snapshot's bytes."""
        ...

    def capture(self) -> int:
        """Keep the present state; a handle."""
        ...

    def restore(self, handle: int) -> None:
        """Go back to a kept state."""
        ...

    def release(self, handle: int) -> None:
        """Forget a kept state."""
        ...

    def apply(self, actor: str, field: str, values: Array, worlds: Array) -> None:
        """Set a native control input [n, size] in worlds int64 [n]."""
        ...

    def step(self, h_s: float, worlds: Array) -> None:
        """Advance worlds int64 [n] by h; the others stay as they are."""
        ...

    def read(self, actor: str, field: str, worlds: Array) -> Array:
        """A recorded field of worlds int64 [n], [n, *shape]."""
        ...

    def close(self) -> None:
        """Let go of everything."""
        ...


@runtime_checkable
class ReadsLater(Protocol):
    """An engine of one world that is far away: it steps many steps, then tells of all.

    What is asked of the engine otherwise still comes in order.
    """

    def read_later(
        self, fields: Sequence[tuple[str, str]], expected: bytes, take: Take
    ) -> None:
        """Read actors' fields of the present state, and tell them some time later.

        Parameters
        ----------
        expected
            Digest of the whole state as it was recorded; empty where it was not.
        take
            Called with the values, and with whether the whole state is the recorded
            one: None where the digest doesn't tell. It must not use the engine.
        """
        ...

    def compare_later(self, data: bytes, take: Callable[[bool], None]) -> None:
        """Compare the present state with a snapshot's, and tell it some time later."""
        ...

    def finish(self) -> None:
        """Tell all that has not been told.

        Raises
        ------
        IsoscopeError
            If the engine refused something, or is gone.
        """
        ...


def doubts_of(engine: Engine) -> Sequence[str]:
    """Why an engine's scene may be another one, in what can't be told; mostly none."""
    found: Sequence[str] = getattr(engine, "doubts", ())
    return found


class EngineMaker(Protocol):
    """Makes the scene that a recording tells of."""

    def __call__(self, blueprint: Blueprint) -> Engine:
        """Make it.

        Raises
        ------
        ReplayError
            With the reason, where it can't be made again.
        """
        ...

"""Who is connected to a hub: windows, each with its bounded queue, and workers."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from isoscope.core.tap.messages import encode_packet
from isoscope.core.tap.packet import Packet

if TYPE_CHECKING:
    from isoscope.core.tap.kept import Source
    from isoscope.core.tap.merge import Merger

WINDOW_BYTES = 32 << 20  # on their way to a window; what is more is left out


@dataclass(slots=True)
class Peer:
    """Somebody who is connected.

    Attributes
    ----------
    heard_s
        When it was heard last, by the monotonic clock.
    """

    identity: bytes
    process: int
    started: int
    local: bool
    heard_s: float


@dataclass(slots=True)
class Worker(Peer):
    """A worker process: its packets wait here until they are merged."""

    merger: Merger | Source | None = None
    lanes: list[int] = field(default_factory=list)
    inbox: deque[tuple[int, Packet]] = field(default_factory=deque)
    gone: bool = False


@dataclass(slots=True)
class Window(Peer):
    """A window: what it was sent, and what it was not.

    Attributes
    ----------
    data
        Whether it wants data.
    stream
        The number of the stream that it gets.
    missed
        Records that were left out since the last packet.
    """

    data: bool = True
    stream: int = 0
    limit_bytes: int = WINDOW_BYTES
    sequence: int = 0
    missed: int = 0
    total_missed: int = 0
    gone: bool = False
    _flying: deque[tuple[int, int]] = field(default_factory=deque)
    _flying_bytes: int = 0
    _definitions: bytearray = field(default_factory=bytearray)
    _blobs: list[tuple[int, bytes]] = field(default_factory=list)

    @property
    def waits_for(self) -> int:
        """Packets that were sent and not taken yet."""
        return len(self._flying)

    def frames(self, packet: Packet, references: dict[int, bytes]) -> list[Any] | None:
        """What to send for a packet; None where the window is too slow for it.

        Definitions are never left out: they go with the next packet.

        Parameters
        ----------
        references
            Of the packet's blobs those that its definitions name.
        """
        if self._flying and self._flying_bytes + packet.size > self.limit_bytes:
            self.missed += packet.records
            self.total_missed += packet.records
            self._definitions += packet.definitions
            self._blobs += references.items()
            return None
        if self._definitions or self._blobs:
            packet = Packet(
                bytes(self._definitions) + packet.definitions,
                packet.blocks,
                [*self._blobs, *packet.blobs],
            )
            self._definitions.clear()
            self._blobs.clear()
        self.sequence += 1
        size = packet.size
        self._flying.append((self.sequence, size))
        self._flying_bytes += size
        missed, self.missed = self.missed, 0
        return encode_packet(packet, self.sequence, missed)

    def credit(self, sequence: int) -> None:
        """Note that all up to this packet was taken."""
        while self._flying and self._flying[0][0] <= sequence:
            self._flying_bytes -= self._flying.popleft()[1]

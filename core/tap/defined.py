"""What a source has defined so far: enough to make sense of all that it tells next."""

from __future__ import annotations

from isoscope.core.recording.labelled.forms import read_definitions
from isoscope.core.tap.packet import Packet


class Defined:
    """Follows a stream: keeps every definition, and the arrays that actors name.

    Attributes
    ----------
    references
        Of the last packet's blobs those that actors' definitions name.
    """

    def __init__(self) -> None:
        self.references: dict[int, bytes] = {}
        self._definitions = bytearray()
        self._blobs: dict[int, bytes] = {}
        self._recent: dict[int, bytes] = {}

    def take(self, packet: Packet) -> None:
        """Take note of what was defined."""
        self._definitions += packet.definitions
        earlier, self._recent = self._recent, dict(packet.blobs)
        self.references = {}
        for told in read_definitions(packet.definitions)[0]:
            if told.get("define") == "actor":
                for number, *_ in told["reference"].values():
                    content = self._recent.get(number, earlier.get(number))
                    if content is not None:
                        self.references[number] = content
        self._blobs |= self.references

    def packet(self) -> Packet:
        """All of it, without any row."""
        return Packet(bytes(self._definitions), [], sorted(self._blobs.items()))

"""Find the events of a file whose list of them is lost: cut, or its writer killed.

The list lies in a fractal heap, whose blocks (names and addresses) are written all over
a long file as it grows, and whose index is written last. The blocks are looked for by
their signature. Events that are in no block that is left are looked for by their
attribute ``eventType``, and numbered by where they lie: the recorder writes them one
after the other (their addresses ascend in every recording seen).

For what is found, groups are made up that libhdf5 can read, and every object is still
read by libhdf5 itself.

Source: HDF5 File Format Specification 3.0, sections III.G (fractal heap), IV.A.1.a
(version 1 object header), IV.A.2 (link info, link and group info messages).
"""

from __future__ import annotations

import mmap
import os
import struct
from collections import defaultdict
from typing import TYPE_CHECKING, NamedTuple

from isoscope.core.recording.superdex.values import number_of

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

_BLOCK = b"FHDB"
_ATTRIBUTE = b"eventType\0"
# From a header's beginning to its attribute's name, at least and at most.
_SHORTEST, _FAR = 24, 1024
_BLOCK_HEAD = 4 + 1 + 8 + 4 + 4  # signature, version, heap, offset, checksum
_MAX_EVENT = 1 << 32  # handles, which name actors, lie above
GROUP_LINKS = 512  # links in one made-up group: it is searched from its start


class Found(NamedTuple):
    """Events that were found.

    Attributes
    ----------
    events
        Addresses of object headers by event number.
    counted
        How many of them are numbered by where they lie only.
    """

    events: dict[int, int]
    counted: int


def find_events(path: str | Path) -> Found:
    """Find events among a file's bytes."""
    with open(path, "rb") as file:
        if os.fstat(file.fileno()).st_size == 0:
            return Found({}, 0)
        with mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as view:
            listed = _listed(view)
            return _numbered(listed, sorted({*listed.values(), *_headers(view)}))


def _numbered(listed: dict[int, int], addresses: list[int]) -> Found:
    """Number all addresses: the listed ones as they are, the others by their order."""
    names = {address: number for number, address in listed.items()}
    events: dict[int, int] = {}
    free = counted = 0
    for address in addresses:
        number = names.get(address)
        if number is None:
            if free in listed:  # no number is left between two listed ones
                continue
            number = free
            counted += 1
        events[number] = address
        free = number + 1
    return Found(events, counted)


def _listed(view: mmap.mmap) -> dict[int, int]:
    """Numbers and addresses in the blocks of the heap that lists most of them."""
    heaps: dict[int, dict[int, int]] = defaultdict(dict)
    size = len(view)
    place = view.find(_BLOCK)
    while place >= 0:
        if view[place + 4 : place + 5] == b"\0" and place + _BLOCK_HEAD < size:
            (heap,) = struct.unpack_from("<Q", view, place + 5)
            for number, address in _links(view, place + _BLOCK_HEAD, size):
                heaps[heap].setdefault(number, address)
        place = view.find(_BLOCK, place + len(_BLOCK))
    return max(heaps.values(), key=len, default={})


def _headers(view: mmap.mmap) -> Iterator[int]:
    """Addresses of object headers that hold an attribute ``eventType``."""
    place = view.find(_ATTRIBUTE)
    while place >= 0:
        address = _header_around(view, place)
        if address is not None:
            yield address
        place = view.find(_ATTRIBUTE, place + len(_ATTRIBUTE))


def _header_around(view: mmap.mmap, place: int) -> int | None:
    """The header whose first block has an attribute's name here, or None."""
    address = place - _SHORTEST
    while (address := view.rfind(b"\1\0", max(place - _FAR, 0), address + 2)) >= 0:
        if _holds(view, address, place):
            return address
        address -= 1
    address = view.rfind(b"OHDR", max(place - _FAR, 0), place)
    return address if address >= 0 else None


def _holds(view: mmap.mmap, address: int, place: int) -> bool:
    """Whether a header of version 1 is here, with an attribute message at `place`."""
    messages, references, size = struct.unpack_from("<HII", view, address + 2)
    stop = address + 16 + size
    if not (messages and references == 1 and place < stop <= len(view)):
        return False
    at = address + 16
    while at + 8 < place:
        kind, length = struct.unpack_from("<HH", view, at)
        if kind == 0x000C and place < at + 8 + length:
            return True
        at += 8 + length
    return False


def _links(view: mmap.mmap, place: int, size: int) -> Iterator[tuple[int, int]]:
    """The link messages that follow each other from here on."""
    while place + 11 < size and view[place] == 1:
        flags = view[place + 1]
        place += 2
        if flags & 0xE0 or (flags & 8 and view[place] != 0):
            return
        place += (1 if flags & 8 else 0) + (8 if flags & 4 else 0)
        place += 1 if flags & 16 else 0
        width = 1 << (flags & 3)
        length = int.from_bytes(view[place : place + width], "little")
        place += width
        if not 0 < length <= 20 or place + length + 8 > size:
            return
        number = number_of(view[place : place + length].decode("latin-1"))
        place += length
        (address,) = struct.unpack_from("<Q", view, place)
        place += 8
        if number is None or number >= _MAX_EVENT or address >= size:
            continue
        if view[address] == 1 or view[address : address + 4] == b"OHDR":
            yield number, address


def made_up_groups(events: dict[int, int], at: int) -> tuple[bytes, int]:
    """Object headers of groups that hold these events.

    Parameters
    ----------
    events
        Addresses by number.
    at
        The address that the first of the bytes will have.

    Returns
    -------
    content
        The headers.
    root
        Address of a group whose members ``"0"``, ``"1"``, … hold the events, by
        ascending number, `GROUP_LINKS` each.
    """
    content = bytes(-at % 8)
    groups: dict[int, int] = {}
    ordered = sorted(events.items())
    for start in range(0, len(ordered), GROUP_LINKS):
        groups[len(groups)] = at + len(content)
        content += _group(ordered[start : start + GROUP_LINKS])
    root = at + len(content)
    return content + _group(list(groups.items())), root


def _group(links: list[tuple[int, int]]) -> bytes:
    nowhere = b"\xff" * 8
    messages = [
        _message(0x0002, b"\0\0" + nowhere + nowhere),  # links are in this header
        _message(0x000A, b"\0\0"),
    ]
    for number, address in links:
        name = str(number).encode()
        body = b"\1\0" + bytes((len(name),)) + name + struct.pack("<Q", address)
        messages.append(_message(0x0006, body))
    body = b"".join(messages)
    return struct.pack("<BxHII4x", 1, len(messages), 1, len(body)) + body


def _message(kind: int, body: bytes) -> bytes:
    body += bytes(-len(body) % 8)
    return struct.pack("<HHB3x", kind, len(body), 0) + body

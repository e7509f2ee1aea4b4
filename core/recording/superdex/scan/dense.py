"""Parse a group whose links lie outside its header: fractal heap and two B-trees.

Groups of more than eight links are kept so. The links themselves are in the heap; a
version 2 B-tree orders them by the hash of their names, another by creation. Every
block carries a checksum, which is computed again for every event.
"""

from __future__ import annotations

import struct
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING

from isoscope.core.recording.superdex.scan.bounds import UNDEFINED
from isoscope.core.recording.superdex.scan.checksum import lookup3
from isoscope.core.recording.superdex.scan.messages import (
    LinkInfo,
    UnrecognisedError,
    link,
    require,
)
from isoscope.core.recording.superdex.scan.template import (
    Checksum,
    Draft,
    Link,
    Origin,
)

if TYPE_CHECKING:
    from isoscope.core.recording.superdex.scan.filebytes import FileBytes

_HEAP_HEADER = struct.Struct("<4sBHHBI12QHQQHHQHI")
_TREE_HEADER = struct.Struct("<4sBBIHHBBQHQI")
_OFFSET_BYTES = 4  # of an offset in the heap: its largest size is 2^32
_BLOCK_HEAD = 4 + 1 + 8 + _OFFSET_BYTES
_MAX_BYTES = 1 << 20
_BY_NAME, _BY_ORDER = 5, 6
_RECORD_BYTES = {_BY_NAME: 11, _BY_ORDER: 15}


def dense_links(
    source: FileBytes, drafts: list[Draft], info: LinkInfo, piece: int, base: int
) -> list[tuple[Link, int | None]]:
    """Parse the links of a dense group, adding its blocks to `drafts`.

    Parameters
    ----------
    info, piece, base
        The link info message, the piece it is in and where its body begins there.

    Returns
    -------
    Each link with its creation order.

    Raises
    ------
    UnrecognisedError
        If anything is not of the form that the recorder writes.
    OutOfBoundsError
        If it reaches beyond the file's end.
    """
    if info.heap is None or info.names is None or info.orders is None:
        raise UnrecognisedError("dense group without both indices")
    heap = _Heap(source, drafts, Origin(piece, base + info.heap))
    names = _Tree(source, drafts, Origin(piece, base + info.names), _BY_NAME)
    orders = _Tree(source, drafts, Origin(piece, base + info.orders), _BY_ORDER)
    require(len(names.records) == heap.count, "name index's size")
    require(len(orders.records) == heap.count, "creation index's size")
    order_of = {r[8:]: struct.unpack_from("<q", r)[0] for r in orders.records}
    require(len(order_of) == heap.count, "one link twice in the creation index")
    found: list[tuple[Link, int | None]] = []
    taken: list[tuple[int, int]] = []
    for record in names.records:
        identity = record[4:]
        require(identity in order_of, "indices of different links")
        start, length = struct.unpack("<IH", identity[1:])
        require(identity[0] == 0, "heap object of another kind")
        block = heap.block_of(start, length)
        at = start - block.start
        message = link(drafts[block.piece].data[at : at + length])
        require(message.length == length, "link's length")
        require(message.order == order_of[identity], "link's creation order")
        name_hash = struct.unpack_from("<I", record)[0]
        require(lookup3(message.name.encode()) == name_hash, "link's hash")
        drafts[block.piece].free.append((at + message.address, 8))
        child = Link(message.name, block.piece, at + message.address)
        found.append((child, message.order))
        taken.append((start, start + length))
    taken.sort()
    for (_, stop), (start, _) in pairwise(taken):
        require(stop <= start, "links that overlap")
    return found


def _address(drafts: list[Draft], origin: Origin) -> int:
    offset = origin.pointer
    if offset is None:
        raise UnrecognisedError("address")
    value: int = struct.unpack_from("<Q", drafts[origin.piece].data, offset)[0]
    require(value != UNDEFINED, "address")
    return value


def _fetch(
    source: FileBytes, drafts: list[Draft], origin: Origin, length: int
) -> Draft:
    require(0 < length <= _MAX_BYTES, "block's size")
    draft = Draft(origin, source.read(_address(drafts, origin), length))
    drafts.append(draft)
    return draft


@dataclass(frozen=True, slots=True)
class _HeapBlock:
    piece: int
    start: int  # in the heap's own address space
    size: int


class _Heap:
    """A fractal heap: its blocks become drafts; `count` objects are in it."""

    def __init__(self, source: FileBytes, drafts: list[Draft], origin: Origin) -> None:
        self.source, self.drafts = source, drafts
        self.blocks: list[_HeapBlock] = []
        self.header = len(drafts)
        draft = _fetch(source, drafts, origin, _HEAP_HEADER.size)
        (
            signature,
            version,
            id_length,
            filters,
            flags,
            _largest,
            _next_huge,
            huge_tree,
            _free,
            _free_space,
            _space,
            _allocated,
            _iterator,
            count,
            _huge_size,
            huge_count,
            _tiny_size,
            tiny_count,
            self.width,
            self.first_size,
            self.largest_size,
            bits,
            _first_rows,
            _root,
            rows,
            _sum,
        ) = _HEAP_HEADER.unpack(draft.data)
        require(signature == b"FRHP" and version == 0, "heap's header")
        require(id_length == 7 and filters == 0 and flags == 2, "heap's kind")
        require(huge_tree == UNDEFINED, "heap's large objects")
        require(huge_count == 0 and tiny_count == 0, "heap's objects")
        require(bits == 8 * _OFFSET_BYTES and 0 < self.width <= 64, "heap's table")
        for size in (self.first_size, self.largest_size):
            require(32 <= size <= 1 << 16 and size & (size - 1) == 0, "heap's table")
        require(self.first_size <= self.largest_size, "heap's table")
        self.count: int = count
        # The free-space manager's address and the root's may differ.
        draft.free += [(38, 8), (132, 8), (142, 4)]
        draft.checksum = Checksum(142, 142)
        root = Origin(self.header, 132)
        if rows == 0:
            self._direct(root, 0, self.first_size)
        else:
            self._indirect(root, rows)

    def _indirect(self, origin: Origin, rows: int) -> None:
        # Rows of blocks double in size from the second on; those above the largest
        # direct size would be indirect again, which no group of links needs.
        direct = self.largest_size.bit_length() - self.first_size.bit_length() + 2
        require(rows <= direct, "heap of more than one level")
        entries = rows * self.width
        length = _BLOCK_HEAD + 8 * entries + 4
        number = len(self.drafts)
        draft = _fetch(self.source, self.drafts, origin, length)
        self._check_head(draft, b"FHIB", 0)
        draft.free.append((length - 4, 4))
        draft.checksum = Checksum(length - 4, length - 4)
        start = 0
        for entry in range(entries):
            size = self.first_size << max(0, entry // self.width - 1)
            at = _BLOCK_HEAD + 8 * entry
            if struct.unpack_from("<Q", draft.data, at)[0] != UNDEFINED:
                draft.free.append((at, 8))
                self._direct(Origin(number, at), start, size)
            start += size

    def _direct(self, origin: Origin, start: int, size: int) -> None:
        piece = len(self.drafts)
        draft = _fetch(self.source, self.drafts, origin, size)
        self._check_head(draft, b"FHDB", start)
        draft.free.append((_BLOCK_HEAD, 4))
        draft.checksum = Checksum(size, _BLOCK_HEAD)
        self.blocks.append(_HeapBlock(piece, start, size))

    def _check_head(self, draft: Draft, signature: bytes, start: int) -> None:
        found, version, _, offset = struct.unpack_from("<4sBQI", draft.data)
        require(found == signature and version == 0, "heap block's header")
        require(offset == start, "heap block's offset")
        draft.free.append((5, 8))
        draft.echoes.append((5, self.header))

    def block_of(self, start: int, length: int) -> _HeapBlock:
        """The block that holds these bytes of the heap."""
        for block in self.blocks:
            if (
                block.start + _BLOCK_HEAD + 4 <= start
                and start + length <= block.start + block.size
            ):
                return block
        raise UnrecognisedError("heap object outside the heap")


class _Tree:
    """A version 2 B-tree of at most two levels: its nodes become drafts."""

    def __init__(
        self, source: FileBytes, drafts: list[Draft], origin: Origin, kind: int
    ) -> None:
        self.source, self.drafts, self.kind = source, drafts, kind
        self.record = _RECORD_BYTES[kind]
        self.records: list[bytes] = []
        number = len(drafts)
        draft = _fetch(source, drafts, origin, _TREE_HEADER.size)
        (
            signature,
            version,
            found_kind,
            self.node,
            record,
            depth,
            _split,
            _merge,
            _root,
            count,
            total,
            _sum,
        ) = _TREE_HEADER.unpack(draft.data)
        require(signature == b"BTHD" and version == 0, "index's header")
        require(found_kind == kind and record == self.record, "index's kind")
        require(depth <= 1 and 64 <= self.node <= 1 << 16, "index's depth")
        draft.free += [(16, 8), (34, 4)]
        draft.checksum = Checksum(34, 34)
        root = Origin(number, 16)
        if depth == 0:
            self._leaf(root, count)
        else:
            self._branch(root, count)
        require(len(self.records) == total, "index's count")
        keys = [r[: 4 if kind == _BY_NAME else 8][::-1] for r in self.records]
        require(keys == sorted(keys), "index's order")

    def _leaf(self, origin: Origin, count: int) -> None:
        require(count <= (self.node - 10) // self.record, "index node's count")
        used = 6 + count * self.record
        draft = self._node(origin, b"BTLF", used)
        self.records += [
            draft.data[at : at + self.record] for at in range(6, used, self.record)
        ]

    def _branch(self, origin: Origin, count: int) -> None:
        most = (self.node - 10) // self.record
        width = (most.bit_length() - 1) // 8 + 1  # bytes of a child's count
        pointer = 8 + width
        used = 6 + count * self.record + (count + 1) * pointer
        require(used + 4 <= self.node, "index node's count")
        number = len(self.drafts)
        draft = self._node(origin, b"BTIN", used)
        pointers = 6 + count * self.record
        for child in range(count + 1):
            at = pointers + child * pointer
            draft.free.append((at, 8))
            below = int.from_bytes(draft.data[at + 8 : at + pointer], "little")
            self._leaf(Origin(number, at), below)
            if child < count:
                start = 6 + child * self.record
                self.records.append(draft.data[start : start + self.record])

    def _node(self, origin: Origin, signature: bytes, used: int) -> Draft:
        draft = _fetch(self.source, self.drafts, origin, used + 4)
        require(draft.data[:5] == signature + b"\0", "index node's header")
        require(draft.data[5] == self.kind, "index node's kind")
        draft.free.append((used, 4))
        draft.checksum = Checksum(used, used)
        draft.extent = self.node
        return draft

"""Parse one object header (version 1), all its blocks, into a template."""

from __future__ import annotations

import struct
from typing import TYPE_CHECKING

from isoscope.core.recording.schema import ragged_by_nature
from isoscope.core.recording.superdex.scan import messages as m
from isoscope.core.recording.superdex.scan.dense import dense_links
from isoscope.core.recording.superdex.scan.template import (
    Attribute,
    BlockEnd,
    Draft,
    Link,
    Origin,
    Template,
    Values,
    Varying,
)

if TYPE_CHECKING:
    from isoscope.core.recording.superdex.scan.filebytes import FileBytes

_PREFIX = 16
_MAX_BLOCKS = 64
_MAX_BLOCK_BYTES = 1 << 22


def parse(source: FileBytes, address: int) -> Template:
    """Parse the group or dataset whose header is at this address.

    Raises
    ------
    UnrecognisedError
        If anything in it is not of the form that the recorder writes.
    OutOfBoundsError
        If it reaches beyond the file's end.
    """
    return _HeaderParser(source, address).template()


class _Block:
    """A header block yet to be parsed: where it is, and where its length is stored."""

    def __init__(
        self, origin: Origin, address: int, length: int, length_at: tuple[int, int, int]
    ) -> None:
        self.origin, self.address, self.length = origin, address, length
        self.length_at = length_at  # piece, offset, width


class _HeaderParser:
    def __init__(self, source: FileBytes, address: int) -> None:
        self.source = source
        self.drafts: list[Draft] = []
        self.attributes: list[Attribute] = []
        self.links: list[tuple[Link, int | None]] = []
        self.info: tuple[m.LinkInfo, int, int] | None = None
        self.layout: tuple[m.Layout, int, int] | None = None
        self.datatype: m.Datatype | None = None
        self.space: m.Dataspace | None = None
        self.kinds: set[int] = set()
        self.blocks: list[_Block] = []
        self._blocks(address)

    # -- blocks ---------------------------------------------------------------------

    def _blocks(self, address: int) -> None:
        prefix = self.source.read(address, _PREFIX)
        version, _, count, references, size = struct.unpack_from("<BBHII", prefix)
        m.require(version == 1 and references == 1, "header's version or references")
        self.blocks.append(_Block(Origin(), address, size + _PREFIX, (0, 8, 4)))
        found = 0
        number = 0
        while number < len(self.blocks):
            m.require(number < _MAX_BLOCKS, "header has too many blocks")
            found += self._block(self.blocks[number], _PREFIX if number == 0 else 0)
            number += 1
        m.require(found == count, "header's count of messages")

    def _block(self, block: _Block, skip: int) -> int:
        """Parse one block into drafts; returns how many messages it has."""
        m.require(block.length % 8 == 0, "block's length")
        m.require(skip + 8 <= block.length <= _MAX_BLOCK_BYTES, "block's length")
        data = self.source.read(block.address, block.length)
        first = len(self.drafts)
        start = 0  # of the piece being made, in the block
        draft = self._draft(block.origin)
        at, count = skip, 0
        tail: int | None = None
        while at < len(data):
            m.require(at + 8 <= len(data), "message is cut")
            kind, size, flags = struct.unpack_from("<HHB", data, at)
            end = at + 8 + size
            m.require(size % 8 == 0 and end <= len(data), "message's size")
            m.require(flags in (0, 1), "message's flags")
            body = data[at + 8 : end]
            base = at + 8 - start
            varying = self._message(kind, body, draft, base)
            if varying is not None:
                stop = at + 8 + varying.prefix
                draft.data = data[start:stop]
                draft.varying = varying
                start, draft = end, self._draft(Origin(len(self.drafts) - 1))
            elif kind == m.NIL and start > 0 and end == len(data):
                # It fills up what the varying values leave: its size varies with them.
                tail = base - 6
                draft.free.append((tail, 2))
                end = at + 8
                data = data[:end]
            at, count = end, count + 1
        if start == len(data) and start > 0:
            self.drafts.pop()  # nothing follows the last varying value
        else:
            draft.data = data[start:]
        if start > 0:
            piece, offset, width = block.length_at
            self.drafts[piece].free.append((offset, width))
            self.drafts[-1].end = BlockEnd(first, skip, piece, offset, width, tail)
        return count

    def _draft(self, origin: Origin) -> Draft:
        draft = Draft(origin, b"")
        self.drafts.append(draft)
        return draft

    # -- messages -------------------------------------------------------------------

    def _message(
        self, kind: int, body: bytes, draft: Draft, base: int
    ) -> Varying | None:
        """Take one message, whose body is at `base` of the piece being made."""
        piece = len(self.drafts) - 1
        if kind == m.NIL:
            draft.free.append((base, len(body)))
            return None
        if kind == m.ATTRIBUTE:
            return self._attribute(body, draft, base)
        if kind == m.LINK:
            link = m.link(body)
            draft.free.append((base + link.address, 8))
            self.links.append((Link(link.name, piece, base + link.address), link.order))
            self.kinds.add(kind)
            return None
        if kind == m.CONTINUATION:
            m.require(len(body) == 16, "continuation's size")
            address, length = struct.unpack("<QQ", body)
            draft.free.append((base, 8))
            self.blocks.append(
                _Block(Origin(piece, base), address, length, (piece, base + 8, 8))
            )
            return None
        m.require(kind not in self.kinds, "message that occurs twice")
        self.kinds.add(kind)
        if kind == m.LINK_INFO:
            info = m.link_info(body)
            for offset in (info.heap, info.names, info.orders):
                if offset is not None:
                    draft.free.append((base + offset, 8))
            self.info = (info, piece, base)
        elif kind == m.DATATYPE:
            self.datatype = m.datatype(body)
        elif kind == m.DATASPACE:
            self.space = m.dataspace(body)
        elif kind == m.LAYOUT:
            layout = m.layout(body)
            if layout.address is not None:
                draft.free.append((base + layout.address, 8))
            elif layout.inline is not None:
                draft.free.append((base + layout.inline, layout.size))
            self.layout = (layout, piece, base)
        else:
            m.check_plain(kind, body)
            if kind == m.MODIFIED:
                draft.free.append((base + 4, 4))
        return None

    def _attribute(self, body: bytes, draft: Draft, base: int) -> Varying | None:
        piece = len(self.drafts) - 1
        message = m.attribute(body)
        space, kind = message.space, message.datatype
        if message.exact and len(space.shape) == 1 and ragged_by_nature(message.name):
            dimension = base + message.space_at + space.dims
            draft.free += [(base - 6, 2), (dimension, 8)]
            maximum = None
            if space.maximum is not None:
                maximum = base + message.space_at + space.maximum
                draft.free.append((maximum, 8))
            self.attributes.append(
                Attribute(message.name, kind.dtype, None, piece, 0, kind.ends_at_nul)
            )
            size = kind.dtype.itemsize
            return Varying(size, message.value, base - 6, dimension, maximum)
        draft.free.append((base + message.value, message.nbytes))
        self.attributes.append(
            Attribute(
                message.name,
                kind.dtype,
                space.shape,
                piece,
                base + message.value,
                kind.ends_at_nul,
            )
        )
        return None

    # -- the whole ------------------------------------------------------------------

    def template(self) -> Template:
        """What was parsed, as a group's or a dataset's template."""
        attributes = tuple(sorted(self.attributes, key=lambda a: a.name))
        m.require(
            len({a.name for a in attributes}) == len(attributes), "attribute twice"
        )
        m.require(
            all(a.shape is not None or not a.ends_at_nul for a in attributes),
            "strings of varying count",
        )
        values = None
        links: tuple[Link, ...] = ()
        if self.layout is not None:
            values = self._values()
        else:
            links = self._links()
        pieces = tuple(draft.piece() for draft in self.drafts)
        return Template(pieces, attributes, links, values)

    def _values(self) -> Values:
        group = {m.LINK, m.LINK_INFO, m.GROUP_INFO}
        m.require(self.kinds.isdisjoint(group), "both a group and a dataset")
        if self.layout is None or self.datatype is None or self.space is None:
            raise m.UnrecognisedError("dataset lacks a message")
        layout, piece, base = self.layout
        dtype = self.datatype.dtype
        nbytes = dtype.itemsize * self.space.count
        m.require(layout.size == nbytes, "dataset's size")
        m.require(not self.datatype.ends_at_nul, "dataset of strings")
        inline = layout.address is None
        offset = layout.inline if layout.address is None else layout.address
        if offset is None:
            raise m.UnrecognisedError("dataset's layout")
        return Values(
            dtype,
            self.space.shape,
            nbytes,
            piece,
            base + offset,
            inline,
        )

    def _links(self) -> tuple[Link, ...]:
        dataset = {m.DATASPACE, m.DATATYPE, m.FILL, m.LAYOUT}
        m.require(self.kinds.isdisjoint(dataset), "both a group and a dataset")
        if self.info is None:
            raise m.UnrecognisedError("group without link info")
        info, piece, base = self.info
        if info.heap is not None:
            m.require(not self.links, "links both in the header and outside")
            self.links = dense_links(self.source, self.drafts, info, piece, base)
        names = [link.name for link, _ in self.links]
        m.require(len(set(names)) == len(names), "two links of one name")
        if info.tracked:
            by_order = {order: link for link, order in self.links if order is not None}
            m.require(len(by_order) == len(self.links), "links' creation order")
            return tuple(by_order[order] for order in sorted(by_order))
        return tuple(sorted((link for link, _ in self.links), key=lambda k: k.name))

"""Snapshots as bytes: written, and refused unless they are whole and from here.

The form, little endian: 8 bytes magic, u32 version of the form, u32 length of the
header, u64 length of the state; the header, JSON; the state, as it lies in the block;
32 bytes SHA-256 of everything before. The first 24 bytes so tell how long the whole
must be, and whether bytes are missing, too many or damaged.
"""

from __future__ import annotations

import hashlib
import struct
from typing import TYPE_CHECKING

import msgspec
import numpy as np
import torch

from isoscope.core.errors import one_line
from isoscope.gpu.device import precision_name
from isoscope.gpu.scene.errors import SnapshotError

if TYPE_CHECKING:
    from isoscope.gpu.model.tree import Tree
    from isoscope.gpu.scene.state import Layout

    Bytes = np.ndarray[tuple[int], np.dtype[np.uint8]]

MAGIC = b"ISOSTATE"
VERSION = 1
MAX_HEADER_BYTES = 1 << 16
_PREFIX = struct.Struct("<8sIIQ")
_DIGEST_BYTES = 32


class Header(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What a state belongs to; it goes only where all of this is equal.

    Attributes
    ----------
    engine
        Engine, its version and build.
    topology
        Hexadecimal SHA-256 of actors, links, joints and drives.
    worlds
        W.
    state_bytes
        Length of the state.
    """

    engine: str
    precision: str
    topology: str
    worlds: int
    state_bytes: int


def topology_hash(tree: Tree) -> str:
    """Hexadecimal SHA-256 of what a state's numbers stand for.

    That is actors, links, joints with axes and placements, and drives, in order;
    neither masses and other persistent values nor shapes.
    """
    told = {
        "actors": [actor.name for actor in tree.actors],
        "links": [
            [
                link.name,
                link.actor,
                link.parent,
                link.joint,
                link.joint_name,
                link.axis,
                link.position,
                link.rotation,
            ]
            for link in tree.links
        ],
        "drives": [
            [drive.drive.name, drive.drive.type, drive.velocity_index]
            for drive in tree.drives
        ],
    }
    return hashlib.sha256(msgspec.json.encode(told)).hexdigest()


def header_of(tree: Tree, layout: Layout, real: torch.dtype, engine: str) -> Header:
    """The header of a scene's states."""
    return Header(
        engine=engine,
        precision=precision_name(real),
        topology=topology_hash(tree),
        worlds=layout.worlds,
        state_bytes=layout.total_bytes,
    )


def encode(header: Header, state: bytes) -> bytes:
    """Write a state, `header.state_bytes` long."""
    text = msgspec.json.encode(header)
    prefix = _PREFIX.pack(MAGIC, VERSION, len(text), len(state))
    body = b"".join((prefix, text, state))
    return body + hashlib.sha256(body).digest()


def decode(data: bytes, expected: Header, layout: Layout, scene: str) -> Bytes:
    """Read a state back, if it is whole and belongs here.

    Parameters
    ----------
    data
        Exactly one snapshot: bytes, bytearray or memoryview.
    expected
        The header of the scene's own states.

    Returns
    -------
    ndarray
        uint8 [total_bytes], shared with nobody; zero between the arrays.

    Raises
    ------
    SnapshotError
        With what is wrong: no snapshot, cut, over-long, damaged, or from another
        engine, precision, topology or number of worlds.
    """
    try:
        whole = bytes(memoryview(data).cast("B"))
    except (TypeError, ValueError) as error:
        raise _refusal(scene, f"{type(data).__name__} are no bytes") from error
    header, state = _opened(whole, scene)
    _compare(header, expected, scene)
    clean = np.zeros_like(state)
    for section in layout.sections:
        inside = state[section.start : section.end]
        if section.dtype is torch.bool and bool((inside > 1).any()):
            raise _refusal(scene, "it has a truth value that is neither 0 nor 1")
        clean[section.start : section.end] = inside
    return clean


def _opened(whole: bytes, scene: str) -> tuple[Header, Bytes]:
    """Take the form apart: the header and the state."""
    if whole[: len(MAGIC)] != MAGIC[: len(whole)] or not whole:
        raise _refusal(scene, "this is no snapshot of Isoscope's")
    if len(whole) < _PREFIX.size:
        raise _refusal(scene, f"it is cut after {len(whole)} bytes, in its first line")
    _, version, header_bytes, state_bytes = _PREFIX.unpack_from(whole)
    if version != VERSION:
        raise _refusal(
            scene, f"its form is version {version}, and this reads version {VERSION}"
        )
    if header_bytes > MAX_HEADER_BYTES:
        raise _refusal(scene, "it is damaged: its header would be too long")
    length = _PREFIX.size + header_bytes + state_bytes + _DIGEST_BYTES
    if len(whole) < length:
        raise _refusal(scene, f"it is cut: {len(whole)} of {length} bytes are here")
    if len(whole) > length:
        raise _refusal(
            scene, f"{len(whole) - length} bytes follow its end; pass exactly one"
        )
    if hashlib.sha256(whole[:-_DIGEST_BYTES]).digest() != whole[-_DIGEST_BYTES:]:
        raise _refusal(scene, "it is damaged: its checksum does not fit")
    state_start = _PREFIX.size + header_bytes
    try:
        header = msgspec.json.decode(whole[_PREFIX.size : state_start], type=Header)
    except (msgspec.ValidationError, msgspec.DecodeError) as error:
        raise _refusal(scene, f"its header can't be read: {one_line(error)}") from error
    if header.state_bytes != state_bytes:
        raise _refusal(scene, "its header gives another length than its first line")
    state = np.frombuffer(whole, np.uint8, state_bytes, state_start)
    return header, state


def _compare(found: Header, expected: Header, scene: str) -> None:
    for what, theirs, ours in (
        ("engine or build", found.engine, expected.engine),
        ("precision", found.precision, expected.precision),
        ("topology", found.topology[:12], expected.topology[:12]),
        ("number of worlds", found.worlds, expected.worlds),
        ("length of state", found.state_bytes, expected.state_bytes),
    ):
        if theirs != ours:
            raise _refusal(scene, f"it is of another {what}: {theirs}, here {ours}")
    if found != expected:
        raise _refusal(scene, "it is of another topology")


def _refusal(scene: str, problem: str) -> SnapshotError:
    return SnapshotError(
        f"reading a snapshot into scene {scene}: {problem}; nothing was changed"
    )

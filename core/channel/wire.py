"""Items as bytes, for another process; without pickle.

Only what is listed here can be sent: plain values, lists, tuples, dicts, tensors, NumPy
arrays, the records of `isoscope.core.trajectory`, and classes of one's own that were
allowed on both sides. Nothing in the bytes can name anything else to be made.

Layout, little-endian::

    8 bytes   length of the tree
    tree      MessagePack: plain values as they are, all else a list whose first
              element says what it is
    ...       zeros up to a multiple of 64
    arrays    one after the other, each at a multiple of 64 from the first
"""

from __future__ import annotations

from dataclasses import dataclass, field
from math import prod
from typing import TYPE_CHECKING, Any

import msgspec
import numpy as np
import torch

from isoscope.core.channel.errors import ChannelTypeError, WireError
from isoscope.core.channel.wire_classes import class_of, taken_apart
from isoscope.core.errors import one_line
from isoscope.core.trajectory.keys import TrajectoryKey, TrajectorySource

if TYPE_CHECKING:
    from collections.abc import Sequence

ALIGN = 64
LENGTH = 8
DEEPEST = 64  # levels of lists and dicts inside one another
_DTYPES = {
    str(dtype).removeprefix("torch."): dtype
    for dtype in (
        *(torch.bool, torch.uint8, torch.int8, torch.int16, torch.int32, torch.int64),
        *(torch.float16, torch.bfloat16, torch.float32, torch.float64),
        *(torch.complex64, torch.complex128),
    )
}
_ARRAY_KINDS = "biufcSU"
# What constructors and reshaping raise for values that don't fit them.
_MALFORMED = (TypeError, ValueError, RuntimeError, OverflowError)
_PLAIN = (bool, float, str, bytes, type(None))
_encoder = msgspec.msgpack.Encoder()
_decoder = msgspec.msgpack.Decoder()


# -- writing ---------------------------------------------------------------------------


@dataclass(slots=True)
class _Writer:
    arrays: list[np.ndarray[Any, Any]] = field(default_factory=list)
    size: int = 0  # of the arrays so far

    def tree(self, value: Any, depth: int = 0) -> Any:
        if isinstance(value, _PLAIN):
            return value
        if isinstance(value, int):
            return value if -(2**63) <= value < 2**63 else ["i", str(value)]
        if depth == DEEPEST:
            raise ChannelTypeError(
                f"sending an item: it is nested more than {DEEPEST} levels deep"
            )
        if isinstance(value, torch.Tensor):
            return self._tensor(value)
        if isinstance(value, (np.ndarray, np.generic)):
            return self._array(value)
        if isinstance(value, dict):
            tagged: list[Any] = ["d"]
            for name, item in value.items():
                tagged.append(self.tree(name, depth + 1))
                tagged.append(self.tree(item, depth + 1))
            return tagged
        if isinstance(value, TrajectoryKey):
            return ["k", *_numbers(value)]
        if isinstance(value, TrajectorySource):
            return ["s", value.size, value.offset, *_numbers(value.key)]
        if type(value) in (list, tuple):
            tag = "l" if isinstance(value, list) else "u"
            return [tag, *(self.tree(item, depth + 1) for item in value)]
        return self._record(value, depth)

    def _record(self, value: Any, depth: int) -> list[Any]:
        cls = type(value)
        if class_of(cls.__name__) is not cls:
            raise ChannelTypeError(
                f"sending an item: a {cls.__name__} can't be sent to another process; "
                "send tensors, arrays, plain values, lists, dicts and trajectory "
                "records, or allow the class (isoscope.core.channel.wire_classes.allow)"
            )
        tagged: list[Any] = ["r", cls.__name__]
        for name, item in taken_apart(value).items():
            if item is not None:
                tagged += [name, self.tree(item, depth + 1)]
        return tagged

    def _tensor(self, value: torch.Tensor) -> list[Any]:
        name = str(value.dtype).removeprefix("torch.")
        if name not in _DTYPES or value.layout is not torch.strided:
            raise ChannelTypeError(
                f"sending an item: a tensor of {name} ({value.layout}) can't be sent"
            )
        flat = value.detach().cpu().contiguous().reshape(-1).view(torch.uint8)
        return ["t", name, list(value.shape), self._keep(flat.numpy())]

    def _array(self, value: np.ndarray[Any, Any] | np.generic) -> list[Any]:
        scalar = isinstance(value, np.generic)
        array = np.ascontiguousarray(value)
        if array.dtype.kind not in _ARRAY_KINDS or array.dtype.itemsize == 0:
            raise ChannelTypeError(
                f"sending an item: an array of {array.dtype} can't be sent; "
                "make it a list or an array of numbers"
            )
        at = self._keep(array.reshape(-1).view(np.uint8))
        return ["g" if scalar else "a", array.dtype.str, list(np.shape(value)), at]

    def _keep(self, array: np.ndarray[Any, Any]) -> int:
        at = self.size
        self.arrays.append(array)
        self.size += -(-array.nbytes // ALIGN) * ALIGN
        return at


def encode(item: Any) -> np.ndarray[Any, np.dtype[np.uint8]]:
    """Write an item as bytes.

    Returns
    -------
    ndarray
        uint8, to be sent as it is.

    Raises
    ------
    ChannelTypeError
        If there is something in it that can't be sent.
    """
    writer = _Writer()
    tree = _encoder.encode(writer.tree(item))
    first = -(-(LENGTH + len(tree)) // ALIGN) * ALIGN
    packet = np.zeros(first + writer.size, dtype=np.uint8)
    packet[:LENGTH] = np.frombuffer(len(tree).to_bytes(LENGTH, "little"), np.uint8)
    packet[LENGTH : LENGTH + len(tree)] = np.frombuffer(tree, np.uint8)
    at = first
    for array in writer.arrays:
        packet[at : at + array.nbytes] = array
        at += -(-array.nbytes // ALIGN) * ALIGN
    return packet


# -- reading ---------------------------------------------------------------------------


@dataclass(slots=True)
class _Reader:
    buffer: bytearray
    first: int

    def value(self, node: Any) -> Any:
        if not isinstance(node, list):
            if isinstance(node, (int, *_PLAIN)):
                return node
            raise WireError(f"reading an item: {type(node).__name__} is not expected")
        match node:
            case ["l", *items]:
                return [self.value(item) for item in items]
            case ["u", *items]:
                return tuple(self.value(item) for item in items)
            case ["d", *items]:
                values = [self.value(item) for item in items]
                return dict(zip(values[::2], values[1::2], strict=True))
            case ["t", str(name), list(shape), int(at)]:
                return self._tensor(name, _shape(shape), at)
            case ["a", str(name), list(shape), int(at)]:
                return self._array(name, _shape(shape), at)
            case ["g", str(name), list(shape), int(at)]:
                return self._array(name, _shape(shape), at)[()]
            case ["k", *numbers]:
                return _key(numbers)
            case ["s", int(size), int(offset), *numbers]:
                return TrajectorySource(_key(numbers), size, offset)
            case ["r", str(name), *items]:
                return self._record(name, items)
            case ["i", str(digits)]:
                return int(digits)
        raise WireError("reading an item: something in it is not known")

    def _record(self, name: str, items: list[Any]) -> Any:
        cls = class_of(name)
        if cls is None:
            raise WireError(
                f"reading an item: {one_line(name)[:60]!r} may not be sent; "
                "allow it here too (isoscope.core.channel.wire_classes.allow)"
            )
        names = items[::2]
        if not all(isinstance(key, str) for key in names):
            raise WireError("reading an item: a record's names are not text")
        values = [self.value(item) for item in items[1::2]]
        return cls(**dict(zip(names, values, strict=True)))

    def _tensor(self, name: str, shape: list[int], at: int) -> torch.Tensor:
        dtype = _DTYPES.get(name)
        if dtype is None:
            raise WireError("reading an item: a tensor's dtype is not known")
        count = prod(shape)
        begin = self._checked(at, count * dtype.itemsize)
        if not count:
            return torch.empty(shape, dtype=dtype)
        return torch.frombuffer(
            self.buffer, dtype=dtype, count=count, offset=begin
        ).reshape(shape)

    def _array(self, name: str, shape: list[int], at: int) -> np.ndarray[Any, Any]:
        dtype = np.dtype(name)
        if dtype.kind not in _ARRAY_KINDS or dtype.itemsize == 0:
            raise WireError("reading an item: an array's dtype is not expected")
        count = prod(shape)
        begin = self._checked(at, count * dtype.itemsize)
        flat = np.frombuffer(self.buffer, dtype, count, begin)
        return flat.reshape(shape)

    def _checked(self, at: int, size: int) -> int:
        begin = self.first + at
        if at < 0 or at % ALIGN or begin + size > len(self.buffer):
            raise WireError("reading an item: it is shorter than it says")
        return begin


def decode(packet: bytes | bytearray | memoryview | np.ndarray[Any, Any]) -> Any:
    """Read back what `encode` wrote. The bytes are copied once.

    Raises
    ------
    WireError
        If these are not the bytes of an item.
    """
    buffer = bytearray(packet)
    size = int.from_bytes(buffer[:LENGTH], "little")
    if size > len(buffer) - LENGTH:
        raise WireError("reading an item: it is shorter than it says")
    first = -(-(LENGTH + size) // ALIGN) * ALIGN
    try:
        tree = _decoder.decode(memoryview(buffer)[LENGTH : LENGTH + size])
        return _Reader(buffer, first).value(tree)
    except WireError:
        raise
    except (msgspec.DecodeError, *_MALFORMED) as error:
        raise WireError(f"reading an item: {one_line(error)[:200]}") from None


def _numbers(key: TrajectoryKey) -> list[int]:
    return [key.step_id, key.epoch_id, key.env_rank, key.stage_id, key.chunk_id]


def _key(numbers: Sequence[Any]) -> TrajectoryKey:
    if len(numbers) != 5 or not all(type(number) is int for number in numbers):
        raise WireError("reading an item: a key is five numbers")
    return TrajectoryKey(*numbers)


def _shape(shape: list[Any]) -> list[int]:
    if not all(type(size) is int and size >= 0 for size in shape):
        raise WireError("reading an item: a shape is not made of sizes")
    return shape

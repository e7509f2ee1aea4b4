"""Digests of random generators' states, read without drawing and without making any.

Gymnasium makes a generator when it is first asked for: so only attributes that are
there already are looked at.
"""

from __future__ import annotations

import ctypes
import hashlib
from typing import TYPE_CHECKING, Any

import numpy as np

from isoscope.core.recording.labelled.records import DIGEST_BYTES

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

PLAIN = ("PCG64", "PCG64DXSM")  # whose states are numbers, without arrays


class Generators:
    """The generators of one environment and of its action space."""

    __slots__ = ("_action", "_env")

    def __init__(self) -> None:
        self._env = Watched()
        self._action = Watched()

    def digests(self, env: Any, action_space: Any) -> tuple[bytes, bytes]:
        """Of the innermost environment's generator and its action space's; b"" none."""
        return self._env.digest(env), self._action.digest(action_space)


class Watched:
    """A generator's last state and its digest; both are new only where it has moved."""

    __slots__ = ("_digest", "_generator", "_memory", "_seen")

    def __init__(self) -> None:
        self._generator: Any = None
        self._memory: Any = None
        self._seen = b""
        self._digest = b""

    def digest(self, owner: Any) -> bytes:
        """BLAKE2b of the state of the owner's generator; b"" if it has none yet."""
        generator = getattr(owner, "__dict__", _NOTHING).get("_np_random")
        if generator is None:
            return b""
        if generator is not self._generator:
            self._generator = generator
            self._memory = memory_of(getattr(generator, "bit_generator", None))
            self._seen = b""
        memory = self._memory
        if memory is not None:
            seen = memory.raw
            if seen == self._seen:
                return self._digest
            self._seen = seen
        state = state_of(owner)
        if state is None:
            return b""
        plain = state["bit_generator"] in PLAIN
        text = repr(state).encode() if plain else _flat(state)
        self._digest = hashlib.blake2b(text, digest_size=DIGEST_BYTES).digest()
        return self._digest


class Several:
    """Generators of one owner, and the digest that is told of them all."""

    __slots__ = ("_digest", "_memories", "_seen", "_whose")

    def __init__(self) -> None:
        self._whose: Any = None
        self._memories: list[Any] = []
        self._seen: list[bytes] = []
        self._digest = b""

    def digest(
        self, seed: Any, generators: Sequence[Any], told: Callable[[], bytes]
    ) -> bytes:
        """The digest: the last one where none of them has moved.

        Parameters
        ----------
        seed
            Goes with them.
        told
            What it is of; only called where one has moved, or it can't be seen.
        """
        whose = seed, *generators
        if whose != self._whose:
            self._whose, self._seen = whose, []
            self._memories = [memory_of(g.bit_generator) for g in generators]
        elif None not in self._memories:
            seen = [memory.raw for memory in self._memories]
            if seen == self._seen:
                return self._digest
            self._seen = seen
        self._digest = hashlib.blake2b(told(), digest_size=DIGEST_BYTES).digest()
        return self._digest


def state_of(owner: Any) -> Any:
    """The state of an owner's generator, as NumPy gives it; None if it has none yet."""
    generator = getattr(owner, "__dict__", _NOTHING).get("_np_random")
    bits = getattr(generator, "bit_generator", None)
    return None if bits is None else bits.state


def memory_of(bits: Any) -> Any:
    """Where a PCG generator keeps its numbers, to see at a glance whether it moved.

    Asking NumPy for the state makes dicts and long numbers each time, which costs more
    than most that is read in a step. The object itself holds what `state_address` leads
    to: a pointer to two numbers of 128 bits in it, and two of 32 bits. None where that
    is not just what is found there.

    Returns
    -------
    ctypes array
        Its ``raw`` is the object's memory that has all of them: as long as it lives.
    """
    kind = type(bits)
    if kind.__name__ not in PLAIN or not kind.__module__.startswith("numpy.random"):
        return None
    try:
        begin, end = id(bits), id(bits) + kind.__basicsize__
        address = int(bits.ctypes.state_address)
        if not begin <= address <= end - _HEAD:
            return None
        there = ctypes.c_void_p.from_address(address).value or 0
        if not begin <= there <= end - _NUMBERS:
            return None
        first = min(address, there)
        size = max(address + _HEAD, there + _NUMBERS) - first
        memory = (ctypes.c_char * size).from_address(first)
        told, raw = bits.state, memory.raw
        head = raw[address - first + _POINTER :][: _HEAD - _POINTER]
        numbers = raw[there - first :][:_NUMBERS]
        found = tuple(int.from_bytes(numbers[k : k + 16], "little") for k in (0, 16))
        rest = tuple(int.from_bytes(head[k : k + 4], "little") for k in (0, 4))
    except (AttributeError, TypeError, ValueError, ImportError):
        return None
    inner = told["state"]["state"], told["state"]["inc"]
    if found != inner or rest != (told["has_uint32"], told["uinteger"]):
        return None
    return memory


def _flat(state: Any) -> bytes:
    if isinstance(state, dict):
        return b"".join(_flat(key) + _flat(value) for key, value in state.items())
    return state.tobytes() if isinstance(state, np.ndarray) else repr(state).encode()


_NOTHING: dict[str, Any] = {}
_POINTER = ctypes.sizeof(ctypes.c_void_p)
_HEAD, _NUMBERS = _POINTER + 8, 32

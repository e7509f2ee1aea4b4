"""Errors of the trajectory core: one line each, and of the contract's type too.

The trajectory contract names a built-in type for every condition (``ValueError`` for a
duplicate, ``TypeError`` for what can't be split, and so on). Each class here is both
that type and an :class:`~isoscope.core.errors.IsoscopeError`.
"""

from __future__ import annotations

from isoscope.core.errors import IsoscopeError


class TrajectoryError(IsoscopeError):
    """Anything refused on the way from chunks to training batches."""

    def __str__(self) -> str:
        # KeyError would show the repr of its message.
        return str(self.args[0]) if self.args else ""


class TrajectoryValueError(TrajectoryError, ValueError):
    """A value, size or shape that doesn't fit."""


class TrajectoryTypeError(TrajectoryError, TypeError):
    """A kind of value that can't be handled."""


class TrajectoryKeyError(TrajectoryError, KeyError):
    """Something named that is not there."""


class TrajectoryAssertionError(TrajectoryError, AssertionError):
    """Two things that must agree and don't."""


class TrajectoryRuntimeError(TrajectoryError, RuntimeError):
    """Something asked for at the wrong time."""


class TrajectoryNotImplementedError(TrajectoryError, NotImplementedError):
    """Something that is not supported, by name."""


class TrajectoryIndexError(TrajectoryError, IndexError):
    """Rows that are not there."""


class TrajectoryOverflowError(TrajectoryValueError, OverflowError):
    """A number that the recorded type can't hold."""


def at(place: object, problem: TrajectoryError) -> TrajectoryError:
    """Give the same error, naming what was being handled: a key, a scope."""
    return type(problem)(f"{place}: {problem}")

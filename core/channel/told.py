"""An error as plain values, so that it can be raised in another process.

Of our own classes and Python's, the same one is raised there; of any other, its nearest
kind among these.
"""

from __future__ import annotations

import builtins
from importlib import import_module
from typing import Any

from isoscope.core.channel.errors import ChannelError
from isoscope.core.errors import IsoscopeError, one_line

_OURS = tuple(
    f"isoscope.core.{where}errors"
    for where in ("", "channel.", "trajectory.", "collection.")
)
_PYTHONS = (
    *("ValueError", "TypeError", "KeyError", "IndexError", "AttributeError"),
    *("AssertionError", "RuntimeError", "NotImplementedError", "MemoryError"),
    *("OverflowError", "ZeroDivisionError", "TimeoutError"),
)


def told(error: BaseException) -> tuple[str, str, str]:
    """Give the module and name of the nearest known class, and the text."""
    text = one_line(error) or type(error).__name__
    for cls in type(error).__mro__:
        if cls.__module__ in _OURS and issubclass(cls, IsoscopeError):
            return cls.__module__, cls.__name__, text
        if cls.__module__ == "builtins" and cls.__name__ in _PYTHONS:
            return cls.__module__, cls.__name__, text
    return ChannelError.__module__, ChannelError.__name__, text


def raised(report: Any) -> Exception:
    """Make the error that was told."""
    match report:
        case (str(module), str(name), str(text)) if module in _OURS:
            cls = getattr(import_module(module), name, None)
            if isinstance(cls, type) and issubclass(cls, IsoscopeError):
                error = cls.__new__(cls)  # their constructors want other arguments
                error.args = (text,)
                return error
        case ("builtins", str(name), str(text)) if name in _PYTHONS:
            found: Exception = getattr(builtins, name)(text)
            return found
    return ChannelError("the other process told of an error that can't be read")

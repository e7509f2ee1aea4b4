"""Errors of the channels: one line each, and of the contract's type too."""

from __future__ import annotations

from isoscope.core.errors import IsoscopeError


class ChannelError(IsoscopeError):
    """Anything that goes wrong between producers and consumers."""


class ChannelValueError(ChannelError, ValueError):
    """A name that nobody knows, or a setting that doesn't fit."""


class ChannelTypeError(ChannelError, TypeError):
    """A hook of the wrong kind, or an item that can't be sent."""


class ChannelTimeoutError(ChannelError, TimeoutError):
    """Nothing happened within the time that was allowed."""


class ChannelFullError(ChannelTimeoutError):
    """The consumers did not make room in time; nothing of the item was taken."""


class ChannelEmptyError(ChannelTimeoutError):
    """Nothing came in time."""


class ChannelClosedError(ChannelError):
    """The channel is closed, or every producer has ended: nothing more will come."""


class WireError(ChannelError, ValueError):
    """Bytes from another process that are not what a producer sends."""

"""Which classes may be sent to another process, and what is sent of them."""

from __future__ import annotations

from dataclasses import fields, is_dataclass
from importlib import import_module
from typing import Any, cast

from isoscope.core.channel.errors import ChannelTypeError, ChannelValueError

_TRAJECTORY = "isoscope.core.trajectory"
_RECORDS: dict[str, str | type] = {
    "PolicyInput": f"{_TRAJECTORY}.policy_input",
    "PolicyOutput": f"{_TRAJECTORY}.policy",
    "PolicyPart": f"{_TRAJECTORY}.policy",
    "EnvTransition": f"{_TRAJECTORY}.env",
    "EnvPart": f"{_TRAJECTORY}.env",
    "Trajectory": f"{_TRAJECTORY}.trajectory",
}


def allow(cls: type) -> type:
    """Let objects of a dataclass be sent; a decorator, needed on both sides.

    Its fields are sent by name and given to its constructor again.

    Raises
    ------
    ChannelTypeError
        If it is no dataclass.
    ChannelValueError
        If another class of this name can be sent already.
    """
    if not is_dataclass(cls):
        raise ChannelTypeError(
            f"allowing {cls.__name__} to be sent: it is no dataclass"
        )
    known = _RECORDS.get(cls.__name__)
    if known not in (None, cls):
        raise ChannelValueError(
            f"allowing {cls.__name__} to be sent: there is another class of this name"
        )
    _RECORDS[cls.__name__] = cls
    return cls


def class_of(name: str) -> type | None:
    """Give the class of this name, if it may be sent."""
    found = _RECORDS.get(name)
    if isinstance(found, str):
        found = cast("type", getattr(import_module(found), name))
        _RECORDS[name] = found
    return found


def taken_apart(value: Any) -> dict[str, Any]:
    """Give a record's values by name: of its fields, and of those declared since."""
    names = [item.name for item in fields(value) if item.init]
    names += [name for name in getattr(value, "__dict__", ()) if name[:1] != "_"]
    return {name: getattr(value, name) for name in dict.fromkeys(names)}

"""A tap around a method of one instance, which stays the object that it was.

The environment is not put into another one: its type, its attributes and whoever else
holds it stay as they were. Copies of it, and what is pickled, go without the tap.
"""

from __future__ import annotations

import types
import weakref
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable


class Hook:
    """Stands in the instance's place of a method.

    Parameters
    ----------
    owner
        The instance. It is not kept alive: what it does when nobody needs it any more
        happens when it would have.
    name
        Of the method.
    around
        Called with the instance, the original (which takes the method's arguments), and
        then the method's arguments. Returns what the caller gets.
    """

    __slots__ = ("_around", "_bound", "_function", "_name", "_owner")

    def __init__(self, owner: Any, name: str, around: Callable[..., Any]) -> None:
        self._owner = weakref.ref(owner)
        self._name = name
        self._around = around
        # Somebody else's, put there before: that is to be called then.
        self._bound = vars(owner).get(name)
        self._function = getattr(type(owner), name)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Call the tap, which calls the method."""
        owner, bound = self._owner(), self._bound
        if bound is None:  # as `original`, without another call
            bound = types.MethodType(self._function, owner)
        return self._around(owner, bound, *args, **kwargs)

    def original(self) -> Callable[..., Any]:
        """The method without the tap."""
        if self._bound is not None:
            bound: Callable[..., Any] = self._bound
            return bound
        return types.MethodType(self._function, self._owner())

    def __reduce__(self) -> tuple[Any, ...]:
        # Of a copy this is the copy's own method.
        if self._bound is not None:
            return (_same, (self._bound,))
        return (_method, (self._function, self._owner()))


def hook(owner: Any, name: str, around: Callable[..., Any]) -> Hook:
    """Put a tap around a method of an instance; returns what `unhook` takes."""
    made = Hook(owner, name, around)
    setattr(owner, name, made)
    return made


def is_hooked(owner: Any, name: str) -> bool:
    """Whether a tap is around a method of this very instance."""
    return isinstance(getattr(owner, "__dict__", {}).get(name), Hook)


def unhook(owner: Any, name: str, made: Hook) -> None:
    """Take a tap off, unless somebody put something around it meanwhile."""
    if vars(owner).get(name) is not made:
        return
    if made._bound is not None:
        setattr(owner, name, made._bound)
    else:
        delattr(owner, name)


def _method(function: Any, owner: Any) -> Any:
    return types.MethodType(function, owner)


def _same(value: Any) -> Any:
    return value

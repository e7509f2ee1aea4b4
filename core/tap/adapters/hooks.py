"""A tap around a method of one instance, which stays the object that it was.

The environment is not put into another one: its type, its attributes and whoever else
holds it stay as they were. Copies of it, and what is pickled, go without the tap.
"""

from __future__ import annotations

import functools
import types
import weakref
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable


GONE = (
    "the tapped environment is gone: keep it in a variable as long as its methods are "
    "called, as in env = tap.attach(env)"
)


class Hook(functools.partial[Any]):
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
    bare
        Then `around` is called with a weak reference to the instance, and with the
        original as its class has it (which takes the instance, too): for methods that
        are called so often that these calls count.
    """

    _name: str
    _bound: Any
    _function: Any
    _owner: weakref.ref[Any]

    def __new__(
        cls, owner: Any, name: str, around: Callable[..., Any], *, bare: bool = False
    ) -> Hook:
        """Make it; see the class."""
        reference = weakref.ref(owner)
        # Somebody else's, put there before: that is to be called then.
        bound = vars(owner).get(name)
        function = getattr(type(owner), name)
        if bare:
            original = function if bound is None else _without_owner(bound)
            self = super().__new__(cls, around, reference, original)
        else:
            self = super().__new__(cls, _called, around, reference, bound, function)
        self._name, self._bound, self._function = name, bound, function
        self._owner = reference
        return self

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


def _called(
    around: Callable[..., Any],
    reference: weakref.ref[Any],
    bound: Any,
    function: Any,
    *args: Any,
    **kwargs: Any,
) -> Any:
    """Call the tap, which calls the method."""
    owner = alive(reference)
    if bound is None:  # as `Hook.original`, without another call
        bound = types.MethodType(function, owner)
    return around(owner, bound, *args, **kwargs)


def alive(reference: weakref.ref[Any]) -> Any:
    """The instance whose method is called.

    Raises
    ------
    ReferenceError
        If nobody kept it: then there is nothing to call the method of.
    """
    owner = reference()
    if owner is None:
        raise ReferenceError(GONE)
    return owner


def _without_owner(bound: Any) -> Callable[..., Any]:
    def call(_: Any, *args: Any, **kwargs: Any) -> Any:
        return bound(*args, **kwargs)

    return call


def hook(
    owner: Any, name: str, around: Callable[..., Any], *, bare: bool = False
) -> Hook:
    """Put a tap around a method of an instance; returns what `unhook` takes."""
    made = Hook(owner, name, around, bare=bare)
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

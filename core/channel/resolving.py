"""From what a user wrote to a hook: an instance, a class, a name or `module:Class`.

Names are not case-sensitive. A module that is named, by the user or here, is imported
only when its hook is asked for.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from isoscope.core.channel.errors import ChannelTypeError, ChannelValueError
from isoscope.core.channel.hooks import Collector, Dispatcher
from isoscope.core.errors import one_line

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

Hook = TypeVar("Hook", bound=Collector | Dispatcher)
SomeClass = TypeVar("SomeClass", bound=type)

_HERE = "isoscope.core.channel"
_COLLECTORS = {
    "pass_through": f"{_HERE}.hooks:PassThrough",
    "embodied_trajectory": "isoscope.core.trajectory.collector:TrajectoryCollector",
}
_DISPATCHERS = {
    "shared": f"{_HERE}.dispatchers:Shared",
    "round_robin": f"{_HERE}.dispatchers:RoundRobin",
    "least_loaded": f"{_HERE}.dispatchers:LeastLoaded",
    "least_loaded_stealing": f"{_HERE}.dispatchers:LeastLoadedStealing",
}


class Registry(Generic[Hook]):
    """The hooks of one kind, by name.

    Parameters
    ----------
    base
        What each of them derives from.
    known
        Those that come with the program, as `module:Class`.
    default
        The name that None stands for.
    """

    def __init__(
        self, base: type[Hook], known: Mapping[str, str], default: str
    ) -> None:
        self.base = base
        self.default = default
        self.what = base.__name__.lower()
        self._known: dict[str, str | type[Hook]] = dict(known)

    @property
    def names(self) -> list[str]:
        """All names, sorted."""
        return sorted(self._known)

    def register(self, name: str) -> Callable[[SomeClass], SomeClass]:
        """Make a class known under a name; a decorator.

        Raises
        ------
        ChannelValueError
            If the name is taken by another class.
        ChannelTypeError
            If it is not a class of this kind of hook.
        """
        lower = name.lower()

        def known(cls: SomeClass) -> SomeClass:
            hook = self._checked(cls, f"registering the {self.what} {name!r}")
            taken = self._known.get(lower)
            if taken not in (None, cls, f"{cls.__module__}:{cls.__qualname__}"):
                raise ChannelValueError(
                    f"registering the {self.what} {name!r}: this name is taken by "
                    f"{taken if isinstance(taken, str) else taken and taken.__name__}; "
                    "choose another"
                )
            self._known[lower] = hook
            return cls

        return known

    def resolve(self, spec: Any) -> Hook:
        """Make a hook ready for `setup` out of what the user wrote.

        Parameters
        ----------
        spec
            A hook (taken as it is), its class, a registered name, ``"module:Class"``,
            or None for the default.

        Raises
        ------
        ChannelValueError
            If nothing is known under that name, or it can't be imported.
        ChannelTypeError
            If it is no hook of this kind.
        """
        doing = f"choosing the {self.what}"
        if spec is None:
            spec = self.default
        if isinstance(spec, self.base):
            return spec
        if isinstance(spec, str):
            spec = self._named(spec, doing)
        elif not isinstance(spec, type):
            raise ChannelTypeError(
                f"{doing}: {type(spec).__name__} is none; give an instance, a class, a "
                "name or 'module:Class'"
            )
        return self._checked(spec, doing)()

    def _named(self, name: str, doing: str) -> Any:
        if ":" in name:
            return _imported(name, doing)
        found = self._known.get(name.lower())
        if found is None:
            raise ChannelValueError(
                f"{doing}: nothing is known as {name!r}; there are "
                f"{', '.join(self.names)}, or give 'module:Class'"
            )
        return _imported(found, doing) if isinstance(found, str) else found

    def _checked(self, spec: Any, doing: str) -> type[Hook]:
        if isinstance(spec, type) and issubclass(spec, self.base):
            return spec
        name = spec.__name__ if isinstance(spec, type) else type(spec).__name__
        raise ChannelTypeError(
            f"{doing}: {name} does not derive from {self.base.__name__}"
        )


def _imported(path: str, doing: str) -> Any:
    module, _, name = path.partition(":")
    try:
        return getattr(import_module(module), name)
    except (ImportError, AttributeError, ValueError, TypeError) as error:
        raise ChannelValueError(
            f"{doing}: {path!r} can't be imported: {one_line(error)}"
        ) from None


COLLECTORS: Registry[Collector] = Registry(
    Collector,  # type: ignore[type-abstract]  # only asked what derives from it
    _COLLECTORS,
    "pass_through",
)
DISPATCHERS: Registry[Dispatcher] = Registry(Dispatcher, _DISPATCHERS, "shared")

register_collector = COLLECTORS.register
register_dispatcher = DISPATCHERS.register
resolve_collector = COLLECTORS.resolve
resolve_dispatcher = DISPATCHERS.resolve

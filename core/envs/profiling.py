"""Times of a control step's stages, told to whoever listens; off where nobody does.

One observer for the process::

    stop = step_profiles.listen(lambda profile: ...)

From then on every environment of this process tells a :class:`StepProfile` after each
of its control steps and resets, and workers of a vector environment how long they
waited. An entry's name is a path, and its parent is the path without the last part, so
the entries go into a recording as they are (`records.ProfileEntry`).

Where the scene is on another device, a stage only launches what the device does later,
and its name says so: ``step/substeps_launch``. What waits for the device keeps its
name: ``step/convert`` is where results are read back.
"""

from __future__ import annotations

from contextlib import contextmanager, nullcontext
from dataclasses import dataclass
from operator import attrgetter
from time import perf_counter
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, TypeAlias

from isoscope.core.envs.arrays import on_host

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence
    from contextlib import AbstractContextManager

    from isoscope.core.envs.lanes import LaneGroup

Whole: TypeAlias = Literal["step", "reset", "wait"]

LAUNCH = "_launch"
COPIES = "copies"  # of the ledger: copies/h2d/<cause> and copies/syncs/<cause>
# What waits for the device, or does not touch it.
_WAITS = frozenset({"convert", "wait"})
_DIRECTIONS = ("h2d", "d2h", "d2d")
_NOTHING: AbstractContextManager[None] = nullcontext()
_asked = attrgetter(*(f"{direction}_bytes" for direction in _DIRECTIONS), "syncs")
_NO_SUMS = (0,) * (len(_DIRECTIONS) + 1)


class Timed(NamedTuple):
    """One entry.

    Attributes
    ----------
    name
        A path: ``"step/restore"``.
    value
        In `unit`: ``"s"``, ``"B"`` (bytes), or ``""`` for a count.
    parent
        The path of what contains it; empty at the top.
    """

    name: str
    value: float
    unit: str = "s"
    parent: str = ""


@dataclass(frozen=True, slots=True)
class StepProfile:
    """The entries of one control step, one reset, or one wait.

    Attributes
    ----------
    what
        Which of these.
    envs
        Whose: one environment, a batch, or those of a waiting worker; empty for a
        vector environment as a whole.
    """

    what: Whole
    envs: tuple[int, ...]
    entries: tuple[Timed, ...]

    @property
    def env(self) -> int:
        """What to record it under: its environment, -1 for a batch or for all.

        A worker's wait goes under its first environment, which says whose it is.
        """
        if self.what == "wait":
            return self.envs[0] if self.envs else -1
        return self.envs[0] if len(self.envs) == 1 else -1


class StepProfiles:
    """The observer; not psygnal's, since vector environments do without packages."""

    def __init__(self) -> None:
        self._listeners: tuple[Callable[[StepProfile], object], ...] = ()

    @property
    def listened_to(self) -> bool:
        """Whether anybody listens; nothing is timed otherwise."""
        return bool(self._listeners)

    def listen(self, callback: Callable[[StepProfile], object]) -> Callable[[], None]:
        """Have it called after each step, in the step's thread; returns what stops it.

        What it raises goes to whoever steps the environment.
        """
        self._listeners = (*self._listeners, callback)

        def stop() -> None:
            left = [found for found in self._listeners if found is not callback]
            self._listeners = tuple(left)

        return stop

    def tell(self, profile: StepProfile) -> None:
        """Tell those who listen."""
        for callback in self._listeners:
            callback(profile)


step_profiles = StepProfiles()


class Profiler:
    """Times what one caller does: parts within a whole, by their paths.

    Parameters
    ----------
    envs
        Whose it is.
    lanes
        Whose stages to time, if any.
    lazy
        Whether the whole ends before the device has done its part.

    Attributes
    ----------
    path
        Of what is timed now; empty outside of a whole.
    sums
        Seconds by path, of the whole that is timed now.
    """

    def __init__(
        self,
        envs: Sequence[int],
        lanes: LaneGroup | None = None,
        *,
        lazy: bool = False,
    ) -> None:
        self.envs = tuple(envs)
        self._lanes = lanes
        self._elsewhere = lanes is not None and not on_host(lanes.count)
        self._lazy = lazy
        self.path = ""
        self.sums: dict[str, float] = {}
        self._last: StepProfile | None = None

    def take(self) -> StepProfile | None:
        """What was told last, once; None where nothing was timed since.

        For whoever wraps the environment, and so knows which control step it was of.
        """
        taken, self._last = self._last, None
        return taken

    def whole(self, what: Whole) -> AbstractContextManager[None]:
        """Time a control step or a reset, and tell it; nothing inside of another."""
        if not step_profiles.listened_to or self.path:
            return _NOTHING
        return self._whole(what)

    def part(self, name: str) -> AbstractContextManager[None]:
        """Time a part of what is timed now; parts of one name are added up."""
        return self._part(name) if self.path else _NOTHING

    @contextmanager
    def _whole(self, what: Whole) -> Iterator[None]:
        lanes, usual = self._lanes, None
        name = what + LAUNCH if self._lazy and self._elsewhere else str(what)
        before = _books(lanes)
        if lanes is not None:
            # Late: a vector environment alone does without what the stages need.
            from isoscope.core.envs.timed_stages import TimedStages

            usual = lanes.stages
            lanes.stages = TimedStages(usual, self)
        self.sums, self.path = {}, name
        begin = perf_counter()
        try:
            yield
            spent_s = perf_counter() - begin
        finally:
            self.path = ""
            if lanes is not None and usual is not None:
                lanes.stages = usual
        # Only of one that went well: half a step's times mean nothing.
        entries = [Timed(name, spent_s)]
        entries += [
            Timed(path, sum_s, parent=path.rpartition("/")[0])
            for path, sum_s in self.sums.items()
        ]
        entries += _copied(before, _books(lanes))
        self._last = StepProfile(what, self.envs, tuple(entries))
        step_profiles.tell(self._last)

    def _part(self, name: str) -> _Part:
        if self._elsewhere and name not in _WAITS:
            name += LAUNCH
        return _Part(self, name)


class _Part:
    """A part that is being timed; a class of its own, since a step has dozens."""

    __slots__ = ("_begin", "_name", "_outer", "_path", "_profiler")

    def __init__(self, profiler: Profiler, name: str) -> None:
        self._profiler = profiler
        self._name = name

    def __enter__(self) -> None:
        profiler = self._profiler
        self._outer = profiler.path
        self._path = profiler.path = f"{self._outer}/{self._name}"
        # In its place before its own parts, so that a parent comes before them.
        profiler.sums.setdefault(self._path, 0.0)
        self._begin = perf_counter()

    def __exit__(self, *_: object) -> None:
        profiler = self._profiler
        profiler.sums[self._path] += perf_counter() - self._begin
        profiler.path = self._outer


@contextmanager
def waiting(envs: Sequence[int]) -> Iterator[None]:
    """Time how long a worker waits until it is asked again, and tell that."""
    begin = perf_counter()
    yield
    if step_profiles.listened_to:
        entry = Timed("wait", perf_counter() - begin)
        step_profiles.tell(StepProfile("wait", tuple(envs), (entry,)))


# -- the ledger of copies, where the scene keeps one ---------------------------------


def _books(lanes: LaneGroup | None) -> Mapping[str, Any] | None:
    """What was copied so far, by cause; None where nobody keeps books.

    A simulator's ledger (`isoscope.gpu.transfer`) is known here by its form only.
    """
    ledger = getattr(lanes.scene, "ledger", None) if lanes is not None else None
    by_cause = getattr(ledger, "by_cause", None)
    return by_cause() if callable(by_cause) else None


def _copied(
    before: Mapping[str, Any] | None, after: Mapping[str, Any] | None
) -> Iterator[Timed]:
    """Bytes and waits that came since, by cause."""
    if before is None or after is None:
        return
    for cause, traffic in after.items():
        known = before.get(cause)
        if known is traffic:
            continue  # nothing came
        *moved, syncs = (
            a - b for a, b in zip(_sums(traffic), _sums(known), strict=True)
        )
        for direction, size in zip(_DIRECTIONS, moved, strict=True):
            if size:
                yield Timed(f"{COPIES}/{direction}/{cause}", float(size), "B")
        if syncs:
            yield Timed(f"{COPIES}/syncs/{cause}", float(syncs), "")


def _sums(traffic: Any) -> tuple[int, ...]:
    """Bytes by direction, and synchronisations; zeros where there was no traffic."""
    return _NO_SUMS if traffic is None else _asked(traffic)

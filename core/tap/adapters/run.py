"""What a process's adapters have in common: identity, scene numbers, writers."""

from __future__ import annotations

import threading
import weakref
from typing import TYPE_CHECKING, Any

import msgspec

from isoscope.core.recording.labelled import records as r
from isoscope.core.tap.adapters import provenance
from isoscope.core.tap.adapters.control_steps import ControlSteps
from isoscope.core.tap.adapters.leaves import described
from isoscope.core.tap.adapters.scalars import Scalars

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy as np

    from isoscope.core.tap.adapters.leaves import Leaf
    from isoscope.core.tap.session import TapSession

LONGEST_SEEDS = 1 << 16
BIGGEST_SEED = 1 << 63


class Run:
    """The adapters' side of a session; `of` gives it.

    Attributes
    ----------
    identity
        What is known of the run so far; `tell` tells it.
    """

    def __init__(self, session: TapSession) -> None:
        self._recorder = session.recorder
        self._lock = threading.RLock()
        self._scenes = 0
        self._writers: dict[Any, ControlSteps] = {}
        self._scalars: dict[int, Scalars] = {}
        self._known: set[str] = set()
        self._untold = False
        self._made_by: Any = session.options.get("factory")
        self.identity = r.Identity()

    def tell(self) -> None:
        """Tell what is new in the identity, if anything is."""
        with self._lock:
            if self._untold:
                self._untold = False
                self._recorder.identify(self.identity)

    def learn(self, source: str, identity: r.Identity) -> None:
        """Add what a kind of environments says; the first that says a thing is right.

        Parameters
        ----------
        source
            Whoever says it; asked once.
        """
        with self._lock:
            if source in self._known:
                return
            self._known.add(source)
            nothing = r.Identity()
            mine = self.identity
            for name in msgspec.structs.asdict(mine):
                new, old = getattr(identity, name), getattr(mine, name)
                if new == getattr(nothing, name):
                    continue
                if isinstance(old, dict):
                    setattr(mine, name, {**new, **old})
                elif name == "spaces":
                    told = [s for s in new if s not in old]
                    mine.spaces = [*old, *told]
                elif old == getattr(nothing, name):
                    setattr(mine, name, new)
            self._untold = True

    def came_from(self, make: Any) -> None:
        """Say which factory made the environments; the first one is told."""
        if self._made_by is None:
            self._made_by = make

    def origin(self, env: Any) -> None:
        """Say where an environment comes from, once for each class."""
        made_by = self._made_by or _entry_point(env) or type(env)
        source = f"origin {provenance.origin(made_by)[0]}"
        if source not in self._known:
            self.learn(source, provenance.identity(made_by))

    def has(
        self,
        env: Any,
        observation: tuple[Any, Sequence[Leaf]],
        action: tuple[Any, Sequence[Leaf]],
    ) -> None:
        """Say what environments are like: where from, and their spaces with leaves."""
        spaces = [
            described(observation[0], "observation", -1, observation[1]),
            described(action[0], "action", -1, action[1]),
        ]
        self.learn(f"spaces {spaces}", r.Identity(spaces=spaces))
        self.origin(env)
        spec = getattr(env, "spec", None)
        if spec is not None:
            self.learn("spec", r.Identity(extra={"environment": str(spec.id)}))

    def environment(self, number: int, seed: Any) -> None:
        """Count an environment, and note the first seed that it got."""
        with self._lock:
            mine = self.identity
            count = max(mine.environments or 0, number + 1)
            if count != mine.environments:
                mine.environments = count
                self._untold = True
            if not isinstance(seed, int) or number >= LONGEST_SEEDS:
                return
            seeds = mine.seeds
            if number >= len(seeds):
                seeds = [*seeds, *[None] * (number + 1 - len(seeds))]
            if seeds[number] is None and abs(seed) < BIGGEST_SEED:
                seeds[number] = seed
                mine.seeds = seeds
                self._untold = True

    def scene(self) -> int:
        """A number for another scene."""
        with self._lock:
            self._scenes += 1
            return self._scenes - 1

    def writer(
        self,
        action: Sequence[Leaf],
        observation: Sequence[Leaf],
        raw: np.dtype[Any] | None = None,
    ) -> ControlSteps:
        """What writes control steps of environments with such spaces in this thread.

        Parameters
        ----------
        raw
            See `ControlSteps`.
        """
        thread = threading.get_ident()
        kind = None if raw is None else raw.str
        key = tuple(action), tuple(observation), kind, thread
        with self._lock:
            if thread not in self._scalars:
                self._scalars[thread] = Scalars(self._recorder)
            if key not in self._writers:
                self._writers[key] = ControlSteps(
                    self._recorder, action, observation, raw, self._scalars[thread]
                )
            return self._writers[key]


def of(session: TapSession) -> Run:
    """The session's run."""
    with _lock:
        run = _runs.get(session)
        if run is None:
            run = _runs[session] = Run(session)
        return run


def _entry_point(env: Any) -> Any:
    spec = getattr(env, "spec", None)
    point = getattr(spec, "entry_point", None)
    return point if callable(point) or isinstance(point, str) else None


_lock = threading.Lock()
_runs: weakref.WeakKeyDictionary[TapSession, Run] = weakref.WeakKeyDictionary()

"""Any Gymnasium `Env`: its resets and control steps, as it gives them.

Adapters for environments that can tell more build on this one.
"""

from __future__ import annotations

import json
import os
import threading
import time
from typing import TYPE_CHECKING, Any

import numpy as np

from isoscope.core.errors import one_line
from isoscope.core.recording.labelled import records as r
from isoscope.core.recording.labelled.forms import to_json
from isoscope.core.tap.adapters import run as runs
from isoscope.core.tap.adapters.control_steps import AFTER, BEFORE, CLIPPED, RAW
from isoscope.core.tap.adapters.generators import Generators, state_of
from isoscope.core.tap.adapters.hooks import alive, hook, is_hooked
from isoscope.core.tap.adapters.kinds import innermost, layers
from isoscope.core.tap.adapters.leaves import leaves
from isoscope.core.tap.adapters.plain_steps import pack_transition, reasons_of
from isoscope.core.tap.adapters.rows import TERMS
from isoscope.core.tap.adapters.scalars import numbers
from isoscope.core.tap.adapters.values import (
    NUMBERS,
    clipped_as,
    fitted,
    fitted_parts,
    flag,
    owned,
    real,
    whole,
)

if TYPE_CHECKING:
    import weakref
    from collections.abc import Callable, Sequence

    from isoscope.core.tap.adapters.control_steps import ControlSteps
    from isoscope.core.tap.adapters.leaves import Leaf
    from isoscope.core.tap.adapters.plain_steps import PlainSteps
    from isoscope.core.tap.adapters.scalars import Name
    from isoscope.core.tap.session import TapSession

BIGGEST_SEED = 1 << 63


class SingleAdapter:
    """Wraps a Gymnasium `Env`."""

    def wrap(self, env: Any, session: TapSession, index: int | None) -> Any:
        """See `isoscope.core.tap.adapter.Adapter`."""
        if not is_hooked(env, "step"):
            SingleTap(env, session, index).attach(env)
        return env


class SingleTap:
    """Watches one environment.

    Attributes
    ----------
    number
        The environment's, once it was reset or stepped; -1 before.
    episode, control_step
        Where it is now; -1 before its first reset that is seen.
    done
        Whether its episode has ended.
    """

    def __init__(self, env: Any, session: TapSession, index: int | None) -> None:
        self.session = session
        self.recorder = session.recorder
        self.number = -1
        self.episode = -1
        self.control_step = -1
        self.done = False
        self.begun = False
        self.process = os.getpid()
        self._index = index
        self._generators = Generators()
        self._before: Any = None
        self._leaves: tuple[Sequence[Leaf], Sequence[Leaf]] = ([], [])
        self._writer: ControlSteps
        self._raw: Any = ()  # the dtype of the last action: none that there is
        self._thread = -1  # that steps it
        self._plain: PlainSteps | None = None
        self._clips = any(type(layer).__name__ == "ClipAction" for layer in layers(env))

    def attach(self, env: Any) -> None:
        """Put the tap around the environment's methods."""
        hook(env, "reset", self._reset)
        hook(env, "step", self._step, bare=True)

    # -- what subclasses tell more of ------------------------------------------------

    def names(self, env: Any) -> dict[str, tuple[list[str], list[str]]]:
        """Names and units of the components, by the role of the space."""
        return {}

    def learn(self, env: Any) -> None:
        """Say what runs."""

    def before(self, env: Any, control_step: int) -> None:
        """Be told that a control step begins, 0 for a reset."""

    def rows(self) -> tuple[int, int]:
        """The first and the last native row of the control step; -1 where none."""
        return -1, -1

    def generators(self, env: Any) -> tuple[bytes, bytes]:
        """Digests of where the environment's generator and its action space's stand."""
        return self._generators.digests(innermost(env), self._space)

    def streams(self, env: Any) -> dict[str, Any]:
        """States of more generators of its own, by name, as NumPy gives them."""
        return {}

    def clipped(self, env: Any, raw: Any) -> Any:
        """The action as the environment clips it; None where that isn't known."""
        return clipped_as(raw, self._low, self._high, done=self._clips)

    def told_clipped(self, env: Any, plain: PlainSteps) -> bytes | None:
        """The action as clipped; b"" where not known, None: as its limits say."""
        return None

    def terms(self, env: Any, info: Any) -> dict[Name, float]:
        """Reward terms, and the numbers of the info that are none."""
        told = info.get(TERMS) if isinstance(info, dict) else None
        found = numbers(told, "reward_term")
        return found | numbers(info, "info", frozenset((TERMS,)))

    def later(self, env: Any, plain: PlainSteps, info: Any) -> Any:
        """What `terms` is to be made of later, as `PlainSteps.told` has it."""
        if type(info) is dict and TERMS in info:
            rest = info.copy()
            return plain.told(rest.pop(TERMS), rest, _named)
        return plain.told({}, info, _named)

    def after(self, env: Any, info: Any, transition: int) -> None:
        """Be told that a control step or a reset is recorded."""

    def failed(self, env: Any, error: BaseException) -> None:
        """Be told that a control step or a reset raised."""

    # -- resets ------------------------------------------------------------------------

    def _reset(
        self, env: Any, original: Callable[..., Any], *args: Any, **kwargs: Any
    ) -> Any:
        session = self.session
        if not session.on:
            return original(*args, **kwargs)
        asked = kwargs
        with session.guard:
            if kwargs.get("options") is not None:  # the environment may take parts out
                told = json.loads(to_json(kwargs["options"]))
                asked = {**kwargs, "options": told}
            self._begin(env)
            self.episode = max(self.episode, 0) + 1
            self.control_step = 0
            self.before(env, 0)
        try:
            result = original(*args, **kwargs)
        except BaseException as error:
            with session.guard:
                self._raised(env, "reset", error)
            raise
        if session.on:
            with session.guard:
                self._was_reset(env, result, *args, **asked)
        return result

    def _was_reset(
        self, env: Any, result: Any, seed: Any = None, options: Any = None, **_: Any
    ) -> None:
        self.done = False
        observation, info = result
        run = runs.of(self.session)
        seed = whole(seed)
        run.environment(self.number, seed)
        run.tell()
        inner = innermost(env)
        own, of_actions = self.generators(env)
        first, last = self.rows()
        fits = seed is not None and abs(seed) < BIGGEST_SEED
        told = r.Transition(
            env=self.number,
            episode=self.episode,
            control_step=0,
            valid=0,
            seed=seed if fits and seed is not None and seed >= 0 else -1,
            first_row=first,
            last_row=last,
            wall_ns=time.time_ns(),
            rng_digest=own,
            action_rng_digest=of_actions,
            options=options,
        )
        self._before = owned(observation)
        self._fit(None, self._before)
        writer = runs.of(self.session).writer(*self._leaves)
        named = self.terms(env, info)
        with writer.lock:
            writer.put(AFTER, self._before)
            number = writer.write(told, tuple(named), list(named.values()))
        self.session.begun[self.number] = number
        row = first if first >= 0 else self.recorder.rows
        # Nobody but the user resets an environment that runs by itself.
        by_user = self._index is None or seed is not None
        states = {
            "env": state_of(inner),
            "action_space": state_of(self._space),
            **self.streams(env),
        }
        self.recorder.reset(
            r.Reset(
                *(self.number, self.episode, row, number, told.wall_ns),
                *(0 if by_user else -1, seed, options),
                {name: state for name, state in states.items() if state is not None},
            )
        )
        self.after(env, info, number)

    # -- control steps -----------------------------------------------------------------

    def _step(
        self,
        reference: weakref.ref[Any],
        original: Callable[..., Any],
        action: Any,
        *args: Any,
        **kwargs: Any,
    ) -> Any:
        env, session = alive(reference), self.session
        if not session.on:
            return original(env, action, *args, **kwargs)
        raw = None
        try:
            if not self.begun:
                self._begin(env)
            if self.episode > 0:
                self.control_step += 1
            if self._thread != threading.get_ident():
                self._moved()
            plain = self._plain
            if (
                plain is not None
                and type(action) is np.ndarray
                and action.dtype is plain.dtype
                and action.shape == plain.acting
            ):
                raw = action.tobytes()
            else:
                raw = owned(action)
            self.before(env, self.control_step)
        except Exception as error:  # noqa: BLE001 the run goes on
            session.guard.failed(error)
        try:
            if args or kwargs:
                result = original(env, action, *args, **kwargs)
            else:
                result = original(env, action)
        except BaseException as error:
            with session.guard:
                self._raised(env, "step", error)
            raise
        if session.on:
            try:
                self._was_stepped(env, raw, result)
            except Exception as error:  # noqa: BLE001 the run goes on
                session.guard.failed(error)
        return result

    def _was_stepped(self, env: Any, raw: Any, result: Any) -> None:
        observation, reward, terminated, truncated, info = result
        before, plain, number = self._before, self._plain, None
        ended, cut = flag(terminated), flag(truncated)
        # What comes after the end is no transition that anybody has defined.
        valid = -1 if self.done or self.episode < 1 else 1
        if (
            type(raw) is bytes
            and plain is not None
            and type(observation) is np.ndarray
            and observation.dtype is plain.dtype
            and observation.shape == plain.seen
        ):
            if type(before) is not bytes:
                before = plain.kept(before, plain.seen)
            if before is not None:
                told = self.later(env, plain, info)
                if told is None:
                    told = None, (self.terms(env, info), reasons_of(info))
                self._before = after = observation.tobytes()
                first, last = self.rows()
                own, of_actions = self.generators(env)
                row = pack_transition(
                    self.number,
                    self.episode,
                    self.control_step,
                    real(reward),
                    ended,
                    cut,
                    valid,
                    -1,
                    first,
                    last,
                    time.time_ns(),
                    own,
                    of_actions,
                    -1,
                    -1,
                )
                clipped = self.told_clipped(env, plain)
                number = plain.add((row, raw, before, after, clipped, *told))
        if number is None:
            number = self._written(env, raw, result, valid)
        self.session.stepped[self.number] = number
        self.done = ended == 1 or cut == 1
        self.after(env, info, number)

    def _written(self, env: Any, raw: Any, result: Any, valid: int) -> int:
        """Record any control step; returns its number."""
        observation, reward, terminated, truncated, info = result
        raw, before = self._as_array(raw, acting=True), self._as_array(self._before)
        self._before = owned(observation)
        self._fit(raw, self._before)
        if self._raw != (dtype := getattr(raw, "dtype", None)):
            self._raw = dtype
            kind = dtype if getattr(dtype, "kind", "O") in NUMBERS else np.dtype("f8")
            self._writer = runs.of(self.session).writer(*self._leaves, raw=kind)
            self._plain = self._plain_of(self._writer)
        generators, (first, last) = self.generators(env), self.rows()
        told = r.Transition(
            *(self.number, self.episode, self.control_step, real(reward)),
            *(flag(terminated), flag(truncated), valid, -1, first, last),
            *(time.time_ns(), *generators),
        )
        told.reasons = reasons_of(info)
        named = self.terms(env, info)
        writer, clipped = self._writer, self.clipped(env, raw)
        with writer.lock:
            writer.put(RAW, raw)
            if clipped is not None:
                writer.put(CLIPPED, clipped)
            if before is not None:
                writer.put(BEFORE, before)
            writer.put(AFTER, self._before)
            return writer.write(told, tuple(named), list(named.values()))

    def _fit(self, action: Any, observation: Any) -> None:
        """Have leaves whose dtypes hold what was given, from now on."""
        actions, seen = self._leaves
        if action is not None:
            actions = fitted_parts(actions, action)
        seen = fitted(seen, observation)
        if actions is not self._leaves[0] or seen is not self._leaves[1]:
            self._leaves, self._raw = (actions, seen), ()

    def _moved(self) -> None:
        """Another thread steps it: the writer, and its frames, are another."""
        self._before = self._as_array(self._before)
        self._thread, self._raw, self._plain = threading.get_ident(), (), None

    def _as_array(self, value: Any, *, acting: bool = False) -> Any:
        """A vector that was kept as bytes; anything else as it is."""
        if type(value) is not bytes or self._plain is None:
            return value
        plain = self._plain
        shape = plain.acting if acting else plain.seen
        return np.frombuffer(value, plain.dtype).reshape(shape)

    def _plain_of(self, writer: ControlSteps) -> PlainSteps | None:
        """What records flat vectors, which is quicker; None for other spaces."""
        low, high, dtype = self._low, self._high, writer.plain_dtype
        if low is None or high is None or low.ndim != 1 or low.dtype != dtype:
            return None
        return writer.plain(low, high, clips=self._clips)

    # -- both --------------------------------------------------------------------------

    def _begin(self, env: Any) -> None:
        """Whatever waits until the environment is really used."""
        if self.begun:
            return
        self.begun = True
        session = self.session
        self.number = session.env_index(1, self._index)
        run = runs.of(session)
        self._space = env.action_space
        known = self.names(env)
        actions = leaves(self._space, *known.get("action", ((), ())))
        seen = leaves(env.observation_space, *known.get("observation", ((), ())))
        self._low = self._high = None
        if len(actions) == 1 and not actions[0].path and actions[0].dtype.kind == "f":
            self._low, self._high = self._space.low, self._space.high
        self._leaves = actions, seen
        run.has(env, (env.observation_space, seen), (self._space, actions))
        self.learn(env)
        run.environment(self.number, None)
        run.tell()

    def _raised(self, env: Any, doing: str, error: BaseException) -> None:
        self.recorder.failure(
            r.Failure(
                *(doing, f"{type(error).__name__}: {one_line(error)}"),
                *(self.recorder.rows, self.number, -1, time.time_ns()),
                *(threading.get_ident(),),
                {"episode": self.episode, "control_step": self.control_step},
            )
        )
        self.failed(env, error)


def _named(terms: Any, info: Any) -> dict[Name, float]:
    return numbers(terms, "reward_term") | numbers(info, "info")

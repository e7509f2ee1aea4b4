"""The times of the stages of our own environments' steps, as profile entries.

Environments time themselves once somebody listens (`isoscope.core.envs.profiling`).
What a step's own tap finds it records with the transition; workers' waits, which are
between steps, are recorded as they are told. The option ``profile=False`` leaves it.
"""

from __future__ import annotations

import weakref
from typing import TYPE_CHECKING

from isoscope.core.envs.profiling import Profiler, step_profiles

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from isoscope.core.envs.profiling import StepProfile
    from isoscope.core.tap.session import TapSession

_watched: weakref.WeakKeyDictionary[TapSession, Callable[[], None]]
_watched = weakref.WeakKeyDictionary()


def watch_stages(session: TapSession) -> None:
    """Have the environments of this process time themselves, for this session."""
    if session in _watched or not session.options.get("profile", True):
        return
    whose = weakref.ref(session)

    def take(profile: StepProfile) -> None:
        listening = whose()
        if listening is None or not listening.on:
            stop()
        elif profile.what == "wait":
            with listening.guard:
                record_stages(listening, profile, profile.env, -1)

    stop = step_profiles.listen(take)
    _watched[session] = stop


def times_itself(env: Any) -> bool:
    """Whether an environment is one of ours that can time its stages."""
    return isinstance(getattr(env, "profiler", None), Profiler)


def record_stages(
    session: TapSession, profile: StepProfile | None, env: int, transition: int
) -> None:
    """Record the entries of one step, reset or wait.

    Parameters
    ----------
    env
        The environment's number in this run; -1 for a batch or all.
    transition
        Its number, -1 where there is none: then the last native row says when it was.
    """
    if profile is None or session not in _watched:
        return
    row = session.recorder.rows - 1
    where = env, transition, row
    session.recorder.profiles([(*entry, *where) for entry in profile.entries])

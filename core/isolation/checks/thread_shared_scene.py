"""A scene that two threads stepped, or tried to."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from isoscope.core.isolation.findings import Finding, Taint
from isoscope.core.isolation.following import Carry
from isoscope.core.isolation.incremental import whole
from isoscope.core.isolation.registry import CannotRunError
from isoscope.core.isolation.words import env_named, place_text

if TYPE_CHECKING:
    from collections.abc import Iterator

    from isoscope.core.isolation.context import Context
    from isoscope.core.isolation.findings import Severity
    from isoscope.core.isolation.following import Joined
    from isoscope.core.isolation.incremental import Running
    from isoscope.core.isolation.labelled_context import LabelledContext

ID = "thread-shared-scene"
SEVERITY: Severity = "error"
ABOUT = "scenes that were entered from more than one thread"
NEEDS = "a recording by the tap, whose native steps name process and thread"
REMEDY = (
    "A scene belongs to the thread that stepped it first: step all environments that "
    "share it in that one, or give each thread scenes of its own."
)


def run(context: Context) -> Iterator[Finding]:
    """Yield one finding a scene and foreign thread, and one a refused entry."""
    yield from whole(begin(), context.tells(NEEDS))


def begin() -> Running:
    """Begin to look at a recording."""
    return _Looking()


class _Looking:
    def __init__(self) -> None:
        self._carry = Carry("thread")
        self._threads: dict[int, list[int]] = {}

    @property
    def nbytes(self) -> int:
        return self._carry.nbytes + 100 * len(self._threads)

    def take(self, window: LabelledContext) -> Iterator[Finding]:
        joined = self._carry.join(window)
        yield from _refused(joined, window)
        known = joined["thread"] >= 0
        known[: joined.first_new] = False
        if joined.new and not known.any() and not self._threads:
            raise CannotRunError("no native step names its thread", NEEDS)
        at = np.flatnonzero(known)
        threads, which = np.unique(joined["thread"][at], return_inverse=True)
        pairs = joined["scene"][at].astype(np.int64) * len(threads) + which.reshape(-1)
        found, first = np.unique(pairs, return_index=True)
        for k in np.argsort(first).tolist():
            scene, thread = divmod(int(found[k]), len(threads))
            seen = self._threads.setdefault(scene, [])
            if int(threads[thread]) in seen:
                continue
            seen.append(int(threads[thread]))
            if len(seen) > 1:
                yield _stepped(joined, int(at[first[k]]), seen[0], seen[-1])

    def finish(self) -> Iterator[Finding]:
        return iter(())


def _stepped(joined: Joined, i: int, owner: int, thread: int) -> Finding:
    row, env = int(joined.row[i]), int(joined["env"][i])
    where = joined.at(i)
    before = int(joined.before_scene[i])
    other = int(joined["env"][before]) if before >= 0 else -1
    place = place_text(*where) or f"native step {row}"
    headline = f"{env_named(env)} stepped its scene from a second thread at {place}"
    return Finding(
        id=ID,
        severity=SEVERITY,
        env=env if env >= 0 else None,
        other_env=other if other >= 0 and other != env else None,
        episode=where.episode,
        control_step=where.control_step,
        native=(row, row),
        field="thread",
        value=thread,
        expected=owner,
        headline=headline,
        message=(
            f"{headline}: scene {int(joined['scene'][i])} was stepped by thread "
            f"{owner} before, and native step {row} by {thread}"
        ),
        remedy=REMEDY,
        evidence={"scene": int(joined["scene"][i]), "refused": False},
        taints=(Taint(env=env if env >= 0 else None, native=(row, None)),),
    )


def _refused(joined: Joined, window: LabelledContext) -> Iterator[Finding]:
    events = window.events
    for k in np.flatnonzero(events.are("thread")).tolist():
        env, row = int(events.env[k]), int(events.row[k])
        where = joined.about(env, row)
        detail = events.detail(k)
        place = place_text(*where) or f"native step {row}"
        headline = f"a second thread tried to step {env_named(env)} at {place}"
        thread = int(events.thread[k])
        owner = detail.get("owner")
        yield Finding(
            id=ID,
            severity=SEVERITY,
            env=env if env >= 0 else None,
            episode=where.episode,
            control_step=where.control_step,
            native=joined.native(row),
            field="thread",
            value=thread if thread >= 0 else None,
            expected=owner if isinstance(owner, int) else None,
            headline=headline,
            message=f"{headline}: its scene belongs to another one and refused it",
            remedy=REMEDY,
            evidence={"scene": int(events.scene[k]), "refused": True},
        )

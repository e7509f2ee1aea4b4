"""What one finding taints, as stretches of each environment's own native steps.

While other environments step, an environment waits in the state that its last step
left; so a stretch goes on through the rows of others, and is broken by a step of its
own that can be trusted.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from isoscope.core.isolation.tainting import spans_of

if TYPE_CHECKING:
    from collections.abc import Callable

    from isoscope.core.isolation.findings import Finding
    from isoscope.core.recording.model import Labels
    from isoscope.core.recording.tracks import Int64Array


class Stretch(NamedTuple):
    """Native steps `low` to `high` of an environment, both of them its own.

    `env` is None where it is unknown whose they are.
    """

    low: int
    high: int
    env: int | None


def stretches(
    labels: Labels, finding: Finding, own: Callable[[int], Int64Array]
) -> tuple[Stretch, ...]:
    """The native steps that a finding taints, in order of their first rows.

    Parameters
    ----------
    labels
        Whose the rows are, T.
    own
        Gives the native steps of an environment, ascending.
    """
    parts = [span.rows for span in spans_of(labels, finding, own)]
    if not parts:
        return ()
    rows = np.unique(np.concatenate(parts))
    env = labels.env[rows]
    order = np.argsort(env, kind="stable")
    rows, env = rows[order], env[order]
    found: list[Stretch] = []
    for part in np.split(rows, np.flatnonzero(np.diff(env)) + 1):
        if not len(part):
            continue
        whose = int(labels.env[part[0]])
        place = part if whose < 0 else np.searchsorted(own(whose), part)
        breaks = np.flatnonzero(np.diff(place) != 1)
        firsts = np.concatenate([part[:1], part[breaks + 1]]).tolist()
        lasts = np.concatenate([part[breaks], part[-1:]]).tolist()
        known = whose if whose >= 0 else None
        found += [Stretch(a, b, known) for a, b in zip(firsts, lasts, strict=True)]
    return tuple(sorted(found, key=lambda s: (s.low, s.high)))

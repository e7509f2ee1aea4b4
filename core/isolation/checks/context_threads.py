"""Engine threads: not as many as asked for, or more than there are cores."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from isoscope.core.isolation.findings import Finding
from isoscope.core.isolation.registry import CannotRunError
from isoscope.core.summary import counted

if TYPE_CHECKING:
    from collections.abc import Iterator

    from isoscope.core.isolation.context import Context
    from isoscope.core.isolation.findings import Severity
    from isoscope.core.isolation.labelled_context import LabelledContext

ID = "context-threads"
SEVERITY: Severity = "warning"
ABOUT = "worker threads that are not those asked for, and more of them than cores"
NEEDS = (
    "threads of the engine and, in the identity's `extra`, `threads_wanted` or the "
    "machine's `cores`"
)
WANTED, CORES = ("threads_wanted",), ("cores", "cpu_count")


def run(context: Context) -> Iterator[Finding]:
    """Yield one finding for each of the two."""
    window = context.tells(NEEDS)
    identity = window.identity
    live = identity.threads
    wanted, cores = _number(identity.extra, WANTED), _number(identity.extra, CORES)
    if live is None or (wanted is None and cores is None):
        raise CannotRunError("the number of threads or of cores isn't told", NEEDS)
    if wanted is not None and wanted not in (live, 0):
        headline = f"the engine runs {counted(live, 'thread')}, not {wanted} as asked"
        yield Finding(
            id=ID,
            severity=SEVERITY,
            field="threads",
            value=live,
            expected=wanted,
            headline=headline,
            message=(
                f"{headline}: its context was there already, and goes on with what it "
                "was made with"
            ),
            remedy=(
                "Say how many before the first environment of the process is made; a "
                "context outlives them all."
            ),
            evidence={"threads": live, "wanted": wanted},
        )
    processes = max(identity.processes or 1, _processes(window))
    if cores is not None and cores > 0 and live * processes > cores:
        headline = f"{live * processes} engine threads on {counted(cores, 'core')}"
        yield Finding(
            id=ID,
            severity=SEVERITY,
            field="threads",
            value=live * processes,
            expected=cores,
            headline=headline,
            message=(
                f"{headline}: {processes} process{'' if processes == 1 else 'es'} of "
                f"{counted(live, 'thread')} each wait for one another"
            ),
            remedy=(
                f"Give each process {counted(max(cores // processes, 1), 'thread')}, "
                "or take fewer processes."
            ),
            evidence={"threads": live, "processes": processes, "cores": cores},
        )


def _processes(window: LabelledContext) -> int:
    """How many processes took native steps."""
    told = window.steps.column("process")
    return len(np.unique(told[told >= 0]))


def _number(extra: dict[str, Any], names: tuple[str, ...]) -> int | None:
    for name in names:
        value = extra.get(name)
        if isinstance(value, int) and not isinstance(value, bool):
            return value
    return None

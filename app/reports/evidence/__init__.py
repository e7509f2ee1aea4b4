"""The plots of a report: for each kind of finding the numbers that prove it.

A module a check's id, with ``plot_of(context, finding)``; `around` serves the rest.
Only the neighbourhood of the finding is taken: a few hundred points, whatever the
recording's length.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from isoscope.app.reports.evidence import (
    around,
    config_changed,
    hidden_leak,
    missed_restore,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from isoscope.app.reports.evidence.plot import Plot
    from isoscope.core.isolation.context import Context
    from isoscope.core.isolation.findings import Finding

PLOTS_AT_MOST = 40  # findings that get one, the worst first
_MAKERS: dict[str, Callable[[Context, Finding], Plot | None]] = {
    "missed-restore": missed_restore.plot_of,
    "config-changed": config_changed.plot_of,
    "hidden-leak": hidden_leak.plot_of,
}


def plots_of(context: Context, findings: Iterable[Finding]) -> dict[int, Plot]:
    """The plots of those findings that have one, by their place in the list."""
    found: dict[int, Plot] = {}
    for number, finding in enumerate(findings):
        make = _MAKERS.get(finding.id)
        plot = make(context, finding) if make is not None else None
        if plot is None:
            plot = around.plot_of(context, finding)
        if plot is not None:
            found[number] = plot
        if len(found) >= PLOTS_AT_MOST:
            break
    return found

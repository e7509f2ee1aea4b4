"""How far the export of one document is. No Qt."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from isoscope.core.dataset.curate.edits import Choice
    from isoscope.core.dataset.exporters.plan import FieldMap
    from isoscope.core.dataset.exporters.report import ExportReport
    from isoscope.core.dataset.validate.report import Report, Waiver


@dataclass(slots=True, eq=False)
class ExportState:
    """What the panel shows of a document.

    Attributes
    ----------
    report, of
        The last validation, and the choice that it is of.
    waivers
        By rule.
    running
        What is being done; empty for nothing.
    progress
        0 to 1.
    done
        The last export that was made.
    error
        Why the last one was not.
    fields
        What was typed for features, or that they are left out.
    target
        As it was typed; empty for the one that is suggested.
    """

    report: Report | None = None
    of: Choice | None = None
    waivers: dict[str, Waiver] = field(default_factory=dict)
    running: str = ""
    progress: float = 0.0
    done: ExportReport | None = None
    error: str = ""
    fields: dict[str, FieldMap] = field(default_factory=dict)
    target: str = ""

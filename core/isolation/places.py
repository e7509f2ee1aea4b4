"""Where a finding is: the native step that shows it best."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from isoscope.core.isolation.findings import Finding


def row_of(finding: Finding) -> int | None:
    """The native step to look at; None where the finding has no place.

    A change between two steps shows in the second one, which was the first under it.
    """
    if finding.native is None:
        return None
    first, last = finding.native
    return last if finding.id == "config-changed" else first

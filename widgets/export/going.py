"""Where in the recording a place of the validation's report is."""

from __future__ import annotations

from typing import TYPE_CHECKING

from isoscope.core.errors import UsageError

if TYPE_CHECKING:
    from isoscope.core.dataset.validate.rule import Where
    from isoscope.widgets.curate.curation import Curation


def row_of(where: Where, curation: Curation) -> int | None:
    """The native step at which it is; None where there is none, or not any more."""
    if where.episode is None:
        return None
    try:
        item = curation.choice.find(where.episode)
    except UsageError:  # it was split or is another one by now
        return None
    steps = curation.places.steps_of(item.source)
    if steps is None or not item.length:
        return None
    at = min(item.start + (where.step or 0), item.stop - 1)
    return int(steps[0][at])

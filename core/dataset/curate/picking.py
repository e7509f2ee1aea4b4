"""Keep some episodes of a choice: by their places or ids, or by a query."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from isoscope.core.dataset.curate.edits import Judge
from isoscope.core.dataset.curate.query import matching
from isoscope.core.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    from isoscope.core.dataset.curate.edits import Choice

_RANGE = re.compile(r"(\d+)-(\d+)$")


def keep_listed(choice: Choice, text: str) -> Judge | None:
    """The edit that rejects all but those of a list; None if that are all.

    Parameters
    ----------
    text
        ``"0,2-4,env1-ep3"``: ids, places from 0, and ranges of places, both ends in it.

    Raises
    ------
    UsageError
        If one is not there; says how many there are.
    """
    places = {item.id: at for at, item in enumerate(choice.items)}
    count = len(choice.items)
    chosen: set[int] = set()
    for part in (one.strip() for one in text.split(",")):
        span = _RANGE.match(part)
        if part in places:
            chosen.add(places[part])
        elif part.isdecimal() or span is not None:
            low, high = (part, part) if span is None else span.groups()
            first, last = int(low), int(high)
            if not first <= last < count:
                raise UsageError(
                    f"choosing episodes: {part!r} is not there; there are {count}, "
                    f"from 0 to {count - 1}"
                )
            chosen.update(range(first, last + 1))
        else:
            some = ", ".join(list(places)[:3])
            raise UsageError(
                f"choosing episodes: there is no {part!r}; give places from 0 to "
                f"{count - 1}, ranges such as 2-4, or ids such as {some}"
            )
    return _rest(choice, chosen, f"not among {text}")


def keep_matching(
    choice: Choice, query: str, columns: Mapping[str, Any]
) -> Judge | None:
    """The edit that rejects what a query is not true for; None if that is nothing.

    Raises
    ------
    UsageError
        If the query can't be understood.
    """
    found = matching(query, columns)
    chosen = {at for at, true in enumerate(found) if true}
    return _rest(choice, chosen, f"not where {query}")


def _rest(choice: Choice, chosen: set[int], why: str) -> Judge | None:
    rest = [
        item.id
        for at, item in enumerate(choice.items)
        if at not in chosen and item.verdict != "rejected"
    ]
    return Judge(tuple(rest), "rejected", why) if rest else None

"""All that a labelled recording told, read at once: for a command, or for a test."""

from __future__ import annotations

from typing import TYPE_CHECKING

from isoscope.core.following.feed import Feed
from isoscope.core.following.told import Told

if TYPE_CHECKING:
    from isoscope.core.recording.model import Recording


def told_of(recording: Recording) -> Told:
    """What a recording told as far as it is written; of another kind, nothing.

    Raises
    ------
    ReadError
        If it can't be read.
    """
    feed, told = Feed(recording), Told(recording.steps.spill)
    more = True
    while more:
        news = feed.news()
        told.take(news)
        more = news.more
    return told

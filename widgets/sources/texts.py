"""The words of the Sources panel; no Qt."""

from __future__ import annotations

from typing import TYPE_CHECKING

from isoscope.core.summary import counted, duration, duration_s
from isoscope.core.timeline.pieces import Shape
from isoscope.widgets.session import Document, Phase

if TYPE_CHECKING:
    from isoscope.core.recording.model import Actor

FORMATS = {
    "superdex-events": "SuperDex events",
    "superdex-state": "SuperDex state",
    "isoscope-labelled": "labelled recording",
}
_SIZES = ("B", "kB", "MB", "GB", "TB")


def size_text(size: int) -> str:
    """Bytes for people, in powers of a thousand: ``101.3 MB``."""
    value, at = float(size), 0
    while value >= 1000 and at < len(_SIZES) - 1:
        value, at = value / 1000, at + 1
    return f"{size} B" if at == 0 else f"{value:.1f} {_SIZES[at]}"


def format_text(document: Document) -> str:
    """The format's name."""
    key = document.recording.format
    return FORMATS.get(key, key or "unknown format")


def seconds_of(document: Document) -> float | None:
    """How long its steps take together, as the sentence on top says it; or None."""
    return duration_s(document.recording)


def progress_of(document: Document) -> float | None:
    """How far the index is, 0 to 1; None if nothing is being indexed."""
    if document.phase is not Phase.INDEXING:
        return None
    done, total = document.progress
    return min(done / total, 1.0) if total > 0 else 0.0


def state_text(document: Document) -> str:
    """One line below the name: what it is, or how far, or what went wrong."""
    done, total = document.progress
    if document.phase is Phase.OPENING:
        return "opening…"
    if document.phase is Phase.INDEXING:
        return f"indexing {progress_of(document) or 0.0:.0%}".replace("%", " %")
    if document.phase is Phase.FAILED:
        return "can't be read" if document.rows == 0 else "can't be read to the end"
    if document.phase is Phase.LIVE or document.live is not None:
        return live_text(document)
    steps = f"{document.rows:,} step{'s' * (document.rows != 1)}"
    if document.phase is Phase.STOPPED:
        return f"stopped after {done:,} of {total:,} events · {steps}"
    seconds = seconds_of(document)
    lasts = "" if seconds is None else f" · {duration(seconds)}"
    return f"{steps}{lasts} · {format_text(document)}"


LIVE_WORDS = {
    "running": "● live",
    "paused": "❙❙ paused",
    "lost": "○ connection lost",
    "ended": "ended",
    "died": "▲ died",
}


def live_text(document: Document) -> str:
    """How the run stands that is, or was, watched."""
    live = document.live
    parts = ["joining…" if live is None else LIVE_WORDS[live.state]]
    if document.phase is Phase.STOPPED:
        parts = ["no longer watched"]
    elif document.phase is Phase.FAILED:
        parts = ["can't be read"]
    parts.append(f"{document.rows:,} step{'s' * (document.rows != 1)}")
    if live is not None and live.lost:
        parts.append(f"{live.lost:,} dropped")
    if live is not None and live.refused:
        parts.append(f"{live.refused:,} refused")
    return " · ".join(parts)


def live_lines(document: Document) -> list[str]:
    """All about a run that is, or was, watched."""
    live = document.live
    if live is None:
        return []
    lines = [LIVE_WORDS[live.state]]
    if live.last_words:
        lines.append(f"its last words: {live.last_words}")
    if live.state == "lost":
        lines.append("nothing has been heard of it for some seconds; it may come back")
    if not live.whole:
        lines.append(
            "here from the joining on: its steps before are not in this window"
        )
    lines += [f"{count:,} {what} dropped" for what, count in live.dropped]
    if live.refused:
        lines.append(f"{counted(live.refused, 'message')} to the run refused")
    if live.stopped:
        lines.append(f"nothing more is kept: {live.stopped}")
    if live.memory is not None:
        lines.append(f"in memory: {live.memory.words}")
        if live.memory.in_file:
            before = f"{document.recording.row_is}s before {live.memory.in_file:,}"
            lines.append(f"{before} are read again from its recording")
    return lines


def tooltip(document: Document) -> str:
    """Path, size, format, precision, steps, seconds, and what went wrong."""
    recording = document.recording
    lines = [str(recording.path) if recording.path is not None else recording.name]
    if recording.size_bytes:
        lines.append(size_text(recording.size_bytes))
    lines.append(format_text(document))
    if recording.real is not None:
        lines.append(f"{recording.real.name} values")
    lines.append(counted(document.rows, recording.row_is))
    seconds = seconds_of(document)
    if seconds is not None:
        lines.append(f"{duration(seconds)} of recording time")
    lines += live_lines(document)
    if document.error:
        lines.append(document.error)
    return "\n".join(lines)


def env_text(document: Document, env: int, cursor: int, *, short: bool = False) -> str:
    """Where an environment is at the cursor: ``"ep 1 · 9"``, ``"ep 1 ended"``.

    Episode and control step of its own last step; ``"1/9"`` where that has to be short.
    How an episode ended, terminated or truncated, a bare recording doesn't say.
    """
    analysis = document.analysis
    if analysis is None:
        return ""
    row = analysis.last_row(env, cursor)
    if row < 0:
        return "not begun"
    place = analysis.attribution.place(row)
    if place.episode < 0:
        return "episode unknown"
    ended = _ended(document, env, row, cursor, short=short)
    if ended:
        return ended if short else f"ep {place.episode} · {ended}"
    after = analysis.next_row(env, row)
    if after >= 0 and row < cursor:
        if analysis.attribution.place(after).episode != place.episode:
            return f"{'' if short else 'ep '}{place.episode} ended"
    if place.control_step == 0:
        return f"{place.episode}/0" if short else f"ep {place.episode} · reset"
    if place.control_step > 0:
        between = "/" if short else " · "
        return f"{'' if short else 'ep '}{place.episode}{between}{place.control_step}"
    if analysis.attribution.episodes > 1:
        return f"ep {place.episode}"
    return "one run"


# A sign and a word for how an environment stands, and a shorter word.
ENDS = {
    Shape.DONE: ("■", "terminated", "term."),
    Shape.TRUNCATED: ("□", "truncated", "cut"),
    Shape.ERROR: ("▲", "snapshot lost", "lost"),
}


def _ended(document: Document, env: int, row: int, cursor: int, *, short: bool) -> str:
    """How an environment's last step left it, where a recording tells of that.

    Nothing while it runs, or once it has gone on.
    """
    if document.told is None:
        return ""
    found = document.told.ended(env, cursor)
    if found.shape is Shape.NOTE or found.row < row:
        return ""
    sign, word, brief = ENDS[found.shape]
    return f"{sign} {brief if short else word}"


def lifetime_text(actor: Actor, later: bool = True) -> str:
    """When it exists, for an actor that comes or goes; empty for one always there.

    `later` says whether it came after its scene had begun.
    """
    first, end = actor.created_native if later else 0, actor.destroyed_native
    if end is not None:
        return f"steps {first}–{end - 1}" if end > first else "in no step"
    return f"from step {first}" if first > 0 else ""


def actor_tooltip(actor: Actor, later: bool = True) -> str:
    """Name, type, handle, lifetime, how many fields."""
    kind = f"{actor.type}, static" if actor.static else actor.type
    lines = [actor.name, f"{kind} · handle {actor.handle}"]
    lifetime = lifetime_text(actor, later)
    if lifetime:
        lines.append(lifetime)
    lines.append(f"{len(actor.fields.tracks)} fields · check: draw it in the Scene")
    return "\n".join(lines)

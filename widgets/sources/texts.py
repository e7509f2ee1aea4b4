"""The words of the Sources panel; no Qt."""

from __future__ import annotations

from typing import TYPE_CHECKING

from isoscope.core.summary import duration, duration_s
from isoscope.widgets.session import Document, Phase

if TYPE_CHECKING:
    from isoscope.core.recording.model import Actor

FORMATS = {"superdex-events": "SuperDex events", "superdex-state": "SuperDex state"}
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
    steps = f"{document.rows:,} step{'s' * (document.rows != 1)}"
    if document.phase is Phase.STOPPED:
        return f"stopped after {done:,} of {total:,} events · {steps}"
    seconds = seconds_of(document)
    lasts = "" if seconds is None else f" · {duration(seconds)}"
    return f"{steps}{lasts} · {format_text(document)}"


def tooltip(document: Document) -> str:
    """Path, size, format, precision, steps, seconds, and what went wrong."""
    recording = document.recording
    lines = [str(recording.path) if recording.path is not None else recording.name]
    if recording.size_bytes:
        lines.append(size_text(recording.size_bytes))
    lines.append(format_text(document))
    if recording.real is not None:
        lines.append(f"{recording.real.name} values")
    lines.append(f"{document.rows:,} native steps")
    seconds = seconds_of(document)
    if seconds is not None:
        lines.append(f"{duration(seconds)} of recording time")
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
    after = analysis.next_row(env, row)
    if after >= 0 and row < cursor:
        if analysis.attribution.place(after).episode != place.episode:
            return f"ep {place.episode} ended"
    if place.control_step == 0:
        return f"ep {place.episode} · reset"
    if place.control_step > 0:
        between = "/" if short else " · "
        return f"{'' if short else 'ep '}{place.episode}{between}{place.control_step}"
    if analysis.attribution.episodes > 1:
        return f"ep {place.episode}"
    return "one run"


def lifetime_text(actor: Actor) -> str:
    """When it exists, for an actor that comes or goes; empty for one always there."""
    first, end = actor.created_native, actor.destroyed_native
    if end is not None:
        return f"steps {first}–{end - 1}" if end > first else "in no step"
    return f"from step {first}" if first > 0 else ""


def actor_tooltip(actor: Actor) -> str:
    """Name, type, handle, lifetime, how many fields."""
    kind = f"{actor.type}, static" if actor.static else actor.type
    lines = [actor.name, f"{kind} · handle {actor.handle}"]
    lifetime = lifetime_text(actor)
    if lifetime:
        lines.append(lifetime)
    lines.append(f"{len(actor.fields.tracks)} fields · check: draw it in the Scene")
    return "\n".join(lines)

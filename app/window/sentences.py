"""What the bar on top says of a document, at each stage of it. No Qt."""

from __future__ import annotations

from typing import TYPE_CHECKING

from isoscope.app.analysing import STOPPED
from isoscope.core.isolation.sentence import sentence_of as found_out
from isoscope.core.isolation.sentence import verdict
from isoscope.core.summary import counted, problem_counts, summarize
from isoscope.widgets.sentence_bar import Sentence, Tone
from isoscope.widgets.session import Phase

if TYPE_CHECKING:
    from pathlib import Path

    from isoscope.widgets.elided import Part
    from isoscope.widgets.session import Document

TONES: tuple[Tone, ...] = ("error", "warning")
NOTHING = Sentence(("Nothing is open: open a recording, or drop one here.",))
PROBLEMS, CANCEL, RELOAD = "problems", "cancel", "reload"
SHOW, FINDINGS, ANALYSE = "show", "findings", "analyse"


def opening(paths: list[Path], joining: list[str]) -> Sentence:
    """While files are looked at, or runs joined, and nothing else is open."""
    names = ", ".join([*(path.name for path in paths), *joining])
    return Sentence((f"{'Opening' if paths else 'Joining'} {names} …",))


def sentence_of(document: Document, several: bool = False) -> Sentence:
    """What this document is and what is wrong with it.

    Parameters
    ----------
    document
        Of which it says something.
    several
        Whether others are open too, so that it has to be named.
    """
    name: tuple[str | Part, ...] = ((f"{document.name}  ", True),) if several else ()
    phase = document.phase
    if phase is Phase.FAILED:
        return Sentence(
            (document.error,),
            "error",
            ((RELOAD, "Try again"),),
        )
    if phase in (Phase.OPENING, Phase.INDEXING):
        return _indexing(document, name)
    if phase is Phase.LIVE:
        return _live(document, name)
    parts: list[str | Part] = [*name, *_said(document)]
    parts += _ended(document)
    buttons: list[tuple[str, str]] = []
    tone = _tone(document)
    if document.live is not None and document.live.state == "died":
        tone = "error"
    errors, others = problem_counts(document.recording)
    if phase is Phase.STOPPED and document.live is not None:
        parts.append(" It is no longer watched.")
        if document.live.stopped:
            tone = _worse(tone, "warning")
            parts.append((" The run goes on, but its recording has stopped.", True))
    elif phase is Phase.STOPPED:
        tone = _worse(tone, "warning")
        done, total = document.progress
        parts.append((f" Stopped after {done:,} of {counted(total, 'event')}.", True))
        buttons.append((RELOAD, "Read it again"))
    if errors:
        tone = _worse(tone, "warning" if document.rows else "error")
        verb = counted(errors, "place")
        parts.append((f" {verb} could not be read.", True))
    if errors or others:
        text = counted(errors, "problem") if errors else counted(others, "remark")
        buttons.insert(0, (PROBLEMS, f"Show {text}"))
    buttons += _finding_buttons(document)
    progress = document.analysing
    if progress is not None:
        parts.append(" Finding out whose each step was …")
        buttons.append((CANCEL, "Stop"))
    elif document.analysis_error:
        ended = "was stopped" if document.analysis_error == STOPPED else "failed"
        parts.append((f" The analysis {ended}.", True))
        buttons.append((ANALYSE, "Analyse"))
    return Sentence(tuple(parts), tone, tuple(buttons), progress)


def _live(document: Document, name: tuple[str | Part, ...]) -> Sentence:
    """While a run is watched."""
    live = document.live
    said = "Joining the run." if live is None else LIVE[live.state]
    analysis = document.analysis
    envs = () if analysis is None else analysis.environments
    told = document.told
    parts: list[str | Part] = [*name, said]
    counts = [counted(document.rows, document.recording.row_is)]
    if envs:
        counts.insert(0, _environments(document, len(envs)))
    if told is not None and len(told.chunks):
        counts.append(counted(len(told.chunks), "chunk"))
    parts.append(f" {', '.join(counts)}" + (" so far." if document.rows else "."))
    tone: Tone = "plain"
    if live is not None:
        if not live.whole:
            parts.append(" What was before the joining is not here.")
        if live.lost:
            tone = "warning"
            parts.append((f" {live.lost:,} records were dropped.", True))
        if live.refused:
            tone = "warning"
            refused = counted(live.refused, "message")
            parts.append((f" The run refused {refused}.", True))
        if live.stopped:
            tone = "warning"
            parts.append((f" Nothing more is kept: {live.stopped}.", True))
        if live.state == "lost":
            tone = "warning"
    if analysis is not None and analysis.audit is not None and document.findings:
        parts += verdict(analysis.audit)
        tone = _worse(tone, _tone(document))
    buttons = (*_finding_buttons(document), (CANCEL, "Stop watching"))
    return Sentence(tuple(parts), tone, buttons)


def _environments(document: Document, shown: int) -> str:
    """How many there are, of a batch how many of them are read back."""
    labelled = document.recording.labelled
    every = None if labelled is None else labelled.identity.environments
    if every is None or every <= shown:
        return counted(shown, "environment")
    return f"{shown:,} of {counted(every, 'environment')}"


LIVE = {
    "running": "The run is live.",
    "paused": "The run is paused.",
    "lost": "The connection to the run is lost; waiting for it to come back.",
    "ended": "The run has ended.",
    "died": "The run has died.",
}


def _ended(document: Document) -> list[str | Part]:
    """How a run ended that was watched."""
    live = document.live
    if live is None or not live.over:
        return []
    if live.state == "ended":
        return [" The run has ended."]
    words = f": {live.last_words}" if live.last_words else ""
    return [(f" The run died{words}.", True)]


def _said(document: Document) -> list[str | Part]:
    """What it is and what is wrong with it, as far as anybody has looked."""
    analysis = document.analysis
    if analysis is None:
        return [summarize(document.recording)]
    return [*found_out(document.recording, analysis.attribution, analysis.audit)]


def _tone(document: Document) -> Tone:
    severities = {finding.severity for finding in document.findings}
    return next((s for s in TONES if s in severities), "plain")


def _worse(one: Tone, other: Tone) -> Tone:
    return next((t for t in TONES if t in (one, other)), "plain")


def _finding_buttons(document: Document) -> list[tuple[str, str]]:
    count = len(document.findings)
    if not count:
        return []
    every = "The finding" if count == 1 else f"All {count:,} findings"
    return [(SHOW, "Show"), (FINDINGS, every)]


def _indexing(document: Document, name: tuple[str | Part, ...]) -> Sentence:
    done, total = document.progress
    recording = document.source.recording
    share = done / total if total else 0.0
    text = (
        f"Indexing {document.name}: {share:.0%} of {counted(total, 'event')}, "
        f"{counted(len(recording), recording.row_is)} so far."
    )
    return Sentence((text,), buttons=((CANCEL, "Stop"),), progress=share)

"""What the bar on top says of a document, at each stage of it. No Qt."""

from __future__ import annotations

from typing import TYPE_CHECKING

from isoscope.core.summary import counted, problem_counts, summarize
from isoscope.widgets.sentence_bar import Sentence, Tone
from isoscope.widgets.session import Phase

if TYPE_CHECKING:
    from pathlib import Path

    from isoscope.widgets.elided import Part
    from isoscope.widgets.session import Document

NOTHING = Sentence(("Nothing is open: open a recording, or drop one here.",))
PROBLEMS, CANCEL, RELOAD = "problems", "cancel", "reload"


def opening(paths: list[Path]) -> Sentence:
    """While the first look at files is being taken and nothing else is open."""
    names = ", ".join(path.name for path in paths)
    return Sentence((f"Opening {names} …",))


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
    parts: list[str | Part] = [*name, summarize(document.recording)]
    buttons: list[tuple[str, str]] = []
    tone: Tone = "plain"
    errors, others = problem_counts(document.recording)
    if phase is Phase.STOPPED:
        tone = "warning"
        done, total = document.progress
        parts.append((f" Stopped after {done:,} of {counted(total, 'event')}.", True))
        buttons.append((RELOAD, "Read it again"))
    if errors:
        tone = "warning" if document.rows else "error"
        verb = counted(errors, "place")
        parts.append((f" {verb} could not be read.", True))
    if errors or others:
        text = counted(errors, "problem") if errors else counted(others, "remark")
        buttons.insert(0, (PROBLEMS, f"Show {text}"))
    return Sentence(tuple(parts), tone, tuple(buttons))


def _indexing(document: Document, name: tuple[str | Part, ...]) -> Sentence:
    done, total = document.progress
    share = done / total if total else 0.0
    text = (
        f"Indexing {document.name}: {share:.0%} of {counted(total, 'event')}, "
        f"{counted(len(document.source.recording), 'native step')} so far."
    )
    return Sentence((text,), buttons=((CANCEL, "Stop"),), progress=share)

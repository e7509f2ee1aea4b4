"""Why a document can't be stepped again, and what to do about it. No Qt."""

from __future__ import annotations

from typing import TYPE_CHECKING

from isoscope.widgets.session import Phase

if TYPE_CHECKING:
    from isoscope.widgets.session import Document

HOW_TO = (
    "Record it with the tap, which takes snapshots and every control input:\n"
    'env = tap.attach(env, record="run.isoscope.h5") in the program that steps it, '
    "or isoscope record --env ID --out run.isoscope.h5."
)
BY_MODEL = (
    "A model of yours can stand in for what stepped it, in the built-in simulator: it "
    "says how far off it is, field by field."
)


def bare(document: Document | None) -> bool:
    """Whether it is a recording that only a model can step again."""
    return (
        document is not None
        and document.phase in (Phase.READY, Phase.STOPPED)
        and document.recording.labelled is None
    )


def why_not(document: Document | None, *, by_model: bool = False) -> str:
    """Why nothing can be stepped again, or by a model; empty where it can."""
    if document is None:
        return "Open a labelled recording (*.isoscope.h5) to step it again."
    if document.phase is Phase.LIVE:
        return "A run can be stepped again as soon as it has ended and is a recording."
    if document.phase is Phase.FAILED:
        return f"There is nothing to step again: {document.error}"
    if document.phase in (Phase.OPENING, Phase.INDEXING):
        return "It can be stepped again as soon as it is indexed."
    if by_model:
        return _unknown(document)
    if document.recording.labelled is None:
        return (
            f"{document.name} is a bare recording: it holds neither snapshots to begin "
            f"from nor the control inputs to go on with.\n\n{HOW_TO}\n\n{BY_MODEL}"
        )
    if not document.recording.labelled.count("snapshots"):
        return (
            f"{document.name} holds no snapshots to begin from.\n\n{HOW_TO}\n"
            "isoscope record takes one every 50 control steps (--snapshots)."
        )
    return _unknown(document)


def _unknown(document: Document) -> str:
    if document.analysis is None:
        return document.analysis_error or "Finding out whose its steps were…"
    return ""

"""The bar on top in a window: what it says now, and what its buttons do."""

from __future__ import annotations

from typing import TYPE_CHECKING

from isoscope.app.window import sentences
from isoscope.app.window.wiring import show_problems

if TYPE_CHECKING:
    from isoscope.app.window.window import Window
    from isoscope.app.workspace import Workspace
    from isoscope.widgets.sentence_bar import Sentence


def sentence_now(workspace: Workspace) -> Sentence:
    """What is to be said of the active document, or of what is opened or joined."""
    session = workspace.session
    if session.active is not None:
        return sentences.sentence_of(session.active, len(session.documents) > 1)
    opening, joining = list(workspace.opening), list(workspace.attaching.joining)
    if opening or joining:
        return sentences.opening(opening, joining)
    return sentences.NOTHING


def pressed(window: Window, key: str) -> None:
    """Do what a button of the bar says."""
    document = window.session.active
    if key == sentences.CANCEL:
        window.actions_by_id["file.cancel"].trigger()
    elif key == sentences.RELOAD:
        window.actions_by_id["file.reload"].trigger()
    elif key == sentences.PROBLEMS:
        show_problems(window)
    elif key == sentences.SHOW:
        chosen = None if document is None else document.finding
        window.show_finding(0 if chosen is None else chosen)
    elif key == sentences.FINDINGS:
        window.bring_into_view("findings")
    elif key == sentences.ANALYSE and document is not None:
        window.workspace.analysing.start(document)

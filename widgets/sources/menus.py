"""What can be done with an environment, and with a document as another's twin."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

    from PySide6.QtWidgets import QMenu

    from isoscope.widgets.session import Document, Session


def add_env_actions(
    menu: QMenu, env: int, document: Document, session: Session
) -> None:
    """Look at one environment, show it alone, or show all."""
    analysis = document.analysis
    if analysis is None or not analysis.shared:
        return
    others = set(analysis.environments) - {env}

    def look() -> None:
        session.activate(document)
        session.focus(env)

    menu.addAction(f"Look at env {env}", look)
    menu.addAction("Show only this", lambda: document.set_hidden_envs(others))
    menu.addAction("Show all", lambda: document.set_hidden_envs(set()))
    menu.addSeparator()


def add_twin_actions(
    menu: QMenu,
    document: Document,
    active: Document | None,
    choose: Callable[[Document, Document | None], None],
) -> None:
    """Compare the active document with this one: the same environment stepped alone.

    Parameters
    ----------
    document
        What the menu is of.
    choose
        Called with a document and its twin, or None for none any more.
    """
    if active is not None and active is not document and document.rows:
        menu.addAction(
            f"Use as independent twin of {active.name}",
            lambda: choose(active, document),
        )
    twin = document.twin
    if twin is not None:
        menu.addAction(
            f"Compare with {twin.name} no more", lambda: choose(document, None)
        )

"""Between a window and a link to what it shows."""

from __future__ import annotations

from typing import TYPE_CHECKING

from isoscope.app.links import ViewLink
from isoscope.app.settings import THEME_CHOICES, theme_choice
from isoscope.core.errors import UsageError
from isoscope.core.positions import NativePosition, format_position, parse_position

if TYPE_CHECKING:
    from isoscope.app.window.window import Window
    from isoscope.widgets.session import Document


def link_of(window: Window) -> ViewLink | None:
    """The link to what the window shows; None where there is nothing."""
    document = window.session.active
    if document is None or document.source.recording.path is None:
        return None
    others = [d for d in window.session.documents if d is not document]
    paths = [d.source.recording.path for d in (*others, document)]
    return ViewLink(
        tuple(str(path) for path in paths if path is not None),
        format_position(NativePosition(window.session.clock.row)),
        window.arrangement.key,
        window.session.theme,
        document.selection.actor,
        tuple(sorted(document.hidden)),
        tuple(document.plots),
        document.focus,
    )


def check_link(link: ViewLink, layouts: set[str]) -> None:
    """Refuse what this program doesn't know, before anything is changed.

    Raises
    ------
    UsageError, PositionError
        With the names that there are.
    """
    if link.at:
        parse_position(link.at)
    if link.layout and link.layout not in layouts:
        names = ", ".join(sorted(layouts))
        raise UsageError(f"no layout named {link.layout!r}; there is {names}")
    if link.theme and link.theme not in THEME_CHOICES:
        names = ", ".join(THEME_CHOICES)
        raise UsageError(f"no theme named {link.theme!r}; there is {names}")


def show_link(window: Window, link: ViewLink) -> None:
    """Open what the link names and look at it as it says.

    Raises
    ------
    UsageError, PositionError
        As `check_link`; nothing is changed then.
    """
    check_link(link, {layout.key for layout in window.arrangement.layouts})
    theme = theme_choice(link.theme)
    if theme is not None:
        window.set_theme(theme, remember=False)
    if link.layout:
        window.set_layout(link.layout)
    for name in link.files[:-1]:
        window.open_files([name])

    def look(document: Document) -> None:
        window.session.activate(document)
        for actor in link.hidden:
            document.set_hidden(actor, True)
        if link.plots:
            document.set_plots(list(link.plots))  # and not what is plotted by itself
        if link.actor is not None:
            window.session.select(link.actor)
        if link.env is not None:
            window.session.focus(link.env)

    window.open_files([link.files[-1]], at=link.at, then=look)

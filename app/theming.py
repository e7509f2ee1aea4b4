"""The look: one style sheet filled from the theme's colours, for the whole program."""

from __future__ import annotations

from string import Template
from typing import TYPE_CHECKING

from PySide6.QtCore import QObject, Qt, Signal
from PySide6.QtGui import QColor, QFontDatabase, QGuiApplication, QPalette
from PySide6.QtWidgets import QApplication

from isoscope import resources
from isoscope.widgets import look
from isoscope.widgets.theme import Tokens, tokens

if TYPE_CHECKING:
    from PySide6.QtGui import QFont

    from isoscope.app.settings import ThemeChoice
    from isoscope.widgets.session import Session

# How much of one colour is mixed into another.
SOFT, HOVER, DISABLED, VEIL = 0.16, 0.07, 0.45, 235


def style_sheet(theme: Tokens, font: QFont) -> str:
    """The whole style sheet for a theme, with this font as the base.

    Raises
    ------
    KeyError
        If the template asks for a name that there isn't.
    """
    base = font.pointSizeF() if font.pointSizeF() > 0 else 9.0
    fixed = QFontDatabase.systemFont(QFontDatabase.SystemFont.FixedFont)
    veil = QColor(theme.panel)
    names = {
        name: getattr(theme, name)
        for name in Tokens.__slots__
        if isinstance(getattr(theme, name), str)
    }
    names |= {
        "mono_font": fixed.family(),
        "medium_size": f"{base * 1.2:g}pt",
        "large_size": f"{base * 1.45:g}pt",
        "title_size": f"{base * 2.4:g}pt",
        "hover": _mixed(theme.raised, theme.text, HOVER),
        "accent_soft": _mixed(theme.panel, theme.accent, SOFT + HOVER),
        "accent_hover": _mixed(theme.accent, theme.text, SOFT),
        "error_soft": _mixed(theme.panel, theme.error, SOFT - HOVER),
        "warning_soft": _mixed(theme.panel, theme.warning, SOFT - HOVER),
        "faint_text": _mixed(theme.faint, theme.dim, DISABLED),
        "veil": f"rgba({veil.red()}, {veil.green()}, {veil.blue()}, {VEIL})",
    }
    return Template(resources.text("themes", "app.qss")).substitute(names)


def palette(theme: Tokens) -> QPalette:
    """The panels' palette, upon the window's background."""
    made = look.palette(theme)
    made.setColor(QPalette.ColorRole.Window, QColor(theme.window))
    return made


def _mixed(below: str, above: str, share: float) -> str:
    return look.blend(below, above, share).name()


class Theming(QObject):
    """Which theme is on: the user's choice, or the system's."""

    changed = Signal(str)

    def __init__(self, session: Session, choice: ThemeChoice) -> None:
        super().__init__()
        self.session = session
        self.choice = choice
        self._hints = QGuiApplication.styleHints()
        self._hints.colorSchemeChanged.connect(self._on_system)
        self._applied = ""
        self.choose(choice)

    @property
    def effective(self) -> str:
        """``"dark"`` or ``"light"``; dark where the system doesn't say."""
        if self.choice != "system":
            return self.choice
        return "light" if self.system_scheme() == Qt.ColorScheme.Light else "dark"

    def system_scheme(self) -> Qt.ColorScheme:
        """What the system asks for, as far as Qt knows."""
        return self._hints.colorScheme()

    def choose(self, choice: ThemeChoice) -> None:
        """Use this theme, or follow the system, from now on."""
        self.choice = choice
        schemes = {"dark": Qt.ColorScheme.Dark, "light": Qt.ColorScheme.Light}
        if choice == "system":
            self._hints.unsetColorScheme()
        else:
            # Window frames and system dialogs follow as well.
            self._hints.setColorScheme(schemes[choice])
        self.apply()

    def apply(self) -> None:
        """Put the look onto the program, if it isn't on."""
        name = self.effective
        app = QApplication.instance()
        if not isinstance(app, QApplication):
            raise RuntimeError("a theme needs a QApplication")
        if name != self._applied:
            self._applied = name
            app.setPalette(palette(tokens(name)))
            app.setStyleSheet(style_sheet(tokens(name), app.font()))
        self.session.set_theme(name)
        self.changed.emit(name)

    def release(self) -> None:
        """Follow the system no longer."""
        self._hints.colorSchemeChanged.disconnect(self._on_system)

    def _on_system(self, _scheme: object) -> None:
        if self.choice == "system":
            self.apply()

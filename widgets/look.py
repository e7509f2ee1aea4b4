"""What the panels share of their looks: fonts, palette, and a style sheet of tokens.

A panel calls `dress`, so that it looks right alone, in a dock and in a test.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from PySide6.QtGui import QColor, QFont, QFontDatabase, QPalette

if TYPE_CHECKING:
    from PySide6.QtWidgets import QWidget

    from isoscope.widgets.theme import Tokens


def mono(base: QFont, scale: float = 1.0) -> QFont:
    """A font of fixed width, as large as `base` times `scale`."""
    font = QFontDatabase.systemFont(QFontDatabase.SystemFont.FixedFont)
    font.setStyleHint(QFont.StyleHint.Monospace)
    _resize(font, base, scale)
    return font


def scaled(base: QFont, scale: float, *, bold: bool = False) -> QFont:
    """The font, larger or smaller."""
    font = QFont(base)
    _resize(font, base, scale)
    font.setBold(bold)
    return font


def _resize(font: QFont, base: QFont, scale: float) -> None:
    if base.pointSizeF() > 0:
        font.setPointSizeF(base.pointSizeF() * scale)
    else:
        font.setPixelSize(max(round(base.pixelSize() * scale), 1))


def palette(t: Tokens) -> QPalette:
    """A palette of the theme's colours, for what paints itself from one."""
    made = QPalette()
    role = QPalette.ColorRole
    for which, name in (
        (role.Window, t.panel),
        (role.Base, t.panel),
        (role.AlternateBase, t.raised),
        (role.Button, t.raised),
        (role.Text, t.text),
        (role.WindowText, t.text),
        (role.ButtonText, t.text),
        (role.PlaceholderText, t.dim),
        (role.Highlight, t.accent),
        (role.HighlightedText, t.accent_text),
        (role.ToolTipBase, t.raised),
        (role.ToolTipText, t.text),
        (role.Mid, t.border),
        (role.Link, t.accent),
    ):
        made.setColor(which, QColor(name))
    for which in (role.Text, role.WindowText, role.ButtonText):
        made.setColor(QPalette.ColorGroup.Disabled, which, QColor(t.faint))
    return made


def dress(widget: QWidget, t: Tokens, extra: str = "") -> None:
    """Give a panel its palette and style sheet, and `extra` rules of its own.

    The old sheet is taken off first: it would bring back the palette that it found.
    """
    widget.setStyleSheet("")
    widget.setPalette(palette(t))
    widget.setStyleSheet(sheet(t) + extra)


def blend(below: str, above: str, share: float) -> QColor:
    """`share` (0 to 1) of the colour `above` laid upon `below`."""
    a, b = QColor(below), QColor(above)
    return QColor(
        round(a.red() + (b.red() - a.red()) * share),
        round(a.green() + (b.green() - a.green()) * share),
        round(a.blue() + (b.blue() - a.blue()) * share),
    )


def sheet(t: Tokens) -> str:
    """The style sheet of a panel: buttons, text boxes, trees, bars, menus."""
    hover = blend(t.raised, t.text, 0.06).name()
    chosen = blend(t.panel, t.accent, 0.22).name()
    return f"""
    QToolButton, QPushButton {{
        color: {t.text}; background: {t.raised}; border: 1px solid {t.border};
        border-radius: 5px; padding: 3px 9px;
    }}
    QToolButton:hover, QPushButton:hover {{ background: {hover}; }}
    QToolButton:pressed, QPushButton:pressed {{ background: {t.border}; }}
    QToolButton:checked {{ color: {t.accent}; border-color: {t.accent}; }}
    QToolButton:focus, QPushButton:focus {{ border-color: {t.accent}; }}
    QToolButton:disabled, QPushButton:disabled {{ color: {t.faint}; }}
    QToolButton[flat="true"] {{ background: transparent; border-color: transparent;
        padding: 1px 5px; color: {t.dim}; }}
    QToolButton[flat="true"]:hover {{ color: {t.text}; background: {hover}; }}
    QToolButton[flat="true"]:focus {{ border-color: {t.accent}; }}
    QToolButton[flat="true"]:disabled {{ color: {t.faint}; }}
    QToolButton::menu-indicator {{ image: none; width: 0px; }}
    QLabel {{ color: {t.text}; }}
    QLabel#dim, ElidedLabel#dim, QLabel#note {{ color: {t.dim}; }}
    QLabel#error {{ color: {t.error}; }}
    QLabel#warning {{ color: {t.warning}; }}
    QLineEdit {{
        color: {t.text}; background: {t.raised}; border: 1px solid {t.border};
        border-radius: 5px; padding: 2px 6px; min-height: 18px;
        selection-background-color: {t.accent}; selection-color: {t.accent_text};
    }}
    QLineEdit:focus {{ border-color: {t.accent}; }}
    QTreeView {{ color: {t.text}; background: {t.panel};
        border: 1px solid transparent; outline: none;
        selection-background-color: {chosen}; selection-color: {t.text}; }}
    QTreeView:focus {{ border-color: {t.accent}; }}
    QHeaderView {{ background: {t.panel}; }}
    QHeaderView::section {{
        color: {t.dim}; background: {t.panel}; border: none;
        border-bottom: 1px solid {t.border}; padding: 2px 6px;
    }}
    QProgressBar {{ background: {t.border}; border: none; border-radius: 2px; }}
    QProgressBar::chunk {{ background: {t.accent}; border-radius: 2px; }}
    QScrollArea {{ background: transparent; border: none; }}
    QScrollBar:vertical {{ background: transparent; width: 10px; margin: 0px; }}
    QScrollBar:horizontal {{ background: transparent; height: 10px; margin: 0px; }}
    QScrollBar::handle {{ background: {t.faint}; border-radius: 3px; margin: 2px;
        min-height: 24px; min-width: 24px; }}
    QScrollBar::add-line, QScrollBar::sub-line {{ width: 0px; height: 0px; }}
    QScrollBar::add-page, QScrollBar::sub-page {{ background: transparent; }}
    QMenu {{ color: {t.text}; background: {t.raised}; border: 1px solid {t.border};
        padding: 4px; }}
    QMenu::item {{ padding: 4px 22px 4px 22px; border-radius: 4px; }}
    QMenu::item:selected {{ background: {t.accent}; color: {t.accent_text}; }}
    QMenu::item:disabled {{ color: {t.faint}; }}
    QMenu::separator {{ height: 1px; background: {t.border}; margin: 4px 8px; }}
    QToolTip {{ color: {t.text}; background: {t.raised};
        border: 1px solid {t.border}; padding: 3px; }}
    """

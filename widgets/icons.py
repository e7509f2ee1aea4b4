"""Icons of qtawesome's fonts, drawn once: by itself it draws one for each painting."""

from __future__ import annotations

from functools import lru_cache

import qtawesome
from PySide6.QtCore import QSize
from PySide6.QtGui import QIcon

SCALES = (1, 2)  # physical pixels of one of the design; Qt makes others of these
LOOKS = (
    (QIcon.Mode.Normal, QIcon.State.Off),
    (QIcon.Mode.Normal, QIcon.State.On),
    (QIcon.Mode.Disabled, QIcon.State.Off),
)


@lru_cache(maxsize=256)
def icon(
    name: str, side_px: int, color: str, on: str = "", disabled: str = ""
) -> QIcon:
    """An icon of this name.

    Parameters
    ----------
    name
        qtawesome's, as ``"mdi6.crosshairs"``.
    side_px
        How large it is shown, in pixels of the design.
    color, on, disabled
        Its colours; `on` where what has it is pressed. Empty: as `color`.
    """
    drawn = qtawesome.icon(
        name, color=color, color_on=on or color, color_disabled=disabled or color
    )
    kept = QIcon()
    for mode, state in LOOKS:
        for scale in SCALES:
            side = side_px * scale
            pixmap = drawn.pixmap(QSize(side, side), mode, state)
            pixmap.setDevicePixelRatio(scale)
            kept.addPixmap(pixmap, mode, state)
    return kept

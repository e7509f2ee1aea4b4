"""How far one document's re-simulation is. No Qt."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from isoscope.core.replay.states import Replayed
    from isoscope.widgets.replay.request import Request


@dataclass(slots=True, eq=False)
class ReplayState:
    """What was asked last, whether it runs, and what came out.

    Attributes
    ----------
    running
        What is being done; empty where nothing is.
    done, total
        Native steps.
    error
        Why nothing came out of it; empty where something did.
    of
        What was asked for what is shown; None for a branch.
    """

    running: str = ""
    done: int = 0
    total: int = 0
    error: str = ""
    cancelling: bool = False
    shown: Replayed | None = None
    of: Request | None = None

"""How far one document's re-simulation is. No Qt."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from isoscope.widgets.replay.request import Request

if TYPE_CHECKING:
    from isoscope.core.replay.states import Replayed


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
        What was asked for what is shown.
    asked
        What was asked last.
    """

    running: str = ""
    done: int = 0
    total: int = 0
    error: str = ""
    cancelling: bool = False
    shown: Replayed | None = None
    of: Request | None = None
    asked: Request = field(default_factory=Request)

"""Where a recording has no bodies, nothing piles up in front of the graphics card."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from isoscope.widgets.scene.draw.actors import ActorTexture
from isoscope.widgets.scene.draw.bodies import Bodies, DrawnCell

LOOK = {"u_clip": np.eye(4, dtype=np.float32)}


def drawn(bodies: Bodies, kind: str) -> None:
    actors = ActorTexture()
    actors.update(np.zeros((1, 3, 4)), np.ones((1, 4)), np.zeros(3))
    deformed = bodies.deformed()
    match kind:
        case "lit":
            bodies.draw_lit(actors, deformed, LOOK, translucent=False)
        case "shadows":
            bodies.draw_shadows(actors, deformed, LOOK)
        case "flat":
            bodies.draw_flat(
                actors, deformed, (0,), LOOK["u_clip"], (0.0, 0.0), (1.0, 1.0, 1.0, 1.0)
            )
        case "cells":
            cells = [DrawnCell(0, None, deformed)]
            bodies.draw_cells(False, actors, cells, LOOK, lambda _number: None)


def waiting(bodies: Bodies) -> int:
    """What the programs were told and has not been drawn."""
    programs: list[Any] = [bodies._lit, bodies._flat, bodies._shadow]
    return sum(len(p.glir._shared._commands) for p in programs)


@pytest.mark.parametrize("kind", ["lit", "shadows", "flat", "cells"])
def test_a_frame_without_bodies_asks_for_nothing(kind: str) -> None:
    bodies = Bodies()
    before = waiting(bodies)
    for _ in range(3):
        drawn(bodies, kind)
    assert waiting(bodies) == before

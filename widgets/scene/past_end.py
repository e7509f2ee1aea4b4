"""What was stepped past the recorded end, alone in the scene. No GL."""

from __future__ import annotations

from typing import TYPE_CHECKING

from isoscope.core.summary import counted
from isoscope.widgets.scene.caption import Caption
from isoscope.widgets.scene.ghosts import ghost_state
from isoscope.widgets.scene.grid.picture import GridPainter, GridPicture
from isoscope.widgets.scene.pair import NamedCell, with_still
from isoscope.widgets.scene.resolve import resolve
from isoscope.widgets.scene.state import Ghost, Intent

if TYPE_CHECKING:
    from isoscope.core.replay.past_end import PastEnd
    from isoscope.widgets.scene.grid.cells import Cell
    from isoscope.widgets.scene.model import SceneModel
    from isoscope.widgets.theme import Tokens


class PastEndMode:
    """The one cell, of the document whose re-simulation is looked at."""

    def __init__(self) -> None:
        self._painter = GridPainter()

    def follow(
        self,
        name: str,
        found: PastEnd,
        step: int,
        model: SceneModel,
        without: frozenset[int],
        tokens: Tokens,
    ) -> tuple[GridPicture, tuple[Cell, ...], Caption]:
        """The picture of a step past the end, and what is said of it.

        Parameters
        ----------
        name
            What to call what was stepped.
        step
            Which, from 1.
        without
            Actors that are not drawn.
        """
        recording = model.recording
        assert recording is not None
        intent = Intent(hidden=without, contacts=False)
        last = resolve(recording, model.shapes, found.after, intent, model.labels)
        ghost = Ghost(step - 1, "", recording=found.recording)
        alone = with_still(
            ghost_state(recording, model.shapes, ghost, without, model.shapes_of),
            last,
            model,
        )
        model.state = last
        labels = found.recording.labels
        assert labels is not None
        at = step - 1
        env = int(labels.env[at])
        where = (int(labels.episode[at]), int(labels.control_step[at]), -1)
        cell = NamedCell(
            env, found.after, *where, tokens.environment(env), False, (), title=name
        )
        picture = self._painter.picture(
            model.shapes, model.survey, (cell,), [alone], [without], tokens
        )
        caption = Caption(
            f"{name} · {found.place(step)}",
            f"step {step} of {counted(len(found), 'native step')} past the recorded "
            f"end (native step {found.after:,})",
            ("shown: alone, since nothing was recorded here",),
        )
        return picture, (cell,), caption

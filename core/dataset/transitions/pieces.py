"""Control steps in any order, put into episodes: by environment, in stretches.

An episode is the control steps of one environment between two resets. Where control
steps are missing in between, o_k+1 of the one before the gap is not o_k of the one
after it, so the episode is cut there into pieces; only the last can have an end.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from isoscope.core.recording.tracks import Array, Int64Array

NONE_KNOWN = -1


@dataclass(frozen=True, slots=True, eq=False)
class Piece:
    """Consecutive control steps of one episode.

    Attributes
    ----------
    rows
        int64 [T]: where each is among the rows that were given.
    first_step
        The control step's number of the first, from 1.
    part
        Which piece of its episode it is, from 1; 0 where it is all of it.
    last
        Whether it is the episode's last piece.
    """

    env: int
    number: int
    rows: Int64Array
    first_step: int
    part: int
    last: bool

    @property
    def id(self) -> str:
        """Names it within its recording, such as ``env0-ep2`` or ``env0-ep2.1``."""
        ending = f".{self.part}" if self.part else ""
        return f"env{self.env}-ep{self.number}{ending}"


def pieces_of(env: Array, episode: Array, control_step: Array) -> list[Piece]:
    """Group control steps by environment and episode, ascending.

    Parameters
    ----------
    env, episode, control_step
        Whole numbers [n]; rows where one of them is unknown (below 0), and resets
        (control step 0), belong to none.

    Returns
    -------
    list
        Ordered by environment, then episode. A control step that is there twice ends
        its piece, too: which of the two happened is not known.
    """
    known = np.flatnonzero((env >= 0) & (episode > 0) & (control_step > 0))
    order = known[np.lexsort((known, control_step[known], episode[known], env[known]))]
    if not len(order):
        return []
    same = np.diff(env[order]) == 0
    same &= np.diff(episode[order]) == 0
    follows = same & (np.diff(control_step[order]) == 1)
    cuts = np.flatnonzero(~follows) + 1
    begins = np.concatenate([[0], cuts])
    ends = np.concatenate([cuts, [len(order)]])
    new_episode = np.concatenate([[True], ~same])[begins]
    found: list[Piece] = []
    part = 0
    for number, (begin, end) in enumerate(zip(begins, ends, strict=True)):
        last = number + 1 == len(begins) or bool(new_episode[number + 1])
        part = 1 if new_episode[number] else part + 1
        rows = order[begin:end].astype(np.int64)
        first = rows[0]
        found.append(
            Piece(
                env=int(env[first]),
                number=int(episode[first]),
                rows=rows,
                first_step=int(control_step[first]),
                part=0 if last and part == 1 else part,
                last=last,
            )
        )
    return found

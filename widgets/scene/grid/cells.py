"""What is in each cell of the grid at a cursor: whose state, where, and what of it.

Each environment is shown in the state in which its own last native step at or before
the cursor left it, and never in what a shared scene happens to hold. Pure; no Qt.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from isoscope.core.isolation.findings import SEVERITIES
from isoscope.core.recording.model import StepKind

if TYPE_CHECKING:
    from isoscope.core.analysis import Analysis
    from isoscope.core.isolation.findings import Finding
    from isoscope.widgets.scene.grid.ends import Ends
    from isoscope.widgets.scene.grid.owners import Owners
    from isoscope.widgets.session import Document
    from isoscope.widgets.theme import Tokens

MOST_CELLS = 64
SHORT = {"terminated": "term.", "truncated": "cut"}
Tone = Literal["error", "warning", "text", "dim"]


@dataclass(frozen=True, slots=True)
class Chip:
    """A word about a cell's state; its tone is not the only thing that tells it.

    `short` is for where there is no room for `text`; empty where that is cut instead.
    """

    text: str
    tone: Tone
    short: str = ""


@dataclass(frozen=True, slots=True)
class Cell:
    """One environment at the cursor.

    Attributes
    ----------
    env
        Its number; -1 where nobody knows whose steps these are.
    row
        Its own last native step; -1 where it has none yet.
    episode, control_step
        Of that; -1 where unknown.
    scene
        Which scene it is in; -1 where there is one only.
    colour
        ``"#rrggbb"``.
    chosen
        Whether it is the environment that is looked at.
    chips
        What there is to say of its state.
    """

    env: int
    row: int
    episode: int
    control_step: int
    scene: int
    colour: str
    chosen: bool
    chips: tuple[Chip, ...]

    @property
    def name(self) -> str:
        """Whose it is, in words."""
        return f"env {self.env}" if self.env >= 0 else "nobody's known"

    @property
    def detail(self) -> str:
        """Where in its life it is."""
        if self.row < 0:
            return "no step yet"
        parts = [f"ep {self.episode}"] if self.episode >= 0 else []
        if self.control_step >= 0:
            parts.append(f"step {self.control_step}")
        return " · ".join(parts)

    @property
    def short(self) -> str:
        """The same where there is little room: ``"2/19"``, episode and step."""
        numbers = (self.episode, self.control_step)
        return "/".join(str(n) for n in numbers if n >= 0) if self.row >= 0 else "—"


@dataclass(frozen=True, slots=True)
class Cells:
    """The cells that are shown, and of how many."""

    cells: tuple[Cell, ...]
    first: int
    of: int


class CellMaker:
    """Makes cells; keeps what of the findings it needs at every cursor."""

    def __init__(self, owners: Owners, ends: Ends) -> None:
        self._owners, self._ends = owners, ends
        self._about: Analysis | None = None
        self._spans: dict[int, list[tuple[int, int, Finding]]] = {}

    def cells(self, document: Document, cursor: int, tokens: Tokens) -> Cells:
        """Those at this cursor: the page that has the environment looked at."""
        if document.analysis is not self._about:
            self._about, self._spans = document.analysis, {}
        envs = self._owners.environments(document)
        if not envs:
            one = self._cell(document, -1, cursor, tokens)
            return Cells((one,), 0, 1)
        at = envs.index(document.focus) if document.focus in envs else 0
        first = at // MOST_CELLS * MOST_CELLS
        shown = envs[first : first + MOST_CELLS]
        made = tuple(self._cell(document, env, cursor, tokens) for env in shown)
        return Cells(made, first, len(envs))

    def _cell(self, document: Document, env: int, cursor: int, tokens: Tokens) -> Cell:
        row = cursor if env < 0 else self._owners.last_row(document, env, cursor)
        labels = self._owners.labels(document)
        episode = control_step = kind = -1
        if labels is not None and 0 <= row < len(labels):
            episode = int(labels.episode[row])
            control_step = int(labels.control_step[row])
            kind = int(labels.kind[row])
        return Cell(
            env=env,
            row=row,
            episode=episode,
            control_step=control_step,
            scene=self._owners.scene_of(document.recording, row),
            colour=tokens.environment(env),
            chosen=env >= 0 and env == document.focus,
            chips=self._chips(env, row, kind) if env >= 0 and row >= 0 else (),
        )

    def _chips(self, env: int, row: int, kind: int) -> tuple[Chip, ...]:
        chips = []
        worst = self._finding(env, row)
        if worst is not None:
            tone: Tone = "dim" if worst.severity == "note" else worst.severity
            chips.append(Chip(f"▲ {worst.id}", tone))
        for end in self._ends.at(env, row):
            tone = "warning" if end == "truncated" else "text"
            chips.append(Chip(end, tone, SHORT[end]))
        if kind == StepKind.RESET:
            chips.append(Chip("reset", "dim"))
        return tuple(chips)

    def _finding(self, env: int, row: int) -> Finding | None:
        """The worst finding that this state has to do with."""
        analysis = self._about
        if analysis is None:
            return None
        spans = self._spans.get(env)
        if spans is None:
            spans = self._spans[env] = [
                (low, high, finding)
                for finding in analysis.findings_of(env)
                for low, high in _places(analysis, finding, env)
            ]
        found = [f for low, high, f in spans if low <= row <= high]
        return min(found, key=lambda f: SEVERITIES.index(f.severity), default=None)


def _places(analysis: Analysis, finding: Finding, env: int) -> list[tuple[int, int]]:
    """The rows at which a finding has to do with an environment."""
    tainted = analysis.tainted_by(finding)
    places = [(low, high) for low, high, whose in tainted if whose in (env, None)]
    if finding.native is not None and finding.env == env:
        places.append(finding.native)
    return places

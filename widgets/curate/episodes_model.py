"""The items of a choice as a table: what each cell says, and what it means."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from PySide6.QtCore import QAbstractTableModel, QModelIndex, Qt

from isoscope.widgets.curate.rows import (
    END_ABOUT,
    END_SHAPES,
    VERDICTS,
    end_of,
    findings_text,
    number_text,
)
from isoscope.widgets.curate.series import Key, Series, key_of

if TYPE_CHECKING:
    from PySide6.QtCore import QPersistentModelIndex
    from PySide6.QtWidgets import QWidget

    from isoscope.core.dataset.curate.edits import Item
    from isoscope.core.dataset.model import Episode
    from isoscope.core.isolation.findings import Finding
    from isoscope.widgets.curate.curation import Curation

    AnyIndex = QModelIndex | QPersistentModelIndex

VERDICT, ID, ENV, LENGTH, RETURN, SPARK, END, FINDINGS, TAGS = range(9)
HEADS = (
    "verdict",
    "episode",
    "env",
    "length",
    "return",
    "reward",
    "end",
    "findings",
    "tags",
)
ABOUT = (
    "Rejected episodes are not exported; undecided ones are",
    "What the source calls it",
    "Environment",
    "Control steps, after trimming",
    "Σ r over its control steps",
    "Reward of each control step, the least and the greatest of each part",
    "How it ended",
    "Findings of the audit that touch it: ▲ errors, ● warnings, ○ notes",
    "Tags, see T",
)
RIGHT = (LENGTH, RETURN)
ROOT = QModelIndex()


class EpisodesModel(QAbstractTableModel):
    """The items of a choice that a filter lets through.

    Attributes
    ----------
    items
        Those that are listed.
    series
        By `key_of`, as far as it is known.
    touching
        By `key_of` the findings that touch it; None while that is unknown.
    """

    def __init__(self, parent: QWidget) -> None:
        super().__init__(parent)
        self.items: list[Item] = []
        self.episodes: list[Episode] = []
        self.series: dict[Key, Series] = {}
        self.touching: dict[Key, list[int]] | None = None
        self.findings: list[Finding] = []
        self.has_reward = True

    def show_items(self, items: list[Item], curation: Curation | None) -> bool:
        """Show these instead; whether the rows are other ones than before."""
        same = [i.id for i in items] == [i.id for i in self.items]
        if same and items:
            self._take(items, curation)
            last = self.index(len(items) - 1, len(HEADS) - 1)
            self.dataChanged.emit(self.index(0, 0), last)
            return False
        self.beginResetModel()
        self._take(items, curation)
        self.endResetModel()
        return True

    def _take(self, items: list[Item], curation: Curation | None) -> None:
        self.items = items
        known = () if curation is None else curation.episodes.episodes
        self.episodes = [known[item.source] for item in items]

    def refresh(self, column: int) -> None:
        """Say that a column is known better now."""
        if self.items:
            last = self.index(len(self.items) - 1, column)
            self.dataChanged.emit(self.index(0, column), last)

    def rowCount(self, parent: AnyIndex = ROOT) -> int:  # noqa: N802
        """How many items."""
        return 0 if parent.isValid() else len(self.items)

    def columnCount(self, parent: AnyIndex = ROOT) -> int:  # noqa: N802
        """See `HEADS`."""
        return 0 if parent.isValid() else len(HEADS)

    def text(self, row: int, column: int) -> str:
        """What a cell says."""
        item = self.items[row]
        if column == VERDICT:
            return VERDICTS[item.verdict]
        if column == ID:
            return item.id
        if column == ENV:
            env = self.episodes[row].env
            return "?" if env is None else str(env)
        if column == LENGTH:
            return f"{item.length:,}"
        if column == RETURN:
            if not self.has_reward:
                return "–"
            known = self.series.get(key_of(item))
            return "…" if known is None else number_text(known.total)
        if column == END:
            end = end_of(item, self.episodes[row])
            return f"{END_SHAPES[end]} {end}"
        if column == FINDINGS:
            return findings_text(self.touches(item), self.findings)
        if column == TAGS:
            return ", ".join(item.tags)
        return ""

    def touches(self, item: Item) -> list[int] | None:
        """The findings that touch an item; None if unknown."""
        return None if self.touching is None else self.touching.get(key_of(item), [])

    def data(self, index: AnyIndex, role: int = Qt.ItemDataRole.DisplayRole) -> Any:
        """A cell's text; for the tooltip, what it means."""
        if not index.isValid():
            return None
        row, column = index.row(), index.column()
        if role in (Qt.ItemDataRole.DisplayRole, Qt.ItemDataRole.AccessibleTextRole):
            return self.text(row, column)
        if role == Qt.ItemDataRole.ToolTipRole:
            return self.about(row, column)
        if role == Qt.ItemDataRole.TextAlignmentRole and column in RIGHT:
            return Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter
        return None

    def about(self, row: int, column: int) -> str:
        """A cell in more words."""
        item, episode = self.items[row], self.episodes[row]
        if column == END:
            return END_ABOUT[end_of(item, episode)]
        if column == VERDICT and item.why:
            return f"{VERDICTS[item.verdict]}: {item.why}"
        if column == LENGTH and item.length != episode.length:
            return (
                f"control steps {item.start + 1} to {item.stop} of the "
                f"{episode.length} of {episode.id}"
            )
        if column == FINDINGS:
            touching = self.touches(item)
            if touching is None:
                return "No audit has looked at it."
            lines = [
                f"{self.findings[at].id}: {self.findings[at].message}"
                for at in touching[:5]
            ]
            more = len(touching) - len(lines)
            return "\n".join([*lines, *([f"and {more} more"] * (more > 0))])
        return self.text(row, column)

    def headerData(  # noqa: N802
        self,
        section: int,
        orientation: Qt.Orientation,
        role: int = Qt.ItemDataRole.DisplayRole,
    ) -> Any:
        """What a column is."""
        if orientation is not Qt.Orientation.Horizontal:
            return None
        if role == Qt.ItemDataRole.DisplayRole:
            return HEADS[section]
        if role == Qt.ItemDataRole.ToolTipRole:
            return ABOUT[section]
        if role == Qt.ItemDataRole.TextAlignmentRole:
            side = Qt.AlignmentFlag.AlignRight if section in RIGHT else None
            return (side or Qt.AlignmentFlag.AlignLeft) | Qt.AlignmentFlag.AlignVCenter
        return None

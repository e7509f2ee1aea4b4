"""What the cells of an episode say. No Qt."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, TypeAlias

if TYPE_CHECKING:
    from collections.abc import Sequence

    from isoscope.core.dataset.curate.edits import Choice, Item
    from isoscope.core.dataset.model import Episode
    from isoscope.core.isolation.findings import Finding

End: TypeAlias = Literal["terminated", "truncated", "both", "incomplete", "unknown"]
# By shape and word: the colour only repeats it.
END_SHAPES: dict[End, str] = {
    "terminated": "■",
    "truncated": "◆",
    "both": "▣",
    "incomplete": "◌",
    "unknown": "?",
}
END_ABOUT: dict[End, str] = {
    "terminated": "Terminated: the task ended it; nothing is worth anything after it",
    "truncated": "Truncated: cut off, as by a time limit; what follows has a value",
    "both": "Terminated and truncated in the same control step",
    "incomplete": "Incomplete: it just stops, neither terminated nor truncated",
    "unknown": "The source does not say how it ended",
}
VERDICTS = {"accepted": "✓ accepted", "rejected": "✕ rejected", None: "· undecided"}
SEVERITY_SHAPES = {"error": "▲", "warning": "●", "note": "○"}


def end_of(item: Item, episode: Episode) -> End:
    """How an item ended; one that is cut before its end is incomplete."""
    if item.stop < episode.length:
        return "incomplete"
    if episode.terminated and episode.truncated:
        return "both"
    if episode.terminated:
        return "terminated"
    if episode.truncated:
        return "truncated"
    if not episode.complete:
        return "incomplete"
    return "unknown"


def findings_text(touching: Sequence[int] | None, findings: Sequence[Finding]) -> str:
    """Number of errors and warnings, by shape: ``"▲ 1 ● 2"``; ``"–"`` for none."""
    if touching is None:
        return "?"
    severities = [findings[at].severity for at in touching]
    parts = [
        f"{shape} {severities.count(severity)}"
        for severity, shape in SEVERITY_SHAPES.items()
        if severity in severities
    ]
    return " ".join(parts) or "–"


def number_text(value: float) -> str:
    """A return: whole numbers as such, others in five digits."""
    return (
        f"{value:,.0f}" if value.is_integer() and abs(value) < 1e15 else f"{value:.5g}"
    )


@dataclass(frozen=True, slots=True)
class Totals:
    """What a choice comes to."""

    kept: int
    episodes: int
    transitions: int
    accepted: int
    rejected: int
    undecided: int
    left_out: int

    @classmethod
    def of(cls, choice: Choice, source: Sequence[Episode]) -> Totals:
        """Count."""
        counts: dict[str | None, int] = {"accepted": 0, "rejected": 0, None: 0}
        kept = transitions = 0
        for item in choice.items:  # once: there may be many
            counts[item.verdict] += 1
            length = item.stop - item.start
            if length and item.verdict != "rejected":
                kept += 1
                transitions += length
        return cls(
            kept=kept,
            episodes=len(choice.items),
            transitions=transitions,
            accepted=counts["accepted"],
            rejected=counts["rejected"],
            undecided=counts[None],
            left_out=sum([e.length for e in source]) - transitions,
        )

    @property
    def text(self) -> str:
        """``"To export: 4 of 5 episodes, 320 transitions"``."""
        plural = "" if self.episodes == 1 else "s"
        return (
            f"To export: {self.kept:,} of {self.episodes:,} episode{plural}, "
            f"{self.transitions:,} transitions"
        )

    @property
    def more(self) -> str:
        """What they are made of, in one line."""
        parts = [
            f"✓ {self.accepted:,} accepted",
            f"· {self.undecided:,} undecided",
            f"✕ {self.rejected:,} rejected",
        ]
        if self.left_out:
            parts.append(f"{self.left_out:,} transitions left out")
        return "   ".join(parts)

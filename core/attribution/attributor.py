"""Attribution, from columns to owners: incremental, linear in the native steps.

`Attributor.update` takes in the rows that have come since, block by block, and hangs
each on the step that it continues; `Attributor.result` then says whose every step was.
What a later row can still change (who goes on after a fork, to whom an episode belongs)
is decided in `result` only.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from isoscope.core.attribution.as_told import RESET_H_S, as_told
from isoscope.core.attribution.assemble import assemble
from isoscope.core.attribution.candidates import Matches, Nodes, search
from isoscope.core.attribution.explain import Explainer
from isoscope.core.attribution.labels import GivenLabels
from isoscope.core.attribution.linker import Code, Linker
from isoscope.core.attribution.margins import margins
from isoscope.core.attribution.mean_velocity import MeanVelocity
from isoscope.core.attribution.predictor import NOT_FINITE
from isoscope.core.attribution.segments import Chains, Origin
from isoscope.core.errors import CancelledError
from isoscope.core.recording.tracks import Track

if TYPE_CHECKING:
    from isoscope.core.attribution.predictor import Motion, Predictor
    from isoscope.core.attribution.result import Attribution
    from isoscope.core.recording.model import Recording
    from isoscope.core.recording.source import Cancel, Progress
    from isoscope.core.recording.tracks import Array, BoolArray

BLOCK = 16384
# States kept besides the waiting ones: a fork is found among the last rows only.
RECENT = 4096
RECENT_PER_TIP = 32
MAX_RECENT = 1 << 17
TIPS = 1024
TIPS_PER_ACTIVE = 4


class Attributor:
    """Gives the native steps of a recording, which may grow, back to environments.

    Parameters
    ----------
    recording
        Whose rows are taken in; they only ever grow.
    predictor
        What is known of its integrator; the default is for the SuperDex recorder.
    """

    def __init__(self, recording: Recording, predictor: Predictor | None = None):
        self.recording = recording
        self.predictor = predictor or MeanVelocity(recording)
        self.chains = Chains()
        self.explainer = Explainer(self.predictor, self.chains)
        self.linker = Linker(
            self.chains, self.explainer.parent, self.explainer.same_start
        )
        self.residual_m = Track(np.dtype(np.float64), ())
        self.margin_m = Track(np.dtype(np.float64), ())
        self.codes = Track(np.dtype(np.int8), ())
        # Rows in which some body did not begin where the step before left it.
        self.displaced = Track(np.dtype(np.bool_), ())
        self.displaced_actors: dict[int, int] = {}  # actor index to rows
        # Rows with a body whose state is not finite any more: their world may have
        # stopped, with the velocities of a step that it did not take.
        self.lost = Track(np.dtype(np.bool_), ())
        self._once_finite = np.zeros(0, np.bool_)  # columns
        self._kept = Nodes(np.zeros(0, np.int64), np.zeros((0, 0)))
        self._before: Motion | None = None  # the last row that has a state
        self._resets: dict[bytes, list[int]] = {}  # natives, by the state left
        self._noted = 0  # segments looked at for resets
        self._together = 1  # the most segments seen to go on side by side

    def __len__(self) -> int:
        """Rows taken in."""
        return len(self.chains)

    def update(
        self,
        upto: int | None = None,
        progress: Progress | None = None,
        cancelled: Cancel | None = None,
    ) -> int:
        """Take in the rows up to `upto` (all there are); returns how many there are.

        Raises
        ------
        CancelledError
            If `cancelled` said so; the rows taken in until then stay.
        """
        stop = len(self.recording)
        if upto is not None:
            stop = min(stop, upto)
        while len(self) < stop:
            if cancelled is not None and cancelled():
                raise CancelledError(
                    f"attributing {self.recording.name} was stopped at native step "
                    f"{len(self)}"
                )
            self._block(len(self), min(stop, len(self) + BLOCK))
            if progress is not None:
                progress(len(self), stop)
        return stop

    def result(
        self, substeps: int | None = None, labels: GivenLabels | None = None
    ) -> Attribution:
        """Whose each of the rows taken in was, as far as they tell.

        Parameters
        ----------
        substeps
            M, where somebody says it.
        labels
            What somebody says about single steps. Without, what the recording's own
            source says about them.

        Raises
        ------
        UsageError
            If `substeps` is below 1.
        """
        if labels is None and self.recording.labels is not None:
            said = self.recording.labels
            labels = GivenLabels(said, None, self.recording.name, certain=True)
        return assemble(self, substeps, labels)

    def twins(self) -> set[int]:
        """Rows that wait to be continued in a state equal to another such row's."""
        tips = np.fromiter(self.chains.live, np.int64, len(self.chains.live))
        at = np.flatnonzero(np.isin(self._kept.rows, tips))
        found: dict[bytes, list[int]] = {}
        for k in at:
            state = self._kept.ends[k].tobytes()
            found.setdefault(state, []).append(int(self._kept.rows[k]))
        return {row for rows in found.values() if len(rows) > 1 for row in rows}

    def equal_resets(self) -> list[tuple[int, ...]]:
        """Groups of resets that left the very same state."""
        groups = [tuple(rows) for rows in self._resets.values() if len(rows) > 1]
        return sorted(groups)

    def chains_without_parent(self) -> int:
        """How many steps begin where nothing ended, resets left out."""
        lost = self.codes.values == Code.LOST
        roots = (s for s in self.chains.segments if s.origin is Origin.ROOT)
        return sum(not lost[s.start] for s in roots)

    # -- one block ------------------------------------------------------------------

    def _block(self, start: int, stop: int) -> None:
        motion = self.predictor.read(start, stop)
        layout = self.predictor.layout
        codes, previous = self._judge(motion)
        use = self.explainer.columns_to_use()
        kept = self._kept
        matches = search(kept, motion, previous, layout, use)
        if self.explainer.doubtful(matches, codes):
            use = self.explainer.columns_that_match(kept, motion, previous, use)
            matches = search(kept, motion, previous, layout, use)
        waiting = list(self.chains.live)
        self.explainer.look_at(motion, matches, use)
        self.linker.block(matches, codes, start)
        self._measure(motion, matches, use)
        self.margin_m.append(margins(motion, layout, matches, self.chains, waiting))
        self.codes.append(codes)
        self.lost.append(self._lost(motion))
        self._keep(motion)
        self._note_resets(motion)

    def _lost(self, motion: Motion) -> BoolArray:
        lost = motion.end == NOT_FINITE
        finite = (np.isfinite(motion.end) & ~lost).any(axis=0)
        finite[: len(self._once_finite)] |= self._once_finite
        self._once_finite = finite
        return np.asarray((lost & finite).any(axis=1))

    def _judge(self, motion: Motion) -> tuple[Array, Array]:
        """What each row [n] offers, and which row before it has a state."""
        rows = len(motion)
        numbers = np.arange(motion.start, motion.stop)
        h = self.recording.steps.h_s[motion.start : motion.stop]
        has_end = np.isfinite(motion.end).any(axis=1)
        has_start = np.isfinite(motion.end - motion.moved).any(axis=1)
        codes = np.full(rows, int(Code.NORMAL), np.int8)
        there = motion.end[:, np.isfinite(motion.end).any(axis=0)]
        codes[((there == NOT_FINITE) | np.isnan(there)).all(axis=1)] = Code.LOST
        reset = np.abs(h - RESET_H_S) <= 1e-4 * RESET_H_S
        codes[reset] = Code.RESET_H
        codes[~has_start] = Code.BLIND
        codes[~has_end] = Code.EMPTY
        latest = np.maximum.accumulate(np.where(has_end, numbers, -1))
        previous = np.concatenate([[self.chains.last_state], latest[:-1]])
        previous = np.maximum(previous, self.chains.last_state).astype(np.int64)
        self._find_repeated_resets(motion, codes, previous)
        return codes, previous

    def _find_repeated_resets(
        self, motion: Motion, codes: Array, previous: Array
    ) -> None:
        """Tell a reset that begins like the one right before it from a short step."""
        for i in np.flatnonzero(codes == Code.RESET_H):
            before, k = int(previous[i]), int(previous[i]) - motion.start
            earlier = motion if k >= 0 else self._before
            if earlier is None or before < 0:
                continue
            k = before - earlier.start
            code = codes[k] if earlier is motion else self.codes.values[before]
            if code not in (Code.RESET_H, Code.RESET_AGAIN):
                continue
            columns = earlier.end.shape[1]
            here = (motion.end[i] - motion.moved[i])[:columns]
            there = earlier.end[k] - earlier.moved[k]
            bound = motion.tight[i, :columns] + earlier.tight[k]
            known = np.isfinite(here) & np.isfinite(there)
            if known.any() and (np.abs(here - there) <= bound)[known].all():
                codes[i] = Code.RESET_AGAIN

    def _note_resets(self, motion: Motion) -> None:
        segments = self.chains.segments
        lost = self.lost.values[motion.start : motion.stop]
        for segment in segments[self._noted :]:
            row = segment.start - motion.start
            if segment.origin is Origin.RESET and row >= 0 and not lost[row]:
                state = motion.end[row].tobytes()
                self._resets.setdefault(state, []).append(segment.start)
        self._noted = len(segments)

    def _measure(self, motion: Motion, matches: Matches, use: BoolArray) -> None:
        """Residuals of the block, and which bodies were moved outside of a step."""
        chains = self.chains
        rows = len(motion)
        parents = np.array(chains.parent_of[motion.start : motion.stop], np.int64)
        residual = np.full(rows, np.nan)
        displaced = np.zeros(rows, np.bool_)
        at = np.flatnonzero(parents >= 0)
        ends, known = self._ends_of(parents[at], motion)
        off = np.abs((motion.end[at] - ends) - motion.moved[at])
        # What is not finite, now or before, was not moved there.
        known &= (ends != NOT_FINITE) & (motion.end[at] != NOT_FINITE)
        off[~known] = np.nan
        wrong = off > motion.loose[at]
        layout = self.predictor.layout
        if wrong.any():
            for actor in np.unique(layout.actor):
                hit = wrong[:, layout.actor == actor].any(axis=1)
                if hit.any():
                    count = self.displaced_actors.get(int(actor), 0)
                    self.displaced_actors[int(actor)] = count + int(hit.sum())
                    displaced[at[hit]] = True
                    off[np.ix_(hit, layout.actor == actor)] = np.nan
        off = off[:, layout.metres]
        seen = np.isfinite(off).any(axis=1)
        residual[at[seen]] = np.nan_to_num(off[seen]).max(axis=1, initial=0.0)
        self.residual_m.append(residual)
        self.displaced.append(displaced)

    def _ends_of(self, rows: Array, motion: Motion) -> tuple[Array, BoolArray]:
        """Ends [k, D] of these rows, NaN where not at hand; and where known."""
        columns = motion.end.shape[1]
        ends = np.full((len(rows), columns), np.nan)
        inside = rows >= motion.start
        ends[inside] = motion.end[rows[inside] - motion.start]
        kept = self._kept
        if len(kept.rows):
            at = np.searchsorted(kept.rows, rows[~inside])
            at = np.minimum(at, len(kept.rows) - 1)
            found = kept.rows[at] == rows[~inside]
            where = np.flatnonzero(~inside)[found]
            ends[where, : kept.ends.shape[1]] = kept.ends[at[found]]
        return ends, np.isfinite(ends)

    def _keep(self, motion: Motion) -> None:
        """Keep the states that may still be continued, and let go of the rest."""
        chains = self.chains
        self._together = max(self._together, _together(chains, motion))
        self.linker.forget(TIPS + TIPS_PER_ACTIVE * self._together)
        window = min(RECENT + RECENT_PER_TIP * self._together, MAX_RECENT)
        recent = motion.stop - window
        rows = np.concatenate([self._kept.rows, np.arange(motion.start, motion.stop)])
        columns = motion.end.shape[1]
        old = np.full((len(self._kept.rows), columns), np.nan)
        old[:, : self._kept.ends.shape[1]] = self._kept.ends
        has_end = np.concatenate(
            [np.ones(len(old), np.bool_), np.isfinite(motion.end).any(axis=1)]
        )
        tips = np.fromiter(chains.live, np.int64, len(chains.live))
        keep = has_end & ((rows >= recent) | np.isin(rows, tips))
        self._kept = Nodes(rows[keep], np.vstack([old, motion.end])[keep])
        last = chains.last_state - motion.start
        if last >= 0:
            self._before = _row(motion, last)


def attribute(
    recording: Recording,
    substeps: int | None = None,
    labels: GivenLabels | None = None,
    *,
    margins: bool = True,
    progress: Progress | None = None,
    cancelled: Cancel | None = None,
) -> Attribution:
    """Attribute a whole recording; see `Attributor.update` and `Attributor.result`.

    Parameters
    ----------
    margins
        Whether the second best candidates have to be known. Without them a recording
        that tells whose its steps were takes one look at its states.
    """
    if not margins and substeps is None and labels is None:
        found = as_told(recording, progress, cancelled)
        if found is not None:
            return found
    attributor = Attributor(recording)
    attributor.update(progress=progress, cancelled=cancelled)
    return attributor.result(substeps, labels)


def _together(chains: Chains, motion: Motion) -> int:
    """How many segments go on over the middle of the block: environments, about."""
    owners = np.array(chains.segment_of[motion.start : motion.stop], np.int64)
    owners = owners[owners >= 0]
    _, first = np.unique(owners, return_index=True)
    _, last = np.unique(owners[::-1], return_index=True)
    middle = len(owners) // 2
    return int(((first <= middle) & (len(owners) - 1 - last >= middle)).sum())


def _row(motion: Motion, index: int) -> Motion:
    """One row of a motion."""
    at = slice(index, index + 1)
    return type(motion)(
        motion.start + index,
        motion.start + index + 1,
        motion.end[at],
        motion.moved[at],
        motion.tight[at],
        motion.loose[at],
    )

"""Steps environments of a recording again, each alone, to see where they depart.

It is what `isoscope.core.isolation.resimulator` asks for, over any engine that
re-simulation can have.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from isoscope.core.errors import IsoscopeError
from isoscope.core.isolation.registry import CannotRunError
from isoscope.core.isolation.twins import Departure
from isoscope.core.replay.compare import TOLERANCE
from isoscope.core.replay.driver import Driver, Part
from isoscope.core.replay.stepwise import Stepwise
from isoscope.core.replay.tape import NEEDS, tapes

if TYPE_CHECKING:
    from types import TracebackType

    from isoscope.core.isolation.context import Examined
    from isoscope.core.isolation.resimulator import Stepping
    from isoscope.core.recording.tracks import Array, BoolArray
    from isoscope.core.replay.engine import Engine, EngineMaker
    from isoscope.core.replay.stepwise import First
    from isoscope.core.replay.tape import Tape

AN_ENGINE = "an engine that can step its snapshots again"


class SteppedAgain:
    """Steps each environment of one recording again, alone in its scene.

    A context manager, which closes the engines that it made.

    Parameters
    ----------
    subject
        A labelled recording.
    make
        Makes the engine for a scene.
    most_steps
        Native steps of scenes with several environments that are stepped at most; of a
        recording with more, nothing is. None for any number.
    how_to_ask
        What to do to have more stepped, for the reason.
    stepping
        Told how many native steps of how many were done; what it raises ends it.
    """

    def __init__(
        self,
        subject: Examined,
        make: EngineMaker,
        *,
        most_steps: int | None = None,
        how_to_ask: str = "",
        stepping: Stepping | None = None,
    ) -> None:
        self._subject = subject
        self._make = make
        self._most, self._how = most_steps, how_to_ask
        self._stepping = stepping
        self._tapes: list[Tape] | None = None
        self._engines: dict[int, Engine] = {}

    def __enter__(self) -> SteppedAgain:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def close(self) -> None:
        """Close the engines."""
        engines, self._engines = list(self._engines.values()), {}
        for engine in engines:
            engine.close()

    def environments(self) -> list[int]:
        """Those that others can have reached: several in one scene.

        Raises
        ------
        CannotRunError
            If the recording can't be stepped again, or is longer than it may be.
        """
        found = self._several()
        steps = sum(len(tape.rows) for tape in found)
        if self._most is not None and steps > self._most:
            raise CannotRunError(
                f"stepping {steps:,} native steps again takes its time, and was not "
                "asked for",
                self._how or "to be asked for",
            )
        return sorted({env for tape in found for env in tape.envs})

    def departure(self, env: int, explained: BoolArray) -> Departure | None:
        """The first step at which an environment goes otherwise alone.

        Parameters
        ----------
        explained
            bool [native steps]: steps that something else accounts for. They are passed
            over, with what follows them in their episode.

        Raises
        ------
        CannotRunError
            If it can't be stepped again, with the reason.
        """
        ran = False
        for number, tape in enumerate(self._several()):
            if env not in tape.envs:
                continue
            found, compared = self._alone(number, tape, env, explained)
            ran |= compared > 0
            if found is not None:
                return found
        if not ran:
            raise CannotRunError(f"env {env} has no snapshot to begin from", NEEDS)
        return None

    # -- helpers -----------------------------------------------------------------------

    def _several(self) -> list[Tape]:
        if self._tapes is None:
            try:
                found = tapes(self._subject)
            except IsoscopeError as error:
                raise CannotRunError(str(error), NEEDS) from None
            self._tapes = [tape for tape in found if len(tape.envs) > 1]
        return self._tapes

    def _alone(
        self, number: int, tape: Tape, env: int, explained: BoolArray
    ) -> tuple[Departure | None, int]:
        """Where it departs in one scene, and how many steps were compared."""
        labels = self._subject.attribution.labels
        own = tape.rows[labels.env[tape.rows] == env]
        starts = [
            row
            for row, taken in tape.snapshots.items()
            if any(s.env in (env, -1) for s in taken)
        ]
        if not starts or not len(own):
            return None, 0
        part = Part(min(starts), {env: (int(own[0]), int(own[-1]))}, env)
        try:
            engine = self._engines.get(number)
            if engine is None:
                engine = self._engines[number] = self._make(tape.blueprint)
            fields = [one for one in tape.states if engine.has(one.actor, one.name)]
            seen = _Unexplained(fields, explained, labels.episode)
            driven = Driver(tape, engine, part, seen).run(self._stepping)
        except IsoscopeError as error:
            raise CannotRunError(str(error), AN_ENGINE) from None
        if driven.stopped:
            raise CannotRunError(f"it stopped early: {driven.stopped}", AN_ENGINE)
        found = seen.env(env)
        if found.first is None:
            return None, found.compared
        return _departure(env, own, found.first), found.compared


def _departure(env: int, own: Array, first: First) -> Departure:
    before = own[own < first.row]
    return Departure(
        env=env,
        twin=env,
        row=first.row,
        twin_row=first.row,
        last_equal_row=int(before[-1]) if len(before) else -1,
        equal_steps=first.equal_steps,
        field=first.field.full_name,
        unit=first.field.unit,
        size=first.size,
        value=_plain(first.recorded),
        expected=_plain(first.here),
    )


def _plain(values: Any) -> Any:
    """One number by itself."""
    return values[0] if isinstance(values, list) and len(values) == 1 else values


class _Unexplained(Stepwise):
    """Passes over steps that something else accounts for, and their episodes' rest.

    So it does with a step under another configuration than was recorded, and with one
    before which the state was set by hand: both are in the file.

    Parameters
    ----------
    explained
        bool [native steps].
    episode
        int64 [native steps].
    """

    def __init__(self, fields: list[Any], explained: BoolArray, episode: Array) -> None:
        super().__init__(fields, {}, TOLERANCE, by_bits=True)
        self._explained, self._episode = explained.copy(), episode
        self._spoilt: tuple[int, int] | None = None

    def configured_otherwise(self, row: int) -> None:
        """See `Stepwise.configured_otherwise`."""
        self._explained[row] = True

    def set_by_hand(self, row: int) -> None:
        """See `Stepwise.set_by_hand`."""
        self._explained[row] = True

    def judged(self, env: int, rows: Array, differs: BoolArray) -> BoolArray:
        """See `Stepwise.judged`."""
        found = differs.copy()
        for k, row in enumerate(rows.tolist()):
            here = (env, int(self._episode[row]))
            if self._explained[row]:
                self._spoilt = here
            if self._spoilt == here:
                found[k] = False
        return np.asarray(found)

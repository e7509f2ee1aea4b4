"""The stages of a rollout, each of which can be replaced: what a consumer does.

They are called in this order in every round: `before`, `act`; when the environments
have answered `info`, `field`, `transitions`, `label`, `keep` make the rows; `advance`
and `begin` are about what the policy carries on; `finish` is about episodes that ended,
`frame` about sensors; `profile` comes last.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from isoscope.core.envs.rollout.records import (
        Array,
        EpisodeReturn,
        Frame,
        InfoValues,
        ProfileLine,
        StoredRows,
    )
    from isoscope.core.envs.rollout.rollout import Rollout


class RolloutStages:
    """Every stage as it should be."""

    def before(self, rollout: Rollout) -> None:
        """Before the policy acts."""

    def act(self, rollout: Rollout, action: Array) -> Array:
        """What is given to the environments: [N, A] of their kind."""
        return action

    def transitions(self, rollout: Rollout, rows: StoredRows) -> StoredRows:
        """Rows as the autoreset mode's rule has them."""
        return rows

    def info(self, rollout: Rollout, key: str, info: InfoValues) -> InfoValues:
        """An info's values; those that no environment gave are absent."""
        return info

    def field(self, rollout: Rollout, name: str, values: Array) -> Array:
        """A native field, NaN where it is absent."""
        return values

    def label(self, rollout: Rollout, env: Array) -> Array:
        """The environments that rows are labelled with, int64 [W]."""
        return env

    def keep(self, rollout: Rollout, rows: StoredRows) -> StoredRows:
        """Rows that belong to the store alone."""
        return rows

    def begin(self, rollout: Rollout, began: Array) -> Array:
        """Where the policy forgets what it carried on, [N] of the envs' kind."""
        return began

    def advance(self, rollout: Rollout, acted: Array) -> Array:
        """Where the policy carries on, [N] of the environments' kind."""
        return acted

    def finish(self, rollout: Rollout, ended: EpisodeReturn) -> EpisodeReturn:
        """An episode's return."""
        return ended

    def frame(self, rollout: Rollout, frame: Frame) -> Frame:
        """A sensor's frame."""
        return frame

    def profile(
        self, rollout: Rollout, lines: tuple[ProfileLine, ...]
    ) -> tuple[ProfileLine, ...]:
        """Where the round's time went."""
        return lines


class WrappedRolloutStages(RolloutStages):
    """Stages that pass everything on; subclasses change what they are about."""

    def __init__(self, inner: RolloutStages) -> None:
        self.inner = inner

    def before(self, rollout: Rollout) -> None:
        """See `RolloutStages.before`; so for the others."""
        self.inner.before(rollout)

    def act(self, rollout: Rollout, action: Array) -> Array:
        """Pass on."""
        return self.inner.act(rollout, action)

    def transitions(self, rollout: Rollout, rows: StoredRows) -> StoredRows:
        """Pass on."""
        return self.inner.transitions(rollout, rows)

    def info(self, rollout: Rollout, key: str, info: InfoValues) -> InfoValues:
        """Pass on."""
        return self.inner.info(rollout, key, info)

    def field(self, rollout: Rollout, name: str, values: Array) -> Array:
        """Pass on."""
        return self.inner.field(rollout, name, values)

    def label(self, rollout: Rollout, env: Array) -> Array:
        """Pass on."""
        return self.inner.label(rollout, env)

    def keep(self, rollout: Rollout, rows: StoredRows) -> StoredRows:
        """Pass on."""
        return self.inner.keep(rollout, rows)

    def begin(self, rollout: Rollout, began: Array) -> Array:
        """Pass on."""
        return self.inner.begin(rollout, began)

    def advance(self, rollout: Rollout, acted: Array) -> Array:
        """Pass on."""
        return self.inner.advance(rollout, acted)

    def finish(self, rollout: Rollout, ended: EpisodeReturn) -> EpisodeReturn:
        """Pass on."""
        return self.inner.finish(rollout, ended)

    def frame(self, rollout: Rollout, frame: Frame) -> Frame:
        """Pass on."""
        return self.inner.frame(rollout, frame)

    def profile(
        self, rollout: Rollout, lines: tuple[ProfileLine, ...]
    ) -> tuple[ProfileLine, ...]:
        """Pass on."""
        return self.inner.profile(rollout, lines)

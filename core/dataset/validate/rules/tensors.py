"""What rules of a trajectory's tensors share: the tensors, and where one fails."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from isoscope.core.dataset.validate.rule import NotCheckableError, Quiet, Where

if TYPE_CHECKING:
    from collections.abc import Mapping

    from isoscope.core.dataset.model import Episode
    from isoscope.core.dataset.validate.rule import Subject
    from isoscope.core.recording.tracks import Array


class TensorRule(Quiet):
    """A rule of tensors that episodes come from, as shards have them."""

    _source: Any

    def begin(self, subject: Subject) -> None:
        """See whether there are tensors.

        Raises
        ------
        NotCheckableError
            If the source is no trajectory.
        """
        self._source = subject.episodes
        if not self._first():
            raise NotCheckableError("the source is no trajectory")

    def _first(self) -> Mapping[str, int]:
        """Rows of each tensor of the first episode; empty where there are none."""
        if not hasattr(self._source, "tensor_rows") or not self._source.episodes:
            return {}
        found: Mapping[str, int] | None = self._source.tensor_rows(0)
        return found or {}

    def _rows(self, episode: Episode) -> Mapping[str, int]:
        """Rows of each tensor of an episode."""
        found: Mapping[str, int] = self._source.tensor_rows(episode.index)
        return found

    def _read(self, episode: Episode, key: str, start: int, stop: int) -> Array:
        """Rows start .. stop of a tensor, [rows, *shape]."""
        found: Array = self._source.tensor(episode.index, key, start, stop)
        return found

    def _fail(
        self,
        episode: Episode,
        key: str,
        value: object,
        expected: object,
        step: int | None = None,
        count: int = 1,
    ) -> None:
        """Count failures of a tensor, the first of them at `step`."""
        self.outcome.fail(
            Where(
                episode=episode.id,
                env=episode.env,
                step=step,
                feature=key,
                value=value,
                expected=expected,
            ),
            count=count,
        )

"""Export: plan, write beside the target, read back, compare, and only then appear.

Memory does not grow with the length of the source: everything goes by windows of rows.
"""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from isoscope.core.dataset.exporters import place as places
from isoscope.core.dataset.exporters.compare import ReadBack, compare
from isoscope.core.dataset.exporters.plan import (
    ExportOptions,
    FieldMap,
    Plan,
    columns_of,
)
from isoscope.core.dataset.exporters.registry import exporter
from isoscope.core.dataset.exporters.splits import Splits, split
from isoscope.core.errors import (
    CancelledError,
    MissingExtraError,
    UsageError,
    WriteError,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from isoscope.core.dataset.exporters.registry import Exporter
    from isoscope.core.dataset.model import Episodes

    # Called with (rows done, rows in all): each row is written, then compared.
    Progress = Callable[[int, int], None]
    Cancel = Callable[[], bool]
    Finish = Callable[[Path, Plan], None]


@dataclass(frozen=True, slots=True)
class ExportResult:
    """What was written.

    Attributes
    ----------
    path, format, bytes
        Where, what, and how large.
    episodes, rows
        How many; rows are transitions.
    fields
        Names in the dataset by names in the source.
    splits
        Episodes by split.
    left_out
        One line for everything of the source that is not in the dataset.
    read_back
        What was compared, value by value.
    """

    path: Path
    format: str
    bytes: int
    episodes: int
    rows: int
    fields: Mapping[str, str]
    splits: Mapping[str, Sequence[int]]
    read_back: ReadBack
    left_out: Sequence[str] = field(default_factory=tuple)


def plan_export(
    episodes: Episodes,
    format: str,
    target: str | Path,
    *,
    mapping: Sequence[FieldMap] = (),
    splits: Splits | None = None,
    options: ExportOptions | None = None,
) -> Plan:
    """Decide what an export would write, and refuse what it can't.

    Raises
    ------
    UsageError
        If the format can't hold it; the message names the field and says why.
    MissingExtraError
        If a package is missing.
    """
    module = exporter(format)
    left_out: list[str] = []
    columns = columns_of(episodes, module.READ_AS, module.name, mapping, left_out)
    refused = module.holds([c.feature for c in columns])
    if refused:
        what = "; ".join(f"{r.feature}: {r.why}" for r in refused)
        raise UsageError(
            f"exporting to {format}: it can't hold {what}; leave it out, or map it "
            "with a dtype to convert to"
        )
    if not len(episodes.episodes):
        raise UsageError(f"exporting {episodes.name}: there is no episode in it")
    for one in episodes.episodes:
        if not one.length:
            raise UsageError(
                f"exporting to {format}: episode {one.id} has no transition; leave it "
                "out"
            )
    plan = Plan(
        episodes,
        columns,
        list(range(len(episodes.episodes))),
        split(episodes.episodes, splits),
        options or ExportOptions(),
        left_out=left_out,
    )
    module.fit(plan, Path(target))
    return plan


def export(
    episodes: Episodes,
    format: str,
    target: str | Path,
    *,
    mapping: Sequence[FieldMap] = (),
    splits: Splits | None = None,
    options: ExportOptions | None = None,
    overwrite: bool = False,
    progress: Progress | None = None,
    cancelled: Cancel | None = None,
    finish: Finish | None = None,
) -> ExportResult:
    """Write episodes in a format, read them back, compare, and put them in place.

    Parameters
    ----------
    episodes
        The source; never changed.
    format
        A key of `registry.EXPORTERS`.
    target
        The file or folder to make.
    mapping
        Where features go that don't go by their role.
    splits
        Train and valid.
    overwrite
        Whether what is there may be replaced, in one step.
    progress, cancelled
        Told rows done and in all; asked between windows.
    finish
        Called with where the content is and what was planned, once it was read back and
        before it appears: may add files to a folder.

    Raises
    ------
    UsageError
        If the format can't hold it, or the target may not be written.
    WriteError
        If it can't be written, or what is read back differs. Nothing is left then, and
        what was at the target is as it was.
    ReadError
        If the source can't be read.
    CancelledError
        If `cancelled` said so.
    """
    target = Path(os.path.abspath(target))
    module = exporter(format)
    places.refuse(
        target, overwrite=overwrite, folder=module.FOLDER, sources=[episodes.path]
    )
    try:
        plan = plan_export(
            episodes, format, target, mapping=mapping, splits=splits, options=options
        )
        tick = _Tick(plan, target, progress, cancelled)
        with places.workplace(target) as content:
            read_back = _write(module, plan, content, tick)
            if finish is not None:
                finish(content, plan)
            size = _bytes(content)
            places.settle(content)
            tick(0)
            places.appear(content, target, overwrite=overwrite)
    except ImportError as error:
        raise MissingExtraError(
            f"exporting to {format}", module.EXTRA or "data", str(error.name)
        ) from None
    except OSError as error:
        raise WriteError(f"writing {target}: {places.why(error)}") from None
    return ExportResult(
        target,
        format,
        size,
        len(plan),
        sum(e.length for e in plan.episodes()),
        {
            c.source: c.feature.name
            for c in plan.columns
            if not c.derived and c.take != "after"
        },
        plan.splits,
        read_back,
        tuple(plan.left_out),
    )


def _write(module: Exporter, plan: Plan, content: Path, tick: _Tick) -> ReadBack:
    module.write(plan, content, tick)
    verify = getattr(module, "verify", None)
    if verify is not None:  # records that are no columns of episodes
        found: ReadBack = verify(plan, content, tick)
        return found
    return compare(plan, content, module.READ_AS, tick)


class _Tick:
    """Counts rows, tells of them, and stops where that is wanted."""

    def __init__(
        self,
        plan: Plan,
        target: Path,
        progress: Progress | None,
        cancelled: Cancel | None,
    ) -> None:
        self._total = 2 * sum(e.length for e in plan.episodes())
        self._done = 0
        self._target = target
        self._progress = progress
        self._cancelled = cancelled

    def __call__(self, rows: int) -> None:
        if self._cancelled is not None and self._cancelled():
            raise CancelledError(f"writing {self._target} was stopped; nothing is left")
        self._done = min(self._done + rows, self._total)
        if self._progress is not None:
            self._progress(self._done, self._total)


def _bytes(content: Path) -> int:
    if content.is_file():
        return content.stat().st_size
    return sum(p.stat().st_size for p in content.rglob("*") if p.is_file())

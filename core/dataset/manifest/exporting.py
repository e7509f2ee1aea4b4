"""Export with a manifest: what the command and the window both do.

The manifest is put into the dataset before that appears: a file of its own in a folder,
bytes inside of a file. So there is never one without the other, whatever happens.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

from isoscope.core.dataset.exporters.registry import exporter
from isoscope.core.dataset.exporters.report import ExportReport
from isoscope.core.dataset.exporters.run import export
from isoscope.core.dataset.manifest.build import Made, manifest_of, written
from isoscope.core.dataset.manifest.inside import Extent, fill, reserve
from isoscope.core.dataset.manifest.stored import NAME, place_of, read_manifest
from isoscope.core.errors import IsoscopeError, UsageError, WriteError

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from isoscope.core.dataset.exporters.plan import ExportOptions, FieldMap, Plan
    from isoscope.core.dataset.exporters.splits import Splits
    from isoscope.core.dataset.manifest.forms import Manifest

    Progress = Callable[[int, int], None]
    Cancel = Callable[[], bool]


def export_with_manifest(
    made: Made,
    format: str,
    target: str | Path,
    *,
    mapping: Sequence[FieldMap] = (),
    splits: Splits | None = None,
    options: ExportOptions | None = None,
    overwrite: bool = False,
    progress: Progress | None = None,
    cancelled: Cancel | None = None,
) -> ExportReport:
    """Export episodes that were validated, with their manifest.

    Parameters
    ----------
    made
        The episodes, and all that is known of them; see also
        `isoscope.core.dataset.exporters.run.export`.

    Raises
    ------
    UsageError
        If the validation blocks it, the format can't hold it, or the target may not be
        written.
    WriteError
        If it can't be written or what is read back differs. Nothing is left then.
    ReadError, CancelledError
        As `export`.
    """
    if made.report is not None and made.report.blocking:
        failed = ", ".join(r.id for r in made.report.rules if r.blocks)
        raise UsageError(f"exporting {made.episodes.name}: {failed} failed")
    target = Path(os.path.abspath(target))
    folder = exporter(format).FOLDER
    done: list[Manifest] = []

    def finish(content: Path, plan: Plan) -> None:
        rooms: list[Extent] = []

        def room(length: int) -> Extent:
            rooms.append(reserve(content, length))
            return rooms[0]

        found = manifest_of(
            made,
            plan,
            format,
            content,
            name=target.name,
            room=None if folder else room,
            cancelled=cancelled,
        )
        done.append(found)
        if folder:
            (content / NAME).write_bytes(written(found))
            return
        fill(content, rooms[0], written(found))
        _read_back(content, found)

    result = export(
        made.episodes,
        format,
        target,
        mapping=mapping,
        splits=splits,
        options=options,
        overwrite=overwrite,
        progress=progress,
        cancelled=cancelled,
        finish=finish,
    )
    (manifest,) = done
    return ExportReport(
        source=str(made.episodes.path or made.episodes.name),
        target=str(target),
        format=format,
        episodes=result.episodes,
        transitions=result.rows,
        bytes=result.bytes,
        dropped=manifest.dropped,
        left_out=list(result.left_out),
        read_back="equal",
        compared=result.read_back.values,
        manifest=str(place_of(target, folder=folder)),
        sha256=manifest.sha256,
        fields=dict(result.fields),
        splits=manifest.splits,
        waived=[waiver.rule for waiver in manifest.waivers],
    )


def _read_back(content: Path, manifest: Manifest) -> None:
    try:
        same = written(read_manifest(content)) == written(manifest)  # NaN is NaN
    except IsoscopeError as error:
        raise WriteError(f"reading back the manifest: {error}") from None
    if not same:
        raise WriteError("reading back the manifest: it differs")

"""Contacts of one link as recordings have them: the link is always A."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    import torch

    from isoscope.core.scene import SceneRow
    from isoscope.gpu.contact.report import ContactReport
    from isoscope.gpu.transfer import Ledger

    Array = np.ndarray[Any, np.dtype[Any]]

CAUSE = "read contacts"


def contact_field(
    report: ContactReport,
    row: SceneRow,
    rows: tuple[SceneRow, ...],
    field: str,
    ledger: Ledger,
) -> Array:
    """One field of the P points at which a row's link may touch something.

    Points where the report has the link as A come first, then those where it is B,
    whose normal and force are turned round.

    Returns
    -------
    ndarray
        [W, P] or [W, P, 3]. Numbers of points that don't touch are NaN, but for the
        distance, which has a meaning there too.
    """
    as_a = np.flatnonzero(np.asarray(report.link_a) == row.link)
    as_b = np.flatnonzero(np.asarray(report.link_b) == row.link)
    points = np.concatenate((as_a, as_b))
    sign = np.repeat((1, -1), (len(as_a), len(as_b)))

    def column(tensor: torch.Tensor) -> Array:
        chosen = tensor[points.tolist()]
        return ledger.to_host(chosen.movedim(-1, 0), CAUSE)

    active = column(report.active)
    if field == "contacts_active":
        return active
    if field in ("contacts_actorA", "contacts_actorB"):
        others = _rows_of(
            _joined(report.link_b, as_a, report.link_a, as_b),
            _joined(report.shape_b, as_a, report.shape_a, as_b),
            rows,
        )
        mine = np.full(len(points), row.index)
        return np.tile(mine if field.endswith("A") else others, (len(active), 1))
    if field == "contacts_distance":
        return column(report.distance)
    if field in ("contacts_normal", "contacts_force"):
        source = report.normal if field == "contacts_normal" else report.force
        values = column(source)
        values *= sign[:, None].astype(values.dtype)
    else:
        half = column(report.distance)[..., None] * column(report.normal) / 2
        values = column(report.position)
        outward = sign if field == "contacts_posA" else -sign
        values += half * outward[:, None].astype(values.dtype)
    values[~active] = np.nan
    return values


def _rows_of(links: Array, shapes: Array, rows: tuple[SceneRow, ...]) -> Array:
    by_link = {row.link: row.index for row in rows if row.link is not None}
    by_shape = {row.shape: row.index for row in rows if row.shape is not None}
    return np.array(
        [
            by_link[int(link)] if link >= 0 else by_shape[int(shape)]
            for link, shape in zip(links, shapes, strict=True)
        ],
        dtype=np.int64,
    )


def _joined(first: Any, at_first: Array, second: Any, at_second: Array) -> Array:
    """Entries of two lists of numbers on the host, one list after the other."""
    one, two = np.asarray(first)[at_first], np.asarray(second)[at_second]
    return np.concatenate((one, two))

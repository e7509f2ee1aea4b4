"""Write HDF5 with a group an episode: what robomimic, ManiSkill and Minari share.

Values lie in one piece, uncompressed, as their own recorders write them, and go in by
windows. Text is of fixed length. Nothing refers to another file.
"""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Any

import numpy as np

from isoscope.core.dataset.exporters.plan import plain, stem
from isoscope.core.dataset.sidecar import describe

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from isoscope.core.dataset.exporters.plan import Column, Plan
    from isoscope.core.dataset.exporters.sinks import Sink
    from isoscope.core.dataset.model import Episode, Feature
    from isoscope.core.recording.tracks import Array

DESCRIPTION = "isoscope/description"


def grouped_name(feature: Feature, many: int = 2) -> str:
    """What a feature is called below an episode's group, by its role."""
    rest = stem(feature)
    heads = {
        "action": ("actions", "actions"),
        "raw_action": ("raw_actions", "raw_actions"),
        "reward": ("rewards", "rewards"),
        "terminated": ("terminated", "terminated"),
        "truncated": ("truncated", "truncated"),
        "reward_term": ("reward_terms", "reward_terms/total"),
        "state": ("states", "states/all"),
        "info": ("infos", "infos/value"),
        "time": ("times", "times/s"),
    }
    head, alone = heads[feature.role]
    return f"{head}/{rest}" if rest else alone


def numbers_only(features: Sequence[Feature]) -> list[tuple[str, str]]:
    """Features that HDF5 for training can't hold, and why."""
    found = ((f.name, plain(f)) for f in features)
    return [(name, why) for name, why in found if why]


def write_columns(
    plan: Plan,
    group: Any,
    place: int,
    sink: Sink,
    write: Callable[[Any, Column, int], None] | None = None,
) -> None:
    """Write all columns of an episode below its group; raises OSError."""
    for column in plan.columns:
        (write or (lambda g, c, p: write_column(plan, g, c, p)))(group, column, place)
    sink.check()


def write_column(
    plan: Plan,
    group: Any,
    column: Column,
    place: int,
    name: str = "",
    start: int = 0,
    stop: int | None = None,
) -> None:
    """Write rows start .. stop of a column of an episode as one dataset."""
    feature = column.feature
    rows = plan.rows(column, place)
    start, stop, _ = slice(start, stop).indices(rows)
    if stop <= start:
        return
    dataset = new_dataset(
        group, name or feature.name, (stop - start, *feature.shape), feature.dtype
    )
    for first, values in plan.windows(column, place):
        low, high = max(first, start), min(first + len(values), stop)
        if high > low:
            put_rows(dataset, low - start, values[low - first : high - first])


@cache
def _lists() -> tuple[Any, Any]:
    """How datasets are made: their property lists, for values and for links."""
    import h5py

    values = h5py.h5p.create(h5py.h5p.DATASET_CREATE)
    values.set_obj_track_times(False)
    links = h5py.h5p.create(h5py.h5p.LINK_CREATE)
    links.set_create_intermediate_group(True)
    links.set_char_encoding(h5py.h5t.CSET_UTF8)
    return values, links


@cache
def _stored_as(dtype: np.dtype[Any]) -> Any:
    import h5py

    return h5py.h5t.py_create(dtype, logical=True)


def new_dataset(
    group: Any, name: str, shape: tuple[int, ...], dtype: np.dtype[Any]
) -> Any:
    """An empty dataset in one piece, as `create_dataset` of h5py makes it.

    By h5py's lower interface: its upper one takes four times as long, which is most
    of the time where an episode is short.

    Returns
    -------
    h5py.h5d.DatasetID
        For `put_rows`.
    """
    import h5py

    values, links = _lists()
    space = h5py.h5s.create_simple(shape)
    return h5py.h5d.create(
        group.id, name.encode(), _stored_as(dtype), space, dcpl=values, lcpl=links
    )


def put_rows(dataset: Any, first: int, values: Array) -> None:
    """Write rows from `first` on of such a dataset."""
    import h5py

    held = np.ascontiguousarray(values)
    kind = _stored_as(held.dtype)
    if held.shape == dataset.shape:
        dataset.write(h5py.h5s.ALL, h5py.h5s.ALL, held, kind)
        return
    there = dataset.get_space()
    there.select_hyperslab((first, *[0] * (held.ndim - 1)), held.shape)
    dataset.write(h5py.h5s.create_simple(held.shape), there, held, kind)


def write_description(plan: Plan, file: Any, format: str) -> None:
    """Write what the format has no place for."""
    content = described(plan, format)
    file.create_dataset(DESCRIPTION, data=np.frombuffer(content, np.uint8))


def described(plan: Plan, format: str) -> bytes:
    """What the format has no place for, as JSON."""
    return describe(
        format,
        plan.features,
        plan.episodes(),
        plan.hz,
        plan.source.identity,
        plan.splits,
        plan.derived,
    )


def put_text(attributes: Any, name: str, text: str) -> None:
    """Set an attribute to text of fixed length."""
    attributes[name] = np.bytes_(text.encode())


def put_seed(attributes: Any, name: str, episode: Episode) -> None:
    """Set the seed, where there is one that fits."""
    if episode.seed is not None and -(2**63) <= episode.seed < 2**63:
        attributes[name] = np.int64(episode.seed)

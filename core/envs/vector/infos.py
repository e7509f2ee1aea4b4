"""Infos of many environments as one dict of arrays, with masks of what was written.

Every key has a mask, ``_key``, bool [N]: true where the environment gave that key.
Nested dicts stay nested, with masks at every level, as Gymnasium has it. Where the mask
is false nothing was written, and the slot holds a filler that no one takes for a value:

=================  =======================================
kind of value      filler
=================  =======================================
float, complex     NaN
signed integer     the least of its type
unsigned integer   the greatest of its type (0 is a value)
bool               False: look at the mask
anything else      None, in an array of objects
=================  =======================================
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

Array = np.ndarray[Any, Any]
Infos = dict[str, Any]
# Left as objects, one an environment, as Gymnasium does.
UNBATCHED = frozenset({"final_obs"})


def merged(entries: Iterable[tuple[int, Mapping[str, Any]]], num_envs: int) -> Infos:
    """Merge the infos of single environments.

    Parameters
    ----------
    entries
        Pairs of a global index and that environment's info. The same environment may
        come twice; what comes later wins.
    num_envs
        N.

    Returns
    -------
    dict
        Values lead with N. Numbers of several types become their common type; where no
        array fits, an array of objects, None where the mask is false.
    """
    by_key: dict[str, dict[int, Any]] = {}
    for env, info in entries:
        for key, value in info.items():
            by_key.setdefault(key, {})[env] = value
    infos: Infos = {}
    for key, values in by_key.items():
        mask = np.zeros(num_envs, dtype=np.bool_)
        mask[list(values)] = True
        infos[key] = _batched(key, values, num_envs)
        infos[f"_{key}"] = mask
    return infos


def filler(dtype: np.dtype[Any]) -> Any:
    """Give what stands where nothing was written, for a type of numbers or objects."""
    match dtype.kind:
        case "f" | "c":
            return np.nan
        case "i":
            return np.iinfo(dtype).min
        case "u":
            return np.iinfo(dtype).max
        case "b":
            return False
    return None


def _batched(key: str, values: Mapping[int, Any], num_envs: int) -> Any:
    found = list(values.values())
    if key not in UNBATCHED:
        if all(isinstance(value, dict) for value in found):
            return merged(values.items(), num_envs)
        if all(_is_number(value) for value in found):
            dtype = np.result_type(*(np.asarray(value).dtype for value in found))
            return _filled(values, (num_envs,), dtype)
        if all(isinstance(value, np.ndarray) for value in found):
            shapes = {value.shape for value in found}
            kinds = {value.dtype.kind for value in found}
            if len(shapes) == 1 and kinds <= set("fciub"):
                dtype = np.result_type(*(value.dtype for value in found))
                return _filled(values, (num_envs, *shapes.pop()), dtype)
    objects = np.full(num_envs, None, dtype=object)
    for env, value in values.items():
        objects[env] = value
    return objects


def _is_number(value: Any) -> bool:
    if type(value) is int:  # larger ones stay objects
        return -(2**63) <= value < 2**63
    return type(value) in (float, bool) or isinstance(value, np.number)


def _filled(
    values: Mapping[int, Any], shape: tuple[int, ...], dtype: np.dtype[Any]
) -> Array:
    array = np.full(shape, filler(dtype), dtype=dtype)
    for env, value in values.items():
        array[env] = value
    return array

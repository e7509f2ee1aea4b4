"""The persistent configuration: what snapshots don't cover, by name; read and changed.

Names are those of `gpu.model.declarations` (``"gravity"``, ``"mass"``, …), then the
integrator's settings, ``"integrator"`` and ``"integrator.…"``.
"""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING, Any

import numpy as np

from isoscope.gpu.errors import ParameterError
from isoscope.gpu.model.declarations import declaration
from isoscope.gpu.scene.errors import ConfigurationError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from isoscope.gpu.model.declarations import Declaration
    from isoscope.gpu.model.parameters import Parameters
    from isoscope.gpu.model.tree import Tree
    from isoscope.gpu.scene.machine import Setting
    from isoscope.gpu.transfer import Ledger

    Array = np.ndarray[Any, np.dtype[Any]]

CAUSE = "configuration"
# Of each pair, the first must not be above the second.
ORDERED = (
    ("limit_lower", "limit_upper"),
    ("drive_force_lower", "drive_force_upper"),
    ("drive_control_lower", "drive_control_upper"),
)


def described(
    parameters: Parameters, settings: Mapping[str, Setting], ledger: Ledger
) -> dict[str, Array]:
    """Name to values on the host.

    Returns
    -------
    dict
        Of n links, say: [n], or [n, components]; gravity [3]; a number of the whole
        model is a scalar. Where worlds differ, W is put in front; values that were set
        for each world and are equal are told once. Settings are scalars.
    """
    values: dict[str, Array] = {}
    for declared, tensor in parameters.items():
        host = ledger.to_host(tensor, CAUSE)
        values[declared.name] = _as_told(declared, host)
    values.update((name, np.array(setting)) for name, setting in settings.items())
    return values


def fingerprint(values: Mapping[str, Array]) -> str:
    """Hexadecimal SHA-256 of names, dtypes, shapes and values, by name."""
    digest = hashlib.sha256()
    for name in sorted(values):
        array = np.ascontiguousarray(values[name])
        shape = np.shape(values[name])
        digest.update(f"{name}\0{array.dtype.str}\0{shape}\0".encode())
        digest.update(array.tobytes())
    return digest.hexdigest()


def changed(
    tree: Tree,
    parameters: Parameters,
    name: str,
    value: Array,
    chosen: np.ndarray[Any, Any] | None,
) -> Parameters:
    """Set one parameter, in all worlds or in some, if the value makes sense.

    Parameters
    ----------
    value
        On the host: shaped as `described` gives it, with or without W in front, or one
        number for all.
    chosen
        bool [W]; None: all.

    Raises
    ------
    ConfigurationError
        With the reason; the parameters given are never written to.
    """
    declared = declaration(name)
    rows = _as_rows(declared, declared.rows(tree), value, parameters.worlds)
    worlds = None if chosen is None else np.flatnonzero(chosen).tolist()
    if chosen is not None and rows.shape[1] != 1:
        rows = rows[:, chosen]
    if worlds == []:
        return parameters
    try:
        new = parameters.replaced(name, rows, worlds)
    except ParameterError as error:
        raise ConfigurationError(str(error)) from error
    _require_sensible(tree, new, name)
    return new


def changed_setting(
    settings: Mapping[str, Setting],
    name: str,
    value: Array,
    chosen: np.ndarray[Any, Any] | None,
) -> dict[str, Setting]:
    """Set one of the integrator's settings, which all worlds share.

    Raises
    ------
    ConfigurationError
        For another type, for some worlds only, or for the integrator itself.
    """
    old = settings[name]
    if name == "integrator":
        raise ConfigurationError(
            "setting integrator: it can't be changed; make another scene"
        )
    if chosen is not None and not chosen.all():
        raise ConfigurationError(
            f"setting {name}: all worlds share it; set it without naming worlds"
        )
    plain = np.asarray(value)
    if plain.ndim:
        raise ConfigurationError(f"setting {name}: give one value, not {plain.shape}")
    new = plain.item()
    if isinstance(old, float) and isinstance(new, int) and not isinstance(new, bool):
        new = float(new)
    if type(new) is not type(old):
        raise ConfigurationError(
            f"setting {name}: {new!r} is no {type(old).__name__} like {old!r}"
        )
    return {**settings, name: new}


def _as_told(declared: Declaration, host: Array) -> Array:
    """[rows, 1 or W] to the shape that users see."""
    worlds = np.ascontiguousarray(host.T)
    if declared.per == "model":
        shaped = worlds if declared.components else worlds[:, 0]
    elif declared.components:
        shaped = worlds.reshape(len(worlds), -1, len(declared.components))
    else:
        shaped = worlds
    return np.array(shaped[0]) if bool((shaped == shaped[:1]).all()) else shaped


def _as_rows(declared: Declaration, rows: int, value: Array, worlds: int) -> Array:
    """What users give to [rows, 1 or W]."""
    given = np.asarray(value)
    if given.dtype.kind not in "fiu":
        raise ConfigurationError(
            f"setting {declared.name}: {given.dtype} was given; give numbers"
        )
    parts = len(declared.components)
    if declared.per == "model":
        shape: tuple[int, ...] = (parts,) if parts else ()
    else:
        shape = (rows // parts, parts) if parts else (rows,)
    if given.ndim == 0 and shape:
        given = np.full(shape, given)
    if given.shape == shape:
        return given.reshape(rows, 1)
    if given.shape == (worlds, *shape):
        return np.ascontiguousarray(given.reshape(worlds, rows).T)
    raise ConfigurationError(
        f"setting {declared.name}: a value of shape {given.shape} was given; "
        f"give {shape}, or {(worlds, *shape)} for each world"
    )


def _require_sensible(tree: Tree, new: Parameters, name: str) -> None:
    """Refuse what is wrong only beside other numbers."""
    for lower, upper in ORDERED:
        if name in (lower, upper) and bool((new[lower] > new[upper]).any()):
            raise ConfigurationError(
                f"setting {name}: a lower limit would be above the upper one; "
                f"set {lower} and {upper} in the order that keeps them apart"
            )
    if name == "mass":
        for link in tree.links:
            if link.mass > 0 and not bool((new.mass[link.index] > 0).all()):
                raise ConfigurationError(
                    f"setting mass: {tree.link_label(link.index)} would have none; "
                    "give more than 0 kg"
                )
    if name == "inertia":
        for link in tree.links:
            six = new.inertia[6 * link.index : 6 * link.index + 6]
            if any(link.inertia) and bool((six == 0).all(0).any()):
                raise ConfigurationError(
                    f"setting inertia: {tree.link_label(link.index)} would have none"
                )

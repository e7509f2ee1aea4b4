"""From a state's components, as SuperDex writes them to JSON, to named arrays."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from isoscope.core.recording.superdex.values import plain_name

if TYPE_CHECKING:
    from isoscope.core.recording.tracks import Array

MAX_FIELDS = 4096  # of one actor
MAX_DEPTH = 16
_MAX_TEXT = 1 << 12
_LARGEST = float(np.finfo(np.float64).max)
_ROOT, _STATE = "CRootTransform", "CRigidState<Current>"
_VELOCITY = "CRigidVel<Current>"
_JOINT_VELOCITIES = "CArticulatedJointVels<Current>"
_POSE, _TARGET = "CArticulatedReducedPose<Current>", "CControllerTarget<Current>"

# What equals a field of a recording: component, path in it, the field's name, length.
_EQUAL: tuple[tuple[str, tuple[str, ...], str, int | None], ...] = (
    (_ROOT, ("worldFromLocal", "translation"), "translation", 3),
    (_ROOT, ("worldFromLocal", "rotation"), "rotation", 4),
    (_STATE, ("value", "translation"), "translationCom", 3),
    (_STATE, ("value", "rotation"), "rotationCom", 4),
    (_POSE, ("value",), "pose", None),
    (_TARGET, ("_jointPose",), "targetPose", None),
)


def actor_fields(components: dict[str, Any], real: np.dtype[Any]) -> dict[str, Array]:
    """All numbers and texts of an actor's components.

    Parameters
    ----------
    components
        As decoded from JSON.
    real
        Dtype of real numbers.

    Returns
    -------
    dict
        Arrays by field: those that equal a recording's under its name, then the
        others under ``Component/part/…``, in the file's order.
    """
    fields: dict[str, Array] = {}
    known: set[str] = set()
    for component, path, name, length in _EQUAL:
        value = _vector(_inside(components, (component, *path)), real, length)
        if value is not None:
            fields[name] = value
            known.add("/".join((component, *path)))
    one = _motion(_inside(components, (_VELOCITY, "value")), real)
    if one is not None:
        fields.update(one)
        known.update(f"{_VELOCITY}/value/{name}" for name in one)
    links = _motions(_inside(components, (_JOINT_VELOCITIES, "value")), real)
    if links is not None:
        fields.update(links)
        for link in range(len(links["vcom"])):
            each = f"{_JOINT_VELOCITIES}/value/{link}"
            known.update(f"{each}/{name}" for name in links)
            known.update(f"{each}/value/{name}" for name in links)
    for name, value in leaves(components, real).items():
        if name not in known and not any(name.startswith(f"{k}/") for k in known):
            fields[name] = value
    return fields


def _inside(value: Any, path: tuple[str, ...]) -> Any:
    for key in path:
        value = value.get(key) if isinstance(value, dict) else None
    return value


def is_number(value: Any) -> bool:
    """Whether it is a number that a float can hold; JSON's may have any length."""
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return False
    return -_LARGEST <= value <= _LARGEST


def _numbers(value: Any) -> bool:
    return isinstance(value, list) and all(map(is_number, value))


def _vector(value: Any, real: np.dtype[Any], length: int | None) -> Array | None:
    if not _numbers(value) or (length is not None and len(value) != length):
        return None
    return np.array(value, np.float64).astype(real)


def _motion(value: Any, real: np.dtype[Any]) -> dict[str, Array] | None:
    """Velocities of one body, without the padding: vcom, omega [3], vsym [9] by rows.

    Six numbers of the symmetric part are written: xx yy zz 0, xy xz yz 0.
    """
    vcom, omega, vsym = (_inside(value, (k,)) for k in ("vcom", "omega", "vsym"))
    if not (isinstance(vsym, list) and len(vsym) == 2):
        return None
    parts = [_vector(v, real, 4) for v in (vcom, omega, *vsym)]
    if any(part is None for part in parts):
        return None
    centre, turn, diagonal, rest = (part for part in parts if part is not None)
    (xx, yy, zz, _), (xy, xz, yz, _) = diagonal, rest
    symmetric = np.array([xx, xy, xz, xy, yy, yz, xz, yz, zz], real)
    return {"vcom": centre[:3], "omega": turn[:3], "vsym": symmetric}


def _motions(value: Any, real: np.dtype[Any]) -> dict[str, Array] | None:
    """Velocities of all links: vcom, omega [links, 3], vsym [links, 9]."""
    if not isinstance(value, list) or not value:
        return None
    found = []
    for link in value:
        # Release 1.0.0 wraps each of them once more.
        inner = link.get("value", link) if isinstance(link, dict) else None
        motion = _motion(inner, real)
        if motion is None:
            return None
        found.append(motion)
    return {name: np.stack([m[name] for m in found]) for name in found[0]}


def leaves(value: Any, real: np.dtype[Any]) -> dict[str, Array]:
    """Every number, list of numbers, truth value and text, by its path."""
    found: dict[str, Array] = {}
    _collect(value, "", real, found, 0)
    return found


def _collect(
    value: Any, path: str, real: np.dtype[Any], out: dict[str, Array], depth: int
) -> None:
    if len(out) >= MAX_FIELDS or depth > MAX_DEPTH:
        return
    made = _array(value, real)
    if made is not None:
        out[path] = made
        return
    if isinstance(value, dict):
        items = [(plain_name(key), inner) for key, inner in value.items()]
    elif isinstance(value, list):
        items = [(str(i), inner) for i, inner in enumerate(value)]
    else:
        return
    for key, inner in items:
        _collect(inner, f"{path}/{key}" if path else key, real, out, depth + 1)


def _array(value: Any, real: np.dtype[Any]) -> Array | None:
    """The value as an array, or None if it has to be taken apart (or is empty)."""
    if isinstance(value, bool):
        return np.array(value)
    if isinstance(value, int) and -(1 << 63) <= value < 1 << 63:
        return np.array(value, np.int64)
    if is_number(value):
        return np.array(float(value), np.float64).astype(real)
    if isinstance(value, str):
        return np.array(value.encode()[:_MAX_TEXT] or b"\0", np.bytes_)
    if not isinstance(value, list) or not value:
        return None
    rows = value if all(isinstance(v, list) for v in value) else [value]
    if not all(_numbers(row) and len(row) == len(rows[0]) for row in rows):
        return None
    # A list of whole numbers may well be one of reals, all of which happen to be whole.
    return np.array(value, np.float64).astype(real)

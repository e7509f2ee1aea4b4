"""What differs between two manifests, and what can still be claimed of the datasets.

- *Same configuration*: all that decides a run is known in both, and equal.
- *Within tolerance*: yes if all values are equal; no if a least, greatest or mean value
  differs by more, since then some value must; else manifests alone can't tell.
- *Bit for bit*: by the digests of all values and how episodes ended.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import msgspec

from isoscope.core.dataset.manifest.forms import Difference, ManifestDiff
from isoscope.core.replay.forms import Claim, Claims

if TYPE_CHECKING:
    from collections.abc import Iterator

    from isoscope.core.dataset.manifest.forms import FieldEntry, Manifest

TOLERANCE = 1e-3
# Of these a run is made: unknown in one of the two, nothing can be claimed.
DECIDING = (
    "identity.engine",
    "identity.engine_version",
    "identity.precision",
    "identity.control_hz",
    "identity.simulation_hz",
    "identity.substeps",
    "identity.autoreset_mode",
    "identity.seeds",
    "configuration.digests",
    "configuration.models",
)
# Of these it is made as well, where they are told.
BESIDES = (
    "identity.build",
    "identity.commit",
    "identity.source_hash",
    "identity.factory",
    "identity.packages",
    "identity.environments",
    "identity.processes",
    "identity.environments_per_process",
    "identity.threads",
    "identity.shared_scenes",
    "identity.spaces",
    "configuration.scenes",
    "configuration.actors",
    "configuration.changes",
    "clocks.h_s",
    "clocks.substeps",
    "clocks.control_hz",
)
ENDS = ("env", "number", "length", "terminated", "truncated", "seed")
# Not the data's own: when and with what it was written, and how it is laid out.
APART = ("created", "files", "sha256", "missing", "fields", "episodes", "schema")
NAMED_AT_MOST = 6


def diff(a: Manifest, b: Manifest, names: tuple[str, str] = ("A", "B")) -> ManifestDiff:
    """Compare two manifests."""
    flat_a, flat_b = (dict(_flat(m)) for m in (a, b))
    keys = dict.fromkeys([*flat_a, *flat_b])
    differences = [
        Difference(key=key, a=flat_a.get(key), b=flat_b.get(key))
        for key in keys
        if flat_a.get(key) != flat_b.get(key)
    ]
    differences += _episodes(a, b)
    differences += _fields(a, b)
    unknown = [
        key for key in DECIDING if _empty(flat_a.get(key)) or _empty(flat_b.get(key))
    ]
    bits = _bits(a, b)
    return ManifestDiff(
        a=names[0],
        b=names[1],
        claims=Claims(
            same_configuration=_configuration(flat_a, flat_b, unknown),
            within_tolerance=_within(a, b, bits),
            bit_for_bit=bits,
        ),
        differences=differences,
        not_known=unknown,
    )


def _empty(value: Any) -> bool:
    return value in (None, "", [], {})


def _flat(manifest: Manifest) -> Iterator[tuple[str, Any]]:
    told = msgspec.to_builtins(manifest)
    for key, value in told.items():
        if key in APART:
            continue
        if isinstance(value, dict):
            for inner, item in value.items():
                yield f"{key}.{inner}", item
        else:
            yield key, value


def _configuration(a: dict[str, Any], b: dict[str, Any], unknown: list[str]) -> Claim:
    apart = [
        key
        for key in (*DECIDING, *BESIDES)
        if not (_empty(a.get(key)) or _empty(b.get(key))) and a[key] != b[key]
    ]
    if apart:
        return Claim(answer="no", reason=f"not the same: {_listed(apart)}")
    if unknown:
        return Claim(
            answer="not_checkable", reason=f"not told by both: {_listed(unknown)}"
        )
    return Claim(answer="yes", reason="all that decides a run is told and the same")


def _listed(names: list[str]) -> str:
    shown = names[:NAMED_AT_MOST]
    rest = len(names) - len(shown)
    return ", ".join(shown) + (f" and {rest} more" if rest else "")


def _ends(manifest: Manifest) -> list[tuple[Any, ...]]:
    return [tuple(getattr(e, name) for name in ENDS) for e in manifest.episodes]


def _paired(a: Manifest, b: Manifest) -> dict[str, tuple[FieldEntry, FieldEntry]]:
    """Fields of both by what they are called in A's source.

    A feature may be in a dataset twice: before each step, and after it as another role.
    """
    by_source = {(f.source, f.role): f for f in b.fields}
    by_name = {f.name: f for f in b.fields}
    out = {}
    for one in a.fields:
        other = by_source.get((one.source, one.role)) or by_name.get(one.name)
        if other is not None:
            out[_called(one, a)] = (one, other)
    return out


def _called(field: FieldEntry, of: Manifest) -> str:
    twice = sum(f.source == field.source for f in of.fields) > 1
    return f"{field.source} ({field.name})" if twice else field.source


def _alone(a: Manifest, b: Manifest) -> tuple[list[str], list[str]]:
    """Fields that only one of them has."""
    pairs = _paired(a, b).values()
    met_a, met_b = ({id(pair[k]) for pair in pairs} for k in (0, 1))
    return (
        [_called(f, a) for f in a.fields if id(f) not in met_a],
        [_called(f, b) for f in b.fields if id(f) not in met_b],
    )


def _bits(a: Manifest, b: Manifest) -> Claim:
    if not a.fields or not b.fields:
        return Claim(answer="not_checkable", reason="one of them lists no values")
    pairs = _paired(a, b)
    only_a, only_b = _alone(a, b)
    alone = only_a + only_b
    apart = [
        name
        for name, (one, other) in pairs.items()
        if (one.dtype, one.shape, one.sha256)
        != (other.dtype, other.shape, other.sha256)
    ]
    if apart:
        rows = [
            f"{name} has {one.count:,} and {other.count:,} rows"
            for name, (one, other) in pairs.items()
            if one.count != other.count
        ]
        more = f" ({'; '.join(rows[:NAMED_AT_MOST])})" if rows else ""
        return Claim(answer="no", reason=f"not the same: {_listed(apart)}{more}")
    if _ends(a) != _ends(b):
        return Claim(answer="no", reason="episodes, their lengths or ends are not same")
    if alone:
        return Claim(answer="no", reason=f"only in one of them: {_listed(alone)}")
    return Claim(
        answer="yes", reason=f"all values of {len(pairs)} fields have equal digests"
    )


def _held(field: FieldEntry) -> tuple[Any, ...]:
    return field.dtype, field.shape, field.count, field.sha256


def _within(a: Manifest, b: Manifest, bits: Claim) -> Claim:
    if bits.answer == "yes":
        return Claim(answer="yes", reason="they are equal bit for bit")
    pairs = _paired(a, b)
    allowed = f"{TOLERANCE:g} times (1 + the larger value)"
    if not pairs:
        return Claim(answer="not_checkable", reason="they have no field in common")
    if [e.length for e in a.episodes] != [e.length for e in b.episodes]:
        return Claim(answer="no", reason="episodes are of other lengths")
    for name, (one, other) in pairs.items():
        if one.count != other.count or one.finite != other.finite:
            continue
        for what in ("min", "max", "mean"):
            x, y = getattr(one, what), getattr(other, what)
            if x is None or y is None:
                continue
            # The larger of all values, since which two rows met isn't known here.
            top = max(abs(v) for v in (one.min, one.max, other.min, other.max))  # type: ignore[arg-type]
            if abs(x - y) > TOLERANCE * (1 + top):
                return Claim(
                    answer="no",
                    reason=f"the {what} of {name} is {x:.6g} and {y:.6g}, so that a "
                    f"value differs by more than {allowed}",
                )
    return Claim(
        answer="not_checkable",
        reason="ranges and means agree, but single values were not compared; isoscope "
        "compare does so for recordings",
    )


def _episodes(a: Manifest, b: Manifest) -> list[Difference]:
    if len(a.episodes) != len(b.episodes):
        return [Difference(key="episodes", a=len(a.episodes), b=len(b.episodes))]
    apart = [
        index
        for index, (x, y) in enumerate(zip(_ends(a), _ends(b), strict=True))
        if x != y
    ]
    return [
        Difference(
            key=f"episodes[{index}]",
            a=msgspec.to_builtins(a.episodes[index]),
            b=msgspec.to_builtins(b.episodes[index]),
        )
        for index in apart[:NAMED_AT_MOST]
    ]


def _fields(a: Manifest, b: Manifest) -> list[Difference]:
    out = []
    pairs = _paired(a, b)
    only_a, only_b = _alone(a, b)
    out += [Difference(key=f"fields.{name}", a="there", b=None) for name in only_a]
    out += [Difference(key=f"fields.{name}", a=None, b="there") for name in only_b]
    for name, (one, other) in pairs.items():
        for what in ("dtype", "shape", "names", "units", "low", "high", "count"):
            x, y = getattr(one, what), getattr(other, what)
            if x != y:
                out.append(Difference(key=f"fields.{name}.{what}", a=x, b=y))
        if one.sha256 != other.sha256:
            out.append(
                Difference(
                    key=f"fields.{name}.values", a=one.sha256[:16], b=other.sha256[:16]
                )
            )
    return out

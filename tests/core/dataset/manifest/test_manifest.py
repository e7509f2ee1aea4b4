"""A manifest: what was written, from what, by which edits, and what is not known."""

from __future__ import annotations

import hashlib
import json
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import h5py
import msgspec
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from isoscope.core.dataset.curate.curated import curated
from isoscope.core.dataset.curate.edits import Choice, Judge, Split, Trim
from isoscope.core.dataset.exporters.plan import FieldMap
from isoscope.core.dataset.manifest.build import Made
from isoscope.core.dataset.manifest.diff import diff
from isoscope.core.dataset.manifest.exporting import export_with_manifest
from isoscope.core.dataset.manifest.hashes import entries, file_sha256, together
from isoscope.core.dataset.manifest.inside import extent_of
from isoscope.core.dataset.manifest.stored import NAME, digest_of, read_manifest
from isoscope.core.dataset.manifest.values import _Seen
from isoscope.core.dataset.readers.registry import open_episodes
from isoscope.core.dataset.validate.report import Waiver
from isoscope.core.dataset.validate.run import validate
from isoscope.core.errors import CancelledError, ReadError, UsageError
from tests.core.dataset.made import made

if TYPE_CHECKING:
    from pathlib import Path

    from isoscope.core.dataset.manifest.forms import Manifest
    from isoscope.core.dataset.memory import MemoryEpisodes

IDENTITY = {
    "engine": "none",
    "engine_version": "1",
    "precision": "float32",
    "control_hz": 50.0,
    "simulation_hz": 100.0,
    "substeps": 2,
    "autoreset_mode": "same_step",
    "seeds": [1, 2**70],
}


def source(**more: Any) -> MemoryEpisodes:
    found = made((5, 2, 12), plain=True)
    for columns in found.columns:
        np.clip(columns["action"], -3, 3, out=columns["action"])
    return replace(found, identity=IDENTITY | more)


def exported(
    to: Path, episodes: Any = None, format: str = "shards", **more: Any
) -> Manifest:
    given_ = Made(source() if episodes is None else episodes)
    report = export_with_manifest(given_, format, to, **more)
    found = read_manifest(to)
    assert report.sha256 == found.sha256
    return found


# -- what it holds ---------------------------------------------------------------------


def test_digests_are_those_of_the_files(tmp_path: Path) -> None:
    out = tmp_path / "data"
    found = exported(out)
    told = {entry.path: entry.sha256 for entry in found.files}
    there = {
        p.relative_to(out).as_posix(): hashlib.sha256(p.read_bytes()).hexdigest()
        for p in out.rglob("*")
        if p.is_file() and p.name != NAME
    }
    assert told == there
    lines = "".join(f"{there[name]}  {name}\n" for name in sorted(there))
    assert found.sha256 == hashlib.sha256(lines.encode()).hexdigest()
    assert together(entries(out, [NAME]), folder=True) == found.sha256


def test_inside_a_file(tmp_path: Path) -> None:
    out = tmp_path / "data.hdf5"
    found = exported(out, format="robomimic")
    extent = extent_of(out)
    assert extent is not None
    assert found.sha256 == file_sha256(out, blank=extent)
    content = bytearray(out.read_bytes())
    assert found.files[0].bytes == len(content)
    content[extent.start : extent.start + extent.length] = bytes(extent.length)
    assert found.sha256 == hashlib.sha256(content).hexdigest()
    assert [e.path for e in found.files] == ["data.hdf5"]
    # Anybody can read it with h5py alone, and the format's readers pass over it.
    with h5py.File(out, "r") as file:
        told = json.loads(file["isoscope/manifest"][()].tobytes())
    assert told["sha256"] == found.sha256
    written = open_episodes(out)
    assert not written.problems  # type: ignore[attr-defined]
    written.close()
    with pytest.raises(UsageError, match="exists already"):
        exported(out, format="robomimic")
    exported(out, format="robomimic", overwrite=True)
    # It goes where the file goes; and is found whatever that is called.
    moved = out.rename(tmp_path / "elsewhere")
    assert read_manifest(moved).format == "robomimic"
    assert [p.name for p in tmp_path.iterdir()] == ["elsewhere"]


def test_a_file_from_a_file_names_its_digest(tmp_path: Path) -> None:
    first = exported(tmp_path / "a.hdf5", format="robomimic")
    again = open_episodes(tmp_path / "a.hdf5")
    found = exported(tmp_path / "b.hdf5", again, "robomimic")
    again.close()
    assert found.source.sha256 == first.sha256
    assert found.source.manifest is not None
    assert found.source.manifest["sha256"] == digest_of(tmp_path / "a.hdf5")


def test_values_are_described_as_they_were_written(tmp_path: Path) -> None:
    out = tmp_path / "data"
    episodes = source()
    found = exported(out, episodes, mapping=[FieldMap("info/small", "")])
    written = open_episodes(out)
    assert {f.source for f in found.fields} == {
        f.name for f in episodes.features if f.name != "info/small"
    }
    for entry in found.fields:
        parts = [written.read(k, entry.name) for k in range(3)]
        values = np.concatenate(parts)
        assert entry.count == len(values)
        assert entry.sha256 == hashlib.sha256(values.tobytes()).hexdigest()
        assert (entry.min, entry.max) == (values.min(), values.max())
        assert entry.mean == pytest.approx(values.astype(float).mean(), rel=1e-9)
        assert entry.std == pytest.approx(values.astype(float).std(), rel=1e-9)
    assert found.left_out == ["info/small: as it was asked for"]
    assert found.fields_map["action"] in {f.name for f in found.fields}
    written.close()


def test_edits_and_waivers_travel(tmp_path: Path) -> None:
    episodes = source()
    edits = (
        Judge(("e0/../0",), "rejected", "it slipped"),
        Split("e2/../2", 4),
        Trim("e2/../2/b", 1, 7),
    )
    choice = Choice.all_of(episodes.episodes)
    for edit in edits:
        choice = choice.after(edit)
    chosen = curated(episodes, choice)
    waiver = Waiver(rule="incomplete", by="me", why="cut on purpose")
    report = validate(chosen, waivers=[waiver])
    given_ = Made(chosen, report=report, edits=edits)
    export_with_manifest(given_, "shards", tmp_path / "data")
    found = read_manifest(tmp_path / "data")
    assert [e["edit"] for e in found.edits] == ["judge", "split", "trim"]
    assert found.waivers == [waiver]
    assert found.validation is not None
    assert found.validation.waived == ["incomplete"]
    assert [(e.index, e.id, e.length) for e in found.episodes] == [
        (0, "e1/../1", 2),
        (1, "e2/../2/a", 4),
        (2, "e2/../2/b", 6),
    ]
    assert found.episodes[2].source == "e2/../2"
    assert found.episodes[2].control_steps == (5, 11)
    assert {"why": "transitions of rejected episodes", "count": 5} in found.dropped
    assert {"why": "transitions trimmed away", "count": 2} in found.dropped


def test_what_blocks_is_not_exported(tmp_path: Path) -> None:
    episodes = source()
    episodes.columns[0]["reward"][0] = np.nan  # type: ignore[index]
    blocked = Made(episodes, report=validate(episodes))
    with pytest.raises(UsageError, match="finite failed"):
        export_with_manifest(blocked, "shards", tmp_path / "data")
    assert list(tmp_path.iterdir()) == []


def test_what_is_missing_is_told(tmp_path: Path) -> None:
    bare = replace(source(), identity={})
    missing = {one.what.split(" ")[0] for one in exported(tmp_path / "a", bare).missing}
    assert {"identity.engine", "identity.seeds", "source.sha256", "audit"} <= missing
    told = {one.what.split(" ")[0] for one in exported(tmp_path / "b").missing}
    assert missing - told >= {"identity.engine", "identity.seeds"}
    assert "identity.commit" in told


def test_clocks(tmp_path: Path) -> None:
    found = exported(tmp_path / "a").clocks
    assert (found.h_s, found.control_period_s, found.substeps) == ([0.01], 0.02, 2)
    assert found.relation == "H = M h"
    odd = exported(tmp_path / "b", source(substeps=3)).clocks
    assert odd.relation == "H = 0.02 s, M h = 0.03 s"


def test_stopped_while_hashing_nothing_is_left(tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_bytes(b"x")
    with pytest.raises(CancelledError):
        file_sha256(path, lambda: True)
    written: list[bool] = []

    def progress(done: int, total: int) -> None:
        if done == total:
            written.append(True)

    with pytest.raises(CancelledError, match="was stopped"):
        export_with_manifest(
            Made(source()),
            "shards",
            tmp_path / "a",
            progress=progress,
            cancelled=lambda: bool(written),
        )
    assert [p.name for p in tmp_path.iterdir()] == ["file"]


@given(
    st.lists(
        st.lists(st.floats(-1e6, 1e6) | st.just(float("nan")), min_size=1), min_size=1
    )
)
def test_ranges_do_not_depend_on_the_windows(parts: list[list[float]]) -> None:
    seen, whole = _Seen(), _Seen()
    for part in parts:
        seen.take(np.array(part))
    values = np.concatenate([np.array(p) for p in parts])
    whole.take(values)
    assert seen.digest.hexdigest() == whole.digest.hexdigest()
    assert (seen.count, seen.finite) == (whole.count, whole.finite)
    assert (seen.low, seen.high) == (whole.low, whole.high)
    known = values[np.isfinite(values)]
    if len(known):
        assert seen.mean == pytest.approx(known.mean(), abs=1e-6)
        assert seen.square / seen.finite == pytest.approx(known.var(), abs=1e-3)


# -- reading ---------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b"", "no manifest"),
        (b"{", "no manifest"),
        (b'{"schema": "isoscope.validate/1"}', "no manifest"),
        (b"[" * 100_000, "no manifest"),
    ],
)
def test_a_bad_manifest_is_one_line(content: bytes, said: str, tmp_path: Path) -> None:
    path = tmp_path / NAME
    path.write_bytes(content)
    with pytest.raises(ReadError, match=said) as error:
        read_manifest(tmp_path)
    assert "\n" not in str(error.value)


def test_no_manifest(tmp_path: Path) -> None:
    with pytest.raises(ReadError, match="it has no manifest"):
        read_manifest(tmp_path)
    with pytest.raises(ReadError, match="no such file"):
        read_manifest(tmp_path / "gone")


# -- differences -----------------------------------------------------------------------


def answers(a: Manifest, b: Manifest) -> tuple[str, str, str]:
    claims = diff(a, b).claims
    return (
        claims.same_configuration.answer,
        claims.within_tolerance.answer,
        claims.bit_for_bit.answer,
    )


def test_the_same_in_two_formats(tmp_path: Path) -> None:
    a = exported(tmp_path / "a")
    b = exported(tmp_path / "b.hdf5", format="robomimic")
    found = diff(a, b)
    assert answers(a, b)[1:] == ("yes", "yes")
    # models and persistent values are in no manifest made of memory
    assert found.claims.same_configuration.answer == "not_checkable"
    assert "configuration.models" in found.not_known
    assert "format" in [d.key for d in found.differences]
    assert diff(a, a).differences == []


def test_all_known_and_equal_is_the_same_configuration(tmp_path: Path) -> None:
    a = exported(tmp_path / "a")
    known = {"digests": ["00"], "models": [{"name": "Cart", "sha256": "11"}]}
    a = msgspec.structs.replace(a, configuration=known)
    assert answers(a, a)[0] == "yes"
    other = msgspec.structs.replace(a, configuration=known | {"digests": ["01"]})
    assert answers(a, other)[0] == "no"
    assert "configuration.digests" in diff(a, other).claims.same_configuration.reason


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        (1e-9, "not_checkable"),  # ranges agree; single values were not compared
        (50.0, "no"),
    ],
)
def test_a_changed_value(change: float, expected: str, tmp_path: Path) -> None:
    a = exported(tmp_path / "a")
    episodes = source()
    episodes.columns[2]["reward"][3] += change  # type: ignore[index]
    b = exported(tmp_path / "b", episodes)
    assert answers(a, b)[1:] == (expected, "no")
    keys = [d.key for d in diff(a, b).differences]
    assert "fields.reward.values" in keys


def test_other_ends_are_not_bit_for_bit(tmp_path: Path) -> None:
    a = exported(tmp_path / "a")
    entries_ = [msgspec.structs.replace(a.episodes[0], truncated=True), *a.episodes[1:]]
    b = msgspec.structs.replace(a, episodes=entries_)
    assert answers(a, b)[2] == "no"
    assert "episodes[0]" in [d.key for d in diff(a, b).differences]


def test_a_field_that_only_one_has(tmp_path: Path) -> None:
    a = exported(tmp_path / "a")
    b = exported(tmp_path / "b", mapping=[FieldMap("info/counts", "")])
    claim = diff(a, b).claims.bit_for_bit
    assert claim.answer == "no"
    assert claim.reason.startswith("only in one of them")

"""Every format gives back every bit, also from one format to the next."""

from __future__ import annotations

import itertools
import tempfile
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from isoscope.core.dataset.exporters.plan import ExportOptions, FieldMap
from isoscope.core.dataset.exporters.run import export
from isoscope.core.dataset.exporters.splits import Splits, split
from isoscope.core.dataset.model import Episodes, Feature
from isoscope.core.dataset.readers.registry import open_episodes
from isoscope.core.errors import CancelledError, UsageError, WriteError
from tests.core.dataset.made import FEATURES, MATRIX, PICTURE, made, same

if TYPE_CHECKING:
    from collections.abc import Sequence

FORMATS = ("lerobot", "minari", "robomimic", "maniskill", "shards")
OPEN = ("lerobot", "robomimic", "shards")  # also without what an episode ended in


def needs(format: str) -> None:
    if format == "minari":
        pytest.importorskip("minari")


def renamed(source: Episodes, fields: dict[str, str]) -> dict[str, str]:
    return {f.name: fields[f.name] for f in source.features}


def kept(source: Any, *, final: bool) -> Any:
    """The source as a format without last observations has it."""
    if final:
        return source
    episodes = [replace(e, final=False) for e in source.episodes]
    columns = [
        {f.name: held[f.name][: e.length] for f in source.features}
        for e, held in zip(episodes, source.columns, strict=True)
    ]
    return replace(source, episodes=episodes, columns=columns)


@pytest.mark.parametrize("format", FORMATS)
def test_a_format_gives_back_every_bit(format: str, tmp_path: Path) -> None:
    needs(format)
    source = made(features=(*FEATURES, MATRIX, PICTURE))
    result = export(source, format, tmp_path / "a-v0")
    assert result.read_back.episodes == 3
    assert result.rows == 18
    found = open_episodes(tmp_path / "a-v0")
    assert found.format == format
    same(
        kept(source, final=format != "lerobot"),
        found,
        renamed(source, dict(result.fields)),
    )
    if format != "shards":  # a shard's tensors are all of one kind
        assert found.control_hz == 50.0
    found.close()
    assert [p.name for p in tmp_path.iterdir()] == ["a-v0"]


@pytest.mark.parametrize(("first", "second"), list(itertools.product(FORMATS, FORMATS)))
def test_from_format_to_format(first: str, second: str, tmp_path: Path) -> None:
    needs(first)
    needs(second)
    through(first, second, made((4, 9)), tmp_path)


@settings(
    max_examples=25,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
@given(
    first=st.sampled_from(FORMATS),
    second=st.sampled_from(FORMATS),
    lengths=st.lists(st.integers(1, 40), min_size=1, max_size=4),
    seed=st.integers(0, 99),
)
def test_any_episodes_from_format_to_format(
    first: str, second: str, lengths: Sequence[int], seed: int, tmp_path: Path
) -> None:
    needs(first)
    needs(second)
    with tempfile.TemporaryDirectory(dir=tmp_path) as folder:
        through(first, second, made(lengths, seed=seed), Path(folder))


def through(first: str, second: str, source: Any, tmp_path: Path) -> None:
    """From the source to a format, to another, and to that again: nothing is lost."""
    export(source, first, tmp_path / "a-v0")
    between = open_episodes(tmp_path / "a-v0")
    final = between.episodes[0].final
    assert final == (first != "lerobot")
    options = ExportOptions(fps=50)
    if second not in OPEN and not final:
        with pytest.raises(UsageError, match="ended in"):
            export(between, second, tmp_path / "b-v0")
        assert not (tmp_path / "b-v0").exists()
        return
    result = export(between, second, tmp_path / "b-v0", options=options)
    after = open_episodes(tmp_path / "b-v0")
    assert set(result.fields) == {f.name for f in between.features}
    for index, episode in enumerate(between.episodes):
        rows = episode.length + (final and second != "lerobot")
        for name, target in result.fields.items():
            expected = between.read(index, name)[:rows]
            assert expected.tobytes() == after.read(index, target).tobytes()
    export(after, second, tmp_path / "c-v0", options=options)
    again = open_episodes(tmp_path / "c-v0")
    same(after, again)
    for one in (between, after, again):
        one.close()


@settings(
    max_examples=12,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
@given(
    lengths=st.lists(st.integers(1, 70), min_size=1, max_size=5),
    dtype=st.sampled_from("f2 f4 f8 i1 i2 i4 i8 u1 u2 u4 u8 ?".split()),
    shape=st.sampled_from([(), (1,), (3,), (2, 2), (2, 1, 3)]),
    format=st.sampled_from(FORMATS),
    final=st.booleans(),
    seed=st.integers(0, 99),
)
def test_any_numbers(
    lengths: Sequence[int],
    dtype: str,
    shape: tuple[int, ...],
    format: str,
    final: bool,
    seed: int,
    tmp_path: Path,
) -> None:
    needs(format)
    odd = Feature("info/odd", "info", np.dtype(dtype), shape)
    source = made(
        lengths, (*FEATURES, odd), final=final or format not in OPEN, seed=seed
    )
    target = tmp_path / f"{format}-v0"
    result = export(source, format, target, overwrite=True)
    found = open_episodes(target)
    same(
        kept(source, final=source.episodes[0].final and format != "lerobot"),
        found,
        renamed(source, dict(result.fields)),
    )
    found.close()


def test_next_observations_keep_the_last(tmp_path: Path) -> None:
    source = made()
    options = ExportOptions(next_observation=True)
    result = export(source, "lerobot", tmp_path / "a", options=options)
    assert not result.left_out
    found = open_episodes(tmp_path / "a")
    for index in range(3):
        after = found.read(index, "next.observation.position")
        expected = source.read(index, "observation/position")[1:]
        assert after.tobytes() == expected.tobytes()
    found.close()


def test_mapping_names_units_and_conversion(tmp_path: Path) -> None:
    source = made()
    mapping = [
        FieldMap("observation/position", "obs/joints", ("a", "b", "c", "d")),
        FieldMap("reward", "rewards", dtype="float32"),
        FieldMap("raw_action", ""),
    ]
    with np.errstate(all="ignore"):
        result = export(source, "robomimic", tmp_path / "a.hdf5", mapping=mapping)
    found = open_episodes(tmp_path / "a.hdf5")
    named = {f.name: f for f in found.features}
    assert named["obs/joints"].units == ("a", "b", "c", "d")
    assert named["rewards"].dtype == np.float32
    assert not [n for n in named if "raw" in n]
    assert any("raw_action" in line for line in result.left_out)
    found.close()


@pytest.mark.parametrize(
    ("mapping", "says"),
    [
        ([FieldMap("nothing", "x")], "no feature 'nothing'"),
        ([FieldMap("reward", "action")], "both be action"),
        ([FieldMap("reward", "../x")], "can't be called"),
        ([FieldMap("reward", "index")], "format's own"),
        ([FieldMap("reward", "a/b")], "have no /"),
        ([FieldMap("reward", "r", dtype="hat")], "no dtype"),
        ([FieldMap("reward", "r", dtype="complex64")], "dtype complex64"),
        ([FieldMap("reward", "r", ("m", "s"))], "2 units"),
        ([FieldMap("reward", "r"), FieldMap("reward", "s")], "twice"),
    ],
)
def test_what_cannot_be_held_is_refused_by_name(
    mapping: list[FieldMap], says: str, tmp_path: Path
) -> None:
    with pytest.raises(UsageError, match=says):
        export(made(), "lerobot", tmp_path / "a", mapping=mapping)
    assert not list(tmp_path.iterdir())


def test_what_a_format_needs_is_asked_for(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="--fps"):
        export(made(hz=None), "lerobot", tmp_path / "a")
    with pytest.raises(UsageError, match="needs a column actions"):
        export(made(features=FEATURES[:2]), "robomimic", tmp_path / "a")
    with pytest.raises(UsageError, match=r"\.h5 in"):
        export(made(), "maniskill", tmp_path / "a.h5")
    with pytest.raises(UsageError, match="no transition"):
        export(made((3, 0), features=FEATURES[2:6]), "robomimic", tmp_path / "a")
    source = made(features=FEATURES[:6])
    unknown = [replace(e, truncated=None) for e in source.episodes]
    with pytest.raises(UsageError, match="does not say whether"):
        export(replace(source, episodes=unknown), "maniskill", tmp_path / "a")
    with pytest.raises(UsageError, match="no exporter"):
        export(made(), "avi", tmp_path / "a")
    assert not list(tmp_path.iterdir())


def test_splits_are_seeded_and_whole(tmp_path: Path) -> None:
    source = made((3,) * 20, features=FEATURES[:8], envs=5)
    splits = Splits.parse("train=0.8,valid=0.2", "environment", seed=3)
    chosen = split(source.episodes, splits)
    assert chosen == split(source.episodes, splits)
    assert chosen != split(source.episodes, replace(splits, seed=4))
    assert sorted(chosen["train"] + chosen["valid"]) == list(range(20))
    envs = {k: {source.episodes[e].env for e in v} for k, v in chosen.items()}
    assert not envs["train"] & envs["valid"]
    for format in ("lerobot", "robomimic", "shards"):
        result = export(source, format, tmp_path / format, splits=splits)
        found: Any = open_episodes(tmp_path / format)
        assert {k: list(v) for k, v in found.splits.items()} == result.splits
        ids = [found.episodes[k].id for k in result.splits["valid"]]
        assert ids == [source.episodes[k].id for k in chosen["valid"]]
        found.close()


@pytest.mark.parametrize("text", ["train", "train=x", "a=0.5,a=0.5", "=1"])
def test_a_split_that_makes_no_sense(text: str) -> None:
    with pytest.raises(UsageError, match="splitting"):
        split(made().episodes, Splits.parse(text))


def test_an_existing_target_is_refused_or_replaced(tmp_path: Path) -> None:
    for format in ("robomimic", "lerobot"):
        target = tmp_path / format
        export(made((3,)), format, target)
        with pytest.raises(UsageError, match="--overwrite"):
            export(made((4,)), format, target)
        export(made((4,)), format, target, overwrite=True)
        found = open_episodes(target)
        assert [e.length for e in found.episodes] == [4]
        with pytest.raises(UsageError, match="source is there"):
            export(found, format, target, overwrite=True)
        found.close()
    with pytest.raises(UsageError, match="not a file"):
        export(made(), "robomimic", tmp_path / "lerobot", overwrite=True)
    with pytest.raises(WriteError, match="no folder"):
        export(made(), "robomimic", tmp_path / "no" / "x")
    assert len(list(tmp_path.iterdir())) == 2


def test_a_stop_leaves_nothing(tmp_path: Path) -> None:
    seen: list[tuple[int, int]] = []

    def stop() -> bool:
        return len(seen) > 2

    with pytest.raises(CancelledError):
        export(
            made(),
            "robomimic",
            tmp_path / "a",
            progress=lambda done, total: seen.append((done, total)),
            cancelled=stop,
        )
    assert not list(tmp_path.iterdir())
    seen.clear()
    export(made(), "shards", tmp_path / "a", progress=lambda a, b: seen.append((a, b)))
    assert seen[-1] == (36, 36)
    assert seen == sorted(seen)


def test_a_difference_is_found_and_nothing_is_left(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from isoscope.core.dataset.readers.robomimic import RobomimicFile

    right = RobomimicFile.rows

    def wrong(self: Any, episode: int, feature: Feature, start: int, stop: int) -> Any:
        values = right(self, episode, feature, start, stop).copy()
        if feature.name == "rewards" and episode == 2:
            values[3] = np.nextafter(values[3], 9)
        return values

    monkeypatch.setattr(RobomimicFile, "rows", wrong)
    with pytest.raises(WriteError, match=r"e2.*row 3 of rewards"):
        export(made(plain=True), "robomimic", tmp_path / "a")
    assert not list(tmp_path.iterdir())


def test_a_long_episode_goes_by_windows(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from isoscope.core.dataset.exporters import plan

    monkeypatch.setattr(plan, "WINDOW_BYTES", 1000)
    source = made((200, 3))
    for format in FORMATS:
        needs(format)
        result = export(source, format, tmp_path / f"{format}-v0")
        found = open_episodes(result.path)
        same(
            kept(source, final=format != "lerobot"),
            found,
            renamed(source, dict(result.fields)),
        )
        found.close()

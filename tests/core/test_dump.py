from __future__ import annotations

import csv
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from isoscope.core.dump import dump, find_track, parse_steps
from isoscope.core.dump_files import write_csv
from isoscope.core.errors import UsageError, WriteError
from isoscope.core.recording.model import Actor, Recording
from isoscope.core.recording.registry import load
from isoscope.core.recording.tracks import AnyTrack, RaggedTrack, Track, Window

if TYPE_CHECKING:
    from pathlib import Path


def actor(
    index: int, name: str, handle: int, tracks: dict[str, AnyTrack], created: int = 0
) -> Actor:
    made = Actor(index, handle, name, "Rigid", False, created)
    made.fields.tracks.update(tracks)
    return made


def recording_of(*actors: Actor, rows: int = 5) -> Recording:
    recording = Recording(None, "test", complete=True)
    h = np.full(rows, 0.02)
    recording.steps.append(np.arange(rows), np.cumsum(h), h, np.zeros((rows, 3)))
    recording.scene.tracks["gravity"] = Track.of(np.tile([0.0, -9.8, 0.0], (rows, 1)))
    recording.actors.extend(actors)
    return recording


def ball(values: Any, valid: Any = None, first: int = 0) -> Actor:
    mask = None if valid is None else np.array(valid)
    return actor(0, "Ball", 2**32 + 7, {"vcom": Track.of(values, mask, first)}, first)


def lines_of(path: Path) -> list[list[str]]:
    with path.open(newline="") as file:
        return list(csv.reader(file))


# -- what is written -------------------------------------------------------------------


def test_npz_holds_rows_values_and_validity(tmp_path: Path) -> None:
    values = np.arange(12, dtype=np.float32).reshape(4, 3)
    recording = recording_of(ball(values, [True, False, True, True], first=1))
    done = dump(recording, "vcom", tmp_path / "v.npz", actor="Ball", steps="0:4")
    with np.load(tmp_path / "v.npz") as found:
        assert sorted(found) == ["native", "valid", "value"]
        assert found["native"].dtype == np.int64
        assert found["native"].tolist() == [0, 1, 2, 3]
        assert found["valid"].tolist() == [False, True, False, True]
        assert found["value"].dtype == np.float32
        assert found["value"][[1, 3]].tolist() == values[[0, 2]].tolist()
        assert np.isnan(found["value"][[0, 2]]).all()
    assert (done.start, done.stop, done.present, done.odd) == (0, 4, 2, ())
    assert (done.what, done.dtype, done.shape) == ("vcom of Ball", "float32", (3,))


def test_dumping_changes_nothing_in_the_recording(tmp_path: Path) -> None:
    values = np.arange(5.0)
    dump(
        recording_of(ball(values, [True, False] * 2 + [True])),
        "vcom",
        tmp_path / "v.npz",
        actor="Ball",
    )
    assert values.tolist() == [0, 1, 2, 3, 4]


def test_csv_names_components_and_leaves_absent_cells_empty(tmp_path: Path) -> None:
    values = np.array([[0.1, 0.2, 0.3], [9, 9, 9], [np.nan, -0.0, np.inf]], np.float32)
    recording = recording_of(ball(values, [True, False, True]), rows=3)
    dump(recording, "vcom", tmp_path / "v.csv", actor="Ball")
    assert lines_of(tmp_path / "v.csv") == [
        ["native", "valid", "vcom.x", "vcom.y", "vcom.z"],
        ["0", "1", "0.1", "0.2", "0.3"],
        ["1", "0", "", "", ""],
        ["2", "1", "nan", "-0.0", "inf"],
    ]


def test_a_field_whose_length_varies(tmp_path: Path) -> None:
    track = RaggedTrack(np.dtype(np.float32), 1)
    track.append_value(np.array([[1, 2, 3], [4, 5, 6]], np.float32))
    track.append_value(np.zeros((0, 3), np.float32))
    track.skip(1)
    track.append_value(np.array([7, 8, 9], np.float32))
    recording = recording_of(actor(0, "Ball", 7, {"contacts_posA": track}, 1))
    done = dump(recording, "contacts_posA", tmp_path / "c.npz", actor="Ball")
    assert done.present == 3
    with np.load(tmp_path / "c.npz") as found:
        assert sorted(found) == ["native", "offsets", "valid", "value"]
        assert found["valid"].tolist() == [False, True, True, False, True]
        assert found["offsets"].tolist() == [0, 0, 6, 6, 6, 9]
        assert found["value"].tolist() == [1, 2, 3, 4, 5, 6, 7, 8, 9]
    dump(recording, "contacts_posA", tmp_path / "c.csv", actor="Ball")
    names = [f"contacts_posA.{i}.{axis}" for i in range(2) for axis in "xyz"]
    assert lines_of(tmp_path / "c.csv") == [
        ["native", "valid", *names],
        ["0", "0", *[""] * 6],
        ["1", "1", "1.0", "2.0", "3.0", "4.0", "5.0", "6.0"],
        ["2", "1", *[""] * 6],
        ["3", "0", *[""] * 6],
        ["4", "1", "7.0", "8.0", "9.0", "", "", ""],
    ]


def test_odd_rows_are_absent_and_told(tmp_path: Path) -> None:
    track = Track(np.dtype(np.float64), (), 0)
    for value in (1.0, np.float32(2), 3.0, np.ones(2), 5.0):
        track.append_value(np.asarray(value))
    recording = recording_of(actor(0, "Ball", 7, {"mass": track}))
    done = dump(recording, "mass", tmp_path / "m.csv", actor="Ball")
    assert (done.odd, done.present) == ((1, 3), 3)
    assert [line[1:] for line in lines_of(tmp_path / "m.csv")] == [
        ["valid", "mass"],
        ["1", "1.0"],
        ["0", ""],
        ["1", "3.0"],
        ["0", ""],
        ["1", "5.0"],
    ]
    assert (
        dump(recording, "mass", tmp_path / "n.csv", actor="Ball", steps="2:3").odd == ()
    )


def test_whole_numbers_flags_and_text(tmp_path: Path) -> None:
    tracks: dict[str, AnyTrack] = {
        "handle": Track.of(np.array([2**64 - 1, 1], np.uint64)),
        "static": Track.of(np.array([True, False])),
        "type": Track.of(np.array([b'Rigid, "so"', "Körper".encode()])),
    }
    recording = recording_of(actor(0, "Ball", 7, tracks), rows=2)
    cells = {}
    for name in tracks:
        dump(recording, name, tmp_path / f"{name}.csv", actor="Ball")
        cells[name] = [line[2] for line in lines_of(tmp_path / f"{name}.csv")]
    assert cells == {
        "handle": ["handle", "18446744073709551615", "1"],
        "static": ["static", "1", "0"],
        "type": ["type", 'Rigid, "so"', "Körper"],
    }
    dump(recording, "type", tmp_path / "type.npz", actor="Ball")
    with np.load(tmp_path / "type.npz", allow_pickle=False) as found:
        assert found["value"].tolist() == [b'Rigid, "so"', "Körper".encode()]


@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64])
def test_reals_in_a_csv_are_the_very_same_numbers(
    tmp_path_factory: pytest.TempPathFactory, dtype: type[np.floating[Any]]
) -> None:
    path = tmp_path_factory.mktemp("csv") / "v.csv"

    @given(hnp.arrays(dtype, st.tuples(st.integers(1, 20), st.integers(1, 4))))
    @settings(max_examples=60, deadline=None)
    def check(values: Any) -> None:
        window = Window(0, len(values), values, np.ones(len(values), np.bool_))
        with path.open("wb") as file:
            write_csv(file, window, "pose")
        cells = [line[2:] for line in lines_of(path)[1:]]
        back = np.array(cells).astype(np.float64).astype(dtype)
        np.testing.assert_array_equal(back, values)
        number = ~np.isnan(values)  # -0.0 is another number than 0.0
        np.testing.assert_array_equal(
            np.signbit(back)[number], np.signbit(values)[number]
        )

    check()


def test_more_cells_than_one_block(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("isoscope.core.dump_files.BLOCK_CELLS", 7)
    values = np.arange(15.0).reshape(5, 3)
    dump(recording_of(ball(values)), "vcom", tmp_path / "v.csv", actor="Ball")
    cells = [line[2:] for line in lines_of(tmp_path / "v.csv")[1:]]
    assert np.array(cells, float).tolist() == values.tolist()


def test_a_real_recording_gives_what_its_track_holds(
    tmp_path: Path, recordings: Path
) -> None:
    recording = load(recordings / "create_destroy.h5")
    for found in recording.actors:
        for name, track in found.fields.tracks.items():
            out = tmp_path / "field.npz"
            dump(recording, name, out, actor=str(found.handle), overwrite=True)
            with np.load(out) as npz:
                for row in range(len(recording)):
                    value = track.at(row)
                    assert bool(npz["valid"][row]) == (value is not None)
                    if value is None:
                        continue
                    if track.ragged:
                        begin, end = npz["offsets"][row : row + 2]
                        got = npz["value"][begin:end]
                    else:
                        got = npz["value"][row]
                    assert got.tobytes() == value.tobytes()


# -- what is refused -------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "steps"),
    [
        (":", (0, 10)),
        ("0:10", (0, 10)),
        ("3:", (3, 10)),
        (":4", (0, 4)),
        ("-3:", (7, 10)),
        (":-3", (0, 7)),
        (" 9:10 ", (9, 10)),
        ("-10:10", (0, 10)),
    ],
)
def test_steps_are_read_as_slices(text: str, steps: tuple[int, int]) -> None:
    assert parse_steps(text, 10, "run.h5") == steps


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "not written A:B"),
        ("5", "not written A:B"),
        ("0:9:2", "not written A:B"),
        ("a:b", "not written A:B"),
        ("0.5:2", "not written A:B"),
        ("0:11", "go beyond run.h5, which has 10 native steps"),
        ("-11:", "the widest range is 0:10"),
        ("999999999999999999:", "go beyond run.h5"),
        ("5:5", "name no step: 5 is not before 5"),
        ("7:3", "7 is not before 3"),
        ("10:", "10 is not before 10"),
    ],
)
def test_steps_that_are_not_there_are_refused(text: str, said: str) -> None:
    with pytest.raises(UsageError, match=said):
        parse_steps(text, 10, "run.h5")


@given(st.integers(-12, 12), st.integers(-12, 12), st.integers(1, 10))
def test_steps_agree_with_python_wherever_they_are_taken(
    first: int, last: int, rows: int
) -> None:
    sliced = range(rows)[first:last]
    try:
        start, stop = parse_steps(f"{first}:{last}", rows, "run.h5")
    except UsageError:
        beyond = not (-rows <= first <= rows and -rows <= last <= rows)
        assert beyond or len(sliced) == 0
    else:
        assert range(start, stop) == sliced


def test_a_recording_without_steps_has_none_to_write(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="live has no native step"):
        dump(recording_of(rows=0), "gravity", tmp_path / "g.npz")


def test_two_actors_of_one_name_are_told_apart_by_their_handles() -> None:
    first = actor(0, "Ball", 2**32 + 7, {"vcom": Track.of(np.zeros(5))})
    first.destroyed_native = 3
    second = actor(1, "Ball", 2**33 + 7, {"vcom": Track.of(np.ones(2), None, 3)}, 3)
    recording = recording_of(first, second)
    with pytest.raises(UsageError, match="2 actors named 'Ball'") as caught:
        find_track(recording, "Ball", "vcom")
    assert "4294967303 (Rigid, steps 0:3) and 8589934599 (Rigid, steps 3:5)" in str(
        caught.value
    )
    assert find_track(recording, str(2**33 + 7), "vcom")[1] is second.fields["vcom"]


def test_the_steps_own_fields_are_found_without_an_actor() -> None:
    recording = recording_of(ball(np.zeros(5)))
    for name in (None, "scene"):
        what, track = find_track(recording, name, "gravity")
        assert (what, track) == ("gravity of the steps", recording.scene["gravity"])
    with pytest.raises(UsageError, match=r"no field 'vcom'; they have gravity; for a"):
        find_track(recording, None, "vcom")


def test_an_actor_called_scene_is_an_actor() -> None:
    track = Track.of(np.zeros(5))
    recording = recording_of(actor(0, "scene", 7, {"vcom": track}))
    assert find_track(recording, "scene", "vcom")[1] is track
    assert find_track(recording, None, "gravity")[1] is recording.scene["gravity"]


def test_what_is_not_there_is_told_with_what_is() -> None:
    recording = recording_of(ball(np.zeros(5)))
    with pytest.raises(UsageError, match=r"no actor named 'Bell' in live; it has Ball"):
        find_track(recording, "Bell", "vcom")
    with pytest.raises(UsageError, match=r"'Ball' has no field 'mass' .* has vcom"):
        find_track(recording, "Ball", "mass")


def test_a_message_lists_some_names_of_a_file_that_has_thousands() -> None:
    many = [actor(i, f"Ball {i}", 2**32 + i, {}) for i in range(5000)]
    with pytest.raises(UsageError) as told:
        find_track(recording_of(*many), "Crate", "vcom")
    assert "it has Ball 0, Ball 1, Ball 2, " in str(told.value)
    assert str(told.value).endswith(", Ball 47 and 4,952 more")
    alike = [actor(i, "Ball", 2**32 + i, {}) for i in range(5000)]
    with pytest.raises(UsageError) as told:
        find_track(recording_of(*alike), "Ball", "vcom")
    assert "has 5000 actors named 'Ball'" in str(told.value)
    assert str(told.value).endswith("(Rigid, steps 0:5) and 4,992 more")
    fields: dict[str, AnyTrack] = {f"f{i}": Track.of(np.zeros(5)) for i in range(999)}
    one = recording_of(actor(0, "B" * 3000, 7, fields))
    for name, field in ((None, "vcom"), ("7", "vcom"), ("Ball", "vcom")):
        one.scene.tracks.update(fields)
        with pytest.raises(UsageError) as told:
            find_track(one, name, field)
        assert len(str(told.value)) < 500


def test_targets_that_are_refused(tmp_path: Path, recordings: Path) -> None:
    source = recordings / "create_destroy.h5"
    recording = recording_of(ball(np.zeros(5)))
    with pytest.raises(UsageError, match=r"has to be .npz or .csv"):
        dump(recording, "vcom", tmp_path / "v.txt", actor="Ball")
    with pytest.raises(WriteError, match="there is no folder"):
        dump(recording, "vcom", tmp_path / "gone" / "v.csv", actor="Ball")
    copy = tmp_path / "run.csv"
    copy.write_bytes(source.read_bytes())
    recording.path = copy
    with pytest.raises(UsageError, match="never changed"):
        dump(recording, "vcom", copy, actor="Ball", overwrite=True)
    assert copy.read_bytes() == source.read_bytes()


def test_values_that_are_neither_numbers_nor_text_are_refused(tmp_path: Path) -> None:
    pairs = np.zeros(5, np.dtype([("a", "f4"), ("b", "i4")]))
    recording = recording_of(ball(pairs))
    with pytest.raises(UsageError, match="neither number nor text"):
        dump(recording, "vcom", tmp_path / "v.npz", actor="Ball")
    assert list(tmp_path.iterdir()) == []

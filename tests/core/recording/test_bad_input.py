"""Reading that never breaks: one clear line each, and what can be read is shown."""

from __future__ import annotations

import os
import subprocess
import sys
import zipfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

import h5py
import numpy as np
import pytest

from isoscope.core.errors import ReadError
from isoscope.core.recording.problems import MAX_KINDS
from isoscope.core.recording.registry import load
from tests.fuzz import made
from tests.fuzz.reference import differences

if TYPE_CHECKING:
    from collections.abc import Callable

    from isoscope.core.recording.model import Recording

ROOT = Path(__file__).parents[3]
RECORDINGS = ROOT / "tests" / "data" / "recordings"


def line(path: Path) -> str:
    """The one line that opening and reading the file gives."""
    with pytest.raises(ReadError) as caught:
        load(path)
    text = str(caught.value)
    assert text.isprintable()
    assert str(path) in text
    assert caught.value.exit_status == 2
    return text


def told(recording: Recording) -> str:
    return "\n".join(str(problem) for problem in recording.problems)


# -- files that are no recording ----------------------------------------------------


def write(content: bytes) -> Callable[[Path], None]:
    return lambda path: path.write_bytes(content) and None


def zipped(path: Path) -> None:
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("run.h5", "no recording")


def of_other_content(path: Path) -> None:
    with h5py.File(path, "w") as file:
        for number in range(9):
            file.create_group(f"demo_{number}")


def of_strange_names(path: Path) -> None:
    with h5py.File(path, "w") as file:
        file.create_group(b"ev\xf9nts")


def nothing_in_it(path: Path) -> None:
    h5py.File(path, "w").close()


def events_no_group(path: Path) -> None:
    with h5py.File(path, "w") as file:
        file["events"] = [1, 2]


def events_elsewhere(path: Path) -> None:
    made.recording(path.with_name("other.h5"))
    with h5py.File(path, "w") as file:
        file["events"] = h5py.ExternalLink("other.h5", "/events")


def events_empty(path: Path) -> None:
    with h5py.File(path, "w") as file:
        file.create_group("events")


def only_the_signature(path: Path) -> None:
    path.write_bytes(b"\x89HDF\r\n\x1a\n")


@pytest.mark.parametrize(
    ("make", "expected"),
    [
        (write(b""), "the file is empty (0 bytes)"),
        (zipped, "not a recording (it looks like a zip archive)"),
        (write(b"t,x\n0,1\n" * 30), "not a recording (it looks like text)"),
        (write(b"PAR1\x15\x04\x15"), "it looks like a parquet file without its footer"),
        (write(b"PAR1" + bytes(40) + b"PAR1"), "(it looks like a parquet file)"),
        (write(b'{"a": 1}'), "not a recording (it looks like JSON of other content)"),
        (write(bytes(range(256))), "its first bytes are of no known kind"),
        (of_other_content, "it has no group /events, but 'demo_0', 'demo_1'"),
        (of_strange_names, r"it has no group /events, but 'ev\\xf9nts'"),
        (nothing_in_it, "it has no group /events, but nothing at all"),
        (events_no_group, "its /events is no group"),
        (events_elsewhere, "its /events is no group"),
        (events_empty, "the recording is empty: it has not one event"),
        (only_the_signature, "the file is cut: only 8 bytes are there"),
        (write(b"\x89HDF\r\n\x1a\n" + b"\xff" * 99), "its first bytes are damaged"),
    ],
)
def test_what_is_no_recording_is_told_in_one_line(
    tmp_path: Path, make: Callable[[Path], None], expected: str
) -> None:
    path = tmp_path / "run.h5"
    make(path)
    assert expected in line(path)


def test_a_writer_that_died_is_told_in_plain_words() -> None:
    text = line(RECORDINGS / "killed.h5")
    assert "its writer died before finishing it" in text
    assert "stop_recording" in text
    assert "header" not in text  # no jargon of the library


def test_paths_that_are_no_file_are_told_and_never_waited_for(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "link").symlink_to(tmp_path / "gone")
    assert "this is a folder" in line(tmp_path)
    assert "this is a pipe" in line(tmp_path / "pipe")
    assert "this is a device" in line(Path("/dev/zero"))
    assert "which is not there" in line(tmp_path / "link")
    assert "no such file" in line(tmp_path / "nothing.h5")
    with pytest.raises(ReadError, match="null"):
        load("a\0b")


def test_a_name_with_a_newline_does_not_break_the_line(tmp_path: Path) -> None:
    with pytest.raises(ReadError) as caught:
        load(tmp_path / "two\nlines.h5")
    assert str(caught.value).isprintable()


def test_permission_denied_is_told(tmp_path: Path) -> None:
    path = made.recording(tmp_path / "run.h5")
    path.chmod(0)
    code = (
        "import os, sys\n"
        "if os.geteuid() == 0: os.setuid(65534)\n"
        "from isoscope.core.errors import ReadError\n"
        "from isoscope.core.recording.registry import load\n"
        "try: load(sys.argv[1])\n"
        "except ReadError as error: print(error)\n"
    )
    # Imported before the user changes, who may not look into this folder.
    code = "import isoscope.core.recording.registry\n" + code
    for folder in (tmp_path, *tmp_path.parents[:3]):
        if folder.owner() != "root" or folder == Path("/tmp"):
            continue
        folder.chmod(folder.stat().st_mode | 0o011)
    done = subprocess.run(
        [sys.executable, "-c", code, str(path)],
        capture_output=True,
        text=True,
        check=False,
    )
    assert "you may not read it" in done.stdout, done.stderr


# -- damage -------------------------------------------------------------------------


@pytest.fixture(scope="module")
def long_one(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A recording of 60 steps, so that its list of events is a heap and an index."""
    return made.recording(
        tmp_path_factory.mktemp("long") / "run.h5", steps=60, decorate=made.plain
    )


@pytest.mark.parametrize("share", [0.1, 0.2, 0.5, 0.8, 0.99])
def test_a_cut_recording_of_the_engine_gives_what_is_left(
    tmp_path: Path, share: float
) -> None:
    content = (RECORDINGS / "shared_cartpole_2env.h5").read_bytes()
    whole = load(RECORDINGS / "shared_cartpole_2env.h5")
    path = tmp_path / "cut.h5"
    path.write_bytes(content[: int(share * len(content))])
    part = load(path)
    assert not part.complete
    assert "the file is cut" in told(part)
    assert len(part) > share * 0.8 * len(whole)
    rows = np.searchsorted(whole.steps.event, part.steps.event)
    for row, original in enumerate(rows):
        for actor in part.actors:
            twin = next(a for a in whole.actors if a.handle == actor.handle)
            for name, track in actor.fields.tracks.items():
                value = track.at(row)
                if value is not None:
                    expected = twin.fields[name].at(int(original))
                    assert expected is not None
                    assert value.tobytes() == expected.tobytes()


def test_cut_anywhere_a_file_is_a_recording_or_one_line(
    tmp_path: Path, long_one: Path
) -> None:
    content = long_one.read_bytes()
    path = tmp_path / "cut.h5"
    for size in np.linspace(1, len(content) - 1, 12).astype(int):
        path.write_bytes(content[:size])
        lines = []
        try:
            lines = [str(problem) for problem in load(path).problems]
        except ReadError as error:
            lines = [str(error)]
        assert lines
        assert all(line.isprintable() for line in lines)


def test_a_damaged_list_of_events_is_salvaged(tmp_path: Path, long_one: Path) -> None:
    content = bytearray(long_one.read_bytes())
    for signature in (b"BTHD", b"BTIN", b"BTLF"):
        at = content.find(signature)
        while at >= 0:
            content[at : at + 4] = b"XXXX"
            at = content.find(signature, at + 4)
    path = tmp_path / "damaged.h5"
    path.write_bytes(bytes(content))
    recording = load(path)
    assert len(recording) == 60
    assert "the file is damaged" in told(recording)
    assert not recording.complete


def test_an_event_that_is_missing_is_told_with_its_number(tmp_path: Path) -> None:
    path = made.recording(tmp_path / "run.h5", steps=20)
    with h5py.File(path, "a") as file:
        for number in (5, 6, 11):
            del file[f"events/{number}"]
    recording = load(path)
    assert len(recording) == 17
    assert 5 not in recording.steps.event
    assert "event is missing (/events/5), and 2 more like it" in told(recording)
    assert not recording.complete


def test_an_actor_without_attributes_is_named_by_its_group(tmp_path: Path) -> None:
    path = made.recording(tmp_path / "run.h5", steps=4)
    with h5py.File(path, "a") as file:
        for number in (2, 3):
            group = file[f"events/{number}/actors/{made.HANDLE}"]
            for name in list(group.attrs):
                del group.attrs[name]
        file["events/4/actors"].create_group("nobody")
    recording = load(path)
    [ball] = recording.actors
    assert [ball.fields["translation"].present(row) for row in range(4)] == [
        True,
        False,
        False,
        True,
    ]
    assert "actor without a handle was passed over" in told(recording)


def test_a_value_of_another_dtype_or_shape_is_kept_and_told(tmp_path: Path) -> None:
    path = made.recording(tmp_path / "run.h5", steps=6)
    odd: dict[int, Any] = {
        2: np.array([2, 1, 2], np.float64),
        4: np.array([4, 1], np.float32),
        5: np.bytes_("text"),
    }
    with h5py.File(path, "a") as file:
        for number, value in odd.items():
            group = file[f"events/{number}/actors/{made.HANDLE}"]
            del group.attrs["translation"]
            group.attrs["translation"] = value
    recording = load(path)
    track = recording.actors[0].fields["translation"]
    for number, value in odd.items():
        got = track.at(number - 1)
        assert got is not None
        assert got.dtype == np.asarray(value).dtype
        assert got.tobytes() == np.asarray(value).tobytes()
        # A window of float32 vectors can't show it, so there it is no value.
        assert not track.read(number - 1, number).valid[0]
    assert "dtype or shape of 'translation' changes on the way" in told(recording)
    assert differences(path, recording) == []


def test_many_problems_stay_a_short_list(tmp_path: Path) -> None:
    path = made.recording(tmp_path / "run.h5", steps=40)
    with h5py.File(path, "a") as file:
        for number in range(1, 41):
            group = file[f"events/{number}/actors/{made.HANDLE}"]
            for i in range(20):
                letters = (
                    f"{chr(97 + number % 26)}{chr(97 + number // 26)}{chr(97 + i)}"
                )
                group[letters] = h5py.Empty("f4")
    recording = load(path)
    assert len(recording) == 40
    assert len(recording.problems) <= MAX_KINDS + 1
    assert sum(problem.count for problem in recording.problems) == 800


# -- what leads out of the file, or is not what it says -----------------------------


def test_links_and_data_elsewhere_are_not_followed(tmp_path: Path) -> None:
    secret = np.full(4, 42.0)
    (tmp_path / "raw.bin").write_bytes(secret.tobytes())
    with h5py.File(tmp_path / "other.h5", "w") as other:
        other["secret"] = secret
        made.create(other.create_group("events"), 0)
    path = made.recording(tmp_path / "run.h5", steps=3)
    with h5py.File(path, "a") as file:
        group = file[f"events/2/actors/{made.HANDLE}"]
        group["external"] = h5py.ExternalLink("other.h5", "/secret")
        group["soft"] = h5py.SoftLink("/events/1")
        group.create_dataset(
            "raw", shape=(4,), dtype="f8", external=[("raw.bin", 0, 32)]
        )
        layout = h5py.VirtualLayout((4,), "f8")
        layout[:] = h5py.VirtualSource("other.h5", "secret", (4,))
        group.create_virtual_dataset("virtual", layout)
        file["events/4"] = h5py.ExternalLink("other.h5", "/events/0")
    recording = load(path)
    assert set(recording.actors[0].fields) == {"handle", "name", "type", "translation"}
    assert len(recording.actors) == 1
    text = told(recording)
    assert "link that leads elsewhere was not followed" in text
    assert "dataset lies in another file and was not followed" in text


def test_a_group_that_contains_itself_ends(tmp_path: Path) -> None:
    path = made.recording(tmp_path / "run.h5", steps=3, decorate=made.linked)
    recording = load(path)
    assert len(recording) == 3
    assert "group that contains itself was passed over" in told(recording)


def test_links_that_multiply_end(tmp_path: Path) -> None:
    """Five levels of a thousand names for one group would be 10^15 objects."""
    path = made.recording(tmp_path / "run.h5", steps=2)
    with h5py.File(path, "a", track_order=True) as file:
        inner = file.create_group("inner")
        for _ in range(4):
            outer = file.create_group(f"outer{len(file)}")
            for i in range(1000):
                outer[str(i)] = inner
            inner = outer
        file["events/2/actors"][str(made.HANDLE)]["more"] = inner
    recording = load(path)
    assert len(recording) == 2
    assert "event holds more than one event can" in told(recording)


def test_claims_of_huge_values_take_no_memory(tmp_path: Path) -> None:
    path = made.recording(tmp_path / "run.h5", steps=3)
    with h5py.File(path, "a") as file:
        group = file[f"events/2/actors/{made.HANDLE}"]
        group.create_dataset("huge", shape=(1 << 40,), dtype="f8", chunks=(1 << 20,))
        group.create_dataset("wide", shape=(1 << 30,), dtype="f8")
    recording = load(path)
    assert len(recording) == 3
    assert not {"huge", "wide"} & set(recording.actors[0].fields)
    assert "not read" in told(recording)


def test_one_large_value_in_a_long_recording_stays_one(tmp_path: Path) -> None:
    """A fixed-shape track of 3,000 rows of 1 MB would take 3 GB."""
    path = tmp_path / "run.h5"
    with h5py.File(path, "w", track_order=True) as file:
        events = file.create_group("events")
        made.create(events, 0)
        made.step(events, 1)[0].create_dataset("big", data=np.ones(1 << 17))
        made.step(events, 2)
        for number in range(3, 3001):
            events[str(number)] = events["2"]
    recording = load(path)
    track = recording.actors[0].fields["big"]
    assert len(recording) == 3000
    assert track.present_count() == 1
    assert np.array_equal(track.at(0), np.ones(1 << 17))
    assert track.at(1) is None
    assert recording.columns_bytes < 1 << 26


# -- values that a track can't hold as they are -------------------------------------


def test_odd_kinds_of_values_are_kept_or_told(tmp_path: Path) -> None:
    path = made.recording(tmp_path / "run.h5", steps=6, decorate=made.worded)
    recording = load(path)
    assert differences(path, recording) == []
    fields = recording.actors[0].fields
    assert all(track.dtype.kind in "biufcS" for track in fields.tracks.values())
    assert fields["yes"].dtype == np.bool_
    assert fields["pair.a"].at(0) == 1
    assert fields["pair.b"].at(0) == 2.5
    assert fields["words"].at(0).tolist() == [b"a", b"bc", "déf".encode()]
    assert [fields["word"].at(row)[()] for row in (0, 1, 2)] == [
        b"word",
        b"wordword",
        b"",
    ]


def test_what_is_not_kept_is_told(tmp_path: Path) -> None:
    path = made.recording(tmp_path / "run.h5", steps=2)
    with h5py.File(path, "a") as file:
        group = file[f"events/1/actors/{made.HANDLE}"]
        group.attrs["nothing"] = h5py.Empty("f4")
        group.attrs["ref"] = group.ref
        group.attrs["opaque"] = np.void(b"xyz")
    recording = load(path)
    text = told(recording)
    for name in ("nothing", "ref", "opaque"):
        assert name not in recording.actors[0].fields
        assert repr(name) in text
    assert len(recording) == 2


def test_names_that_are_not_utf8_are_escaped(tmp_path: Path) -> None:
    path = made.recording(tmp_path / "run.h5", steps=2)
    with h5py.File(path, "a") as file:
        group = file[f"events/1/actors/{made.HANDLE}"]
        group.attrs["name"] = np.bytes_(b"B\xffall")
        group.attrs[b"fi\xffeld"] = 1.0
        file["events/0"].attrs["name"] = np.bytes_(b"B\xffall")
    recording = load(path)
    [ball] = recording.actors
    assert ball.name == "B�all"
    assert "fi\\xffeld" in ball.fields
    assert ball.fields["name"].at(0)[()] == b"B\xffall"


@pytest.mark.parametrize("name", sorted(made.FORMS))
def test_every_form_of_file_gives_what_h5py_reads(tmp_path: Path, name: str) -> None:
    path = made.recording(tmp_path / "run.h5", **made.FORMS[name])
    recording = load(path)
    assert differences(path, recording) == []
    assert len(recording) == made.FORMS[name].get("steps", 12)
    assert recording.complete

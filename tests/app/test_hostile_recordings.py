"""Recordings that were edited into nonsense, through the commands that read them."""

from __future__ import annotations

import shutil
from typing import TYPE_CHECKING, Any

import h5py
import numpy as np
import pytest

from isoscope.app.main import main

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    Edit = Callable[[h5py.File], None]

STEP, OTHER = "12", "20"  # events of create_destroy


def actor(file: h5py.File) -> h5py.Group:
    """The first actor of a step."""
    actors = file[f"events/{STEP}/actors"]
    return actors[next(iter(actors))]


def replaced(name: str, value: Any) -> Edit:
    """One actor's attribute is another from one step on."""

    def edit(file: h5py.File) -> None:
        attributes = actor(file).attrs
        del attributes[name]
        attributes[name] = value

    return edit


def everywhere(name: str, value: Any) -> Edit:
    """An attribute is another in all of the file."""

    def edit(file: h5py.File) -> None:
        def visit(_name: str, item: h5py.Group | h5py.Dataset) -> None:
            if name in item.attrs:
                del item.attrs[name]
                item.attrs[name] = value

        file.visititems(visit)

    return edit


def no_steps(file: h5py.File) -> None:
    for number in list(file["events"]):
        if file["events"][number].attrs["eventType"] == b"Step":
            del file["events"][number]


def no_creations(file: h5py.File) -> None:
    for number in list(file["events"]):
        if file["events"][number].attrs["eventType"] == b"CreateActor":
            del file["events"][number]


def bare_actors(file: h5py.File) -> None:
    attributes = actor(file).attrs
    for name in list(attributes):
        del attributes[name]


def another_kind(what: str) -> Edit:
    """A dataset stands where a group should."""

    def edit(file: h5py.File) -> None:
        del file[what]
        file[what] = np.arange(3)

    return edit


def leads(to: h5py.SoftLink | h5py.ExternalLink) -> Edit:
    """An event, and an actor, are links."""

    def edit(file: h5py.File) -> None:
        name = actor(file).name
        del file[name], file[f"events/{OTHER}"]
        file[name] = file[f"events/{OTHER}"] = to

    return edit


def circles(file: h5py.File) -> None:
    actor(file)["itself"] = actor(file)
    actor(file)["all"] = file["events"]


def elsewhere(file: h5py.File) -> None:
    layout = h5py.VirtualLayout((4,), "f4")
    layout[:] = h5py.VirtualSource("nowhere.h5", "data", (4,))
    group = actor(file)
    group.create_virtual_dataset("virtual", layout)
    group.create_dataset("external", (8,), "u1", external=[("/etc/passwd", 0, 8)])


def huge(file: h5py.File) -> None:
    group = actor(file)
    group.create_dataset("chunked", (2**60,), "f8", chunks=(1024,))
    group.create_dataset("contiguous", (2**40,), "f8")


def deep(file: h5py.File) -> None:
    group = actor(file)
    for _ in range(200):
        group = group.create_group("d")


def numbers(file: h5py.File) -> None:
    for name in ("-1", "01", "1.5", "9" * 30, "٣", "x"):
        file["events"].create_group(name)
    file["events"].move(OTHER, "900000000000000000")


def many_fields(file: h5py.File) -> None:
    for number in range(600):
        file[f"events/{STEP}"].attrs[f"field{number}"] = number


def nonsense_meshes(file: h5py.File) -> None:
    for event in file["events"].values():
        for name, item in list(event.items()):
            if isinstance(item, h5py.Dataset):
                value = item[()]
                del event[name]
                event[name] = value * np.nan if value.dtype.kind == "f" else value - 9


EDITS: dict[str, Edit] = {
    "no steps": no_steps,
    "no creations": no_creations,
    "bare actors": bare_actors,
    "meshes": nonsense_meshes,
    "a word for a number": replaced("translation", np.bytes_("here")),
    "an empty attribute": replaced("vcom", h5py.Empty("f4")),
    "another shape": replaced("rotation", np.zeros((2, 2), np.float32)),
    "another byte order": replaced("omega", np.ones(3, ">f4")),
    "no finite number": everywhere("translationCom", np.full(3, np.nan, np.float32)),
    "no rotation": everywhere("rotation", np.zeros(4, np.float32)),
    "words for times": everywhere("timeStep", np.bytes_("0.02")),
    "endless times": everywhere("timeStep", np.inf),
    "lists for handles": everywhere("handle", np.array([1, 2], np.uint64)),
    "control characters": everywhere("name", np.bytes_(b"\xff\x1b[2J\n\x07")),
    "long names": everywhere("name", np.bytes_(b"x" * 50_000)),
    "unknown events": everywhere("eventType", np.bytes_("Teleport")),
    "events are a dataset": another_kind("events"),
    "an event is a dataset": another_kind(f"events/{STEP}"),
    "actors are a dataset": another_kind(f"events/{STEP}/actors"),
    "links to nowhere": leads(h5py.SoftLink("/nowhere")),
    "links to themselves": leads(h5py.SoftLink(f"/events/{OTHER}")),
    "links out of the file": leads(h5py.ExternalLink("/etc/passwd", "/events")),
    "circles": circles,
    "data elsewhere": elsewhere,
    "huge claims": huge,
    "deep groups": deep,
    "strange numbers": numbers,
    "many fields": many_fields,
}


@pytest.mark.parametrize("edit", EDITS.values(), ids=EDITS)
def test_every_command_tells_in_a_line_and_changes_nothing(
    edit: Edit, recordings: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "folder" / "edited.h5"
    path.parent.mkdir()
    shutil.copyfile(recordings / "create_destroy.h5", path)
    with h5py.File(path, "r+") as file:
        edit(file)
    before = path.read_bytes(), path.stat().st_mtime_ns
    field = ("--actor", "BallA", "--field", "translation")
    for command in (
        ("info", str(path)),
        ("info", str(path), "--json"),
        ("dump", str(path), *field, "--out", str(tmp_path / "out.npz")),
        ("dump", str(path), "--field", "none", "--out", str(tmp_path / "no.npz")),
        ("attribute", str(path)),
        ("audit", str(path)),
    ):
        status = main(list(command))
        out, err = capsys.readouterr()
        told = [line for line in err.splitlines() if "isoscope: warning: " not in line]
        assert status in (0, 1, 2), command
        assert not any("bug in isoscope" in line for line in told)
        assert all(line.startswith("isoscope: ") for line in told)
        assert len(told) == 1 or (status != 2 and len(told) <= 1)
        assert max(map(len, err.splitlines()), default=0) < 1200
        assert all(c.isprintable() or c == "\n" for c in out + err)
    assert (path.read_bytes(), path.stat().st_mtime_ns) == before
    assert [p.name for p in path.parent.iterdir()] == ["edited.h5"]

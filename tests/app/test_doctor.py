from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from isoscope.app.display import X11_LIBRARIES
from isoscope.app.doctor import packages, probe, programs
from isoscope.app.doctor.display import check_opengl
from isoscope.app.doctor.libraries import (
    DEBIAN,
    how_to_install,
    library_in,
    missing_in,
)
from isoscope.app.doctor.packages import Package, check_packages
from isoscope.app.doctor.programs import check_folder, check_superdex
from isoscope.app.main import main
from isoscope.core.doctor import Check, Doctor, doctor_of
from isoscope.core.jsonform import decode

if TYPE_CHECKING:
    from collections.abc import Callable

LDD = """\
\tlinux-vdso.so.1 (0x00007ffd0a3e8000)
\tlibxcb-cursor.so.0 => not found
\tlibxcb.so.1 => /lib/x86_64-linux-gnu/libxcb.so.1 (0x00007f9c3a000000)
\tlibxkbcommon-x11.so.0 => not found
\tlibxcb-cursor.so.0 => not found
\tlibspecial.so.3 => not found
"""


# -- probes ----------------------------------------------------------------------------


def test_a_probe_that_ends_well_gives_its_output() -> None:
    done = probe.run_python("print('hello')")
    assert (done.ok, done.out, done.why) == (True, "hello\n", "")


def test_a_probe_that_fails_gives_the_last_line_it_said() -> None:
    done = probe.run_python("import sys; sys.exit('first\\n  the reason  \\n\\n')")
    assert (done.ok, done.why) == (False, "the reason")
    assert probe.run_python("import sys; sys.exit(3)").why == "ended with status 3"
    assert probe.run([str(Path("no") / "such" / "program")]).why == (
        "No such file or directory"
    )


def test_a_probe_that_crashes_does_not_take_us_down() -> None:
    done = probe.run_python("import os, signal; os.kill(os.getpid(), signal.SIGSEGV)")
    assert (done.ok, done.why) == (False, "crashed (SIGSEGV)")


def test_a_probe_that_hangs_is_killed_with_all_that_it_started(tmp_path: Path) -> None:
    code = f"""
import pathlib, subprocess, sys, time
child = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(60)"])
pathlib.Path({str(tmp_path / "pid")!r}).write_text(str(child.pid))
print("begun", flush=True)
time.sleep(60)
"""
    done = probe.run_python(code, timeout_s=2)
    assert (done.ok, done.out, done.why) == (False, "begun\n", "no answer within 2 s")
    child = int((tmp_path / "pid").read_text())
    for _ in range(100):
        if not _lives(child):
            return
        time.sleep(0.05)
    pytest.fail("the probe's child still runs")


def wait_for_probes(pid: int) -> None:
    """Wait until the process has children: it is in the middle of its probes."""
    for _ in range(400):
        tasks = Path(f"/proc/{pid}/task").glob("*/children")
        if any(task.read_text().strip() for task in tasks):
            return
        time.sleep(0.05)
    raise AssertionError("the doctor began no probe")


def test_ctrl_c_ends_the_doctor_at_once() -> None:
    doctor = subprocess.Popen(
        [sys.executable, "-m", "isoscope.app", "doctor"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        # Whoever runs the tests in the background has it ignored.
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
    )
    wait_for_probes(doctor.pid)
    doctor.send_signal(signal.SIGINT)
    out, err = doctor.communicate(timeout=60)
    assert (doctor.returncode, out, err) == (130, b"", b"")


def _lives(pid: int) -> bool:
    try:
        status = Path(f"/proc/{pid}/stat").read_text()
    except OSError:
        return False
    return status.rpartition(")")[2].split()[0] != "Z"


# -- system libraries ------------------------------------------------------------------


def test_libraries_that_the_loader_does_not_find_are_named_once() -> None:
    missing = missing_in(LDD)
    assert missing == [
        "libxcb-cursor.so.0",
        "libxkbcommon-x11.so.0",
        "libspecial.so.3",
    ]
    assert how_to_install(missing) == (
        "apt-get install libxcb-cursor0 libxkbcommon-x11-0; "
        "install what brings libspecial.so.3"
    )


@pytest.mark.parametrize(
    ("message", "library"),
    [
        (
            "libEGL.so.1: cannot open shared object file: No such file or directory",
            "libEGL.so.1",
        ),
        ("No module named 'PySide6'", None),
        ("cannot import name 'lib.so.1'", None),
    ],
)
def test_the_library_of_a_failed_import(message: str, library: str | None) -> None:
    assert library_in(message) == library


def test_the_window_and_the_doctor_name_the_same_packages() -> None:
    assert X11_LIBRARIES.items() <= DEBIAN.items()


# -- packages --------------------------------------------------------------------------


@pytest.fixture
def modules(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., None]:
    """Makes modules that stand for installed packages."""
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    versions: dict[str, str] = {}
    monkeypatch.setattr(packages, "installed_version", versions.get)

    def make(**sources: str) -> None:
        for name, source in sources.items():
            (tmp_path / f"{name}.py").write_text(source)
            versions[name] = "1.2"

    return make


def test_each_package_is_judged_by_itself(modules: Callable[..., None]) -> None:
    modules(
        fine="",
        noisy='import os; os.write(1, b\'["fine", "ruined"]\\n\\xff\')',
        raises="raise ImportError('libEGL.so.1: cannot open shared object file')",
        crashes="import os; os.abort()",
        leaves="import sys; sys.exit(0)",
        after="",
    )
    names = ("fine", "noisy", "raises", "crashes", "leaves", "after")
    checks = check_packages(tuple(Package(n, n, "app") for n in (*names, "absent")))
    answers = {check.name.removeprefix("package "): check for check in checks}
    assert {name: check.answer for name, check in answers.items()} == {
        "fine": "ok",
        "noisy": "ok",
        "raises": "broken",
        "crashes": "broken",
        "leaves": "broken",
        "after": "ok",
        "absent": "missing",
    }
    assert answers["fine"].detail == "1.2"
    assert "libEGL.so.1" in answers["raises"].detail
    assert "crashed (SIGABRT)" in answers["crashes"].detail
    assert answers["absent"].remedy == "pip install 'isoscope[app]'"


def test_a_package_that_hangs_is_told_in_time(
    modules: Callable[..., None], monkeypatch: pytest.MonkeyPatch
) -> None:
    modules(hangs="import time; time.sleep(60)", after="")
    monkeypatch.setattr(packages, "TIMEOUT_S", 2.0)
    hangs, after = check_packages(
        (Package("hangs", "hangs"), Package("after", "after"))
    )
    assert (hangs.answer, after.answer) == ("broken", "ok")
    assert "no answer within 2 s" in hangs.detail


def test_a_base_package_that_is_missing_is_broken(modules: Callable[..., None]) -> None:
    modules()
    (check,) = check_packages((Package("absent", "absent"),))
    assert (check.answer, check.remedy) == ("broken", "pip install 'isoscope'")


# -- the engine, folders, OpenGL -------------------------------------------------------


def python_312(folder: Path, answer: str) -> Path:
    """A stand-in for an interpreter that starts as 3.12."""
    script = folder / "python3.12"
    script.write_text(
        f'#!/bin/sh\ncase "$*" in *version_info*) echo 3.12;; *) {answer};; esac\n'
    )
    script.chmod(0o755)
    return script


@pytest.mark.parametrize(
    ("says", "answer", "detail"),
    [
        (
            """echo '{"superdex-physics": "1.0.0", "superdex-lab": "1.0.1"}'""",
            "ok",
            "superdex-physics 1.0.0, superdex-lab 1.0.1, in ",
        ),
        (
            """echo "ModuleNotFoundError: No module named 'superdex'" >&2; exit 1""",
            "missing",
            "not in ",
        ),
        ("kill -SEGV $$", "broken", "crashed (SIGSEGV), in "),
    ],
)
def test_the_engine_in_a_configured_interpreter(
    says: str,
    answer: str,
    detail: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    python = python_312(tmp_path, says)
    monkeypatch.setenv(programs.VARIABLE, str(python))
    check = check_superdex()
    assert (check.answer, check.detail) == (answer, f"{detail}{python}")


def test_no_interpreter_for_the_engine(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(programs, "find_python", lambda version, first: None)
    monkeypatch.setenv(programs.VARIABLE, str(tmp_path / "python"))
    check = check_superdex()
    assert check.answer == "missing"
    assert str(tmp_path / "python") in check.detail


def test_a_folder_that_can_be_made_is_fine_and_not_made(tmp_path: Path) -> None:
    folder = tmp_path / "a" / "b"
    check = check_folder("cache folder", folder)
    assert (check.answer, check.detail) == ("ok", f"{folder} (not made yet)")
    assert list(tmp_path.iterdir()) == []


def test_a_folder_that_can_not_be_written_is_broken(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    check = check_folder("cache folder", tmp_path / "file" / "sub")
    assert check.answer == "broken"
    assert "not a directory" in check.detail


@pytest.mark.gl
def test_opengl_says_who_draws() -> None:
    check = check_opengl()
    assert check.answer == "ok", check.detail
    assert check.detail[0].isdecimal()


def test_opengl_that_is_not_there_is_broken_and_not_a_crash(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("QT_QPA_PLATFORM", "minimal")
    check = check_opengl()
    assert check.answer == "broken"
    assert check.detail


# -- the whole of it -------------------------------------------------------------------


def examined(*checks: Check) -> Callable[..., Doctor]:
    return lambda progress=None: doctor_of(list(checks))


def test_the_table_says_what_to_do(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(
        "isoscope.app.doctor.examine.examine",
        examined(
            Check("numpy", "ok", "2.0"),
            Check("ray", "missing", "not installed", "pip install 'isoscope[ray]'"),
            Check("opengl", "broken", "[red]crashed[/red]", "update the driver"),
        ),
    )
    assert main(["doctor"]) == 1
    captured = capsys.readouterr()
    assert captured.err == ""
    _, _, *lines = captured.out.splitlines()
    assert lines == [
        "what    answer   detail              what to do",
        "numpy   ok       2.0",
        "ray     missing  not installed       pip install 'isoscope[ray]'",
        "opengl  broken   [red]crashed[/red]  update the driver",
        "",
        "1 check broken, 1 missing, all of them optional.",
    ]


@pytest.mark.timeout(240)
def test_this_machine_is_examined(capsys: pytest.CaptureFixture[str]) -> None:
    status = main(["doctor", "--json"])
    captured = capsys.readouterr()
    found = decode(captured.out.encode(), Doctor)
    assert found.schema == "isoscope.doctor/1"
    names = [check.name for check in found.checks]
    assert len(names) == len(set(names))
    answers = {check.name: check.answer for check in found.checks}
    for name in ("isoscope", "package numpy", "package h5py", "cache folder"):
        assert answers[name] == "ok"
    assert status == (1 if "broken" in answers.values() else 0)
    assert found.python.endswith(".".join(map(str, sys.version_info[:3])))
    assert not os.environ["ISOSCOPE_CONFIG_DIR"].startswith(str(Path.home()))

"""The real engine through the tap: shared scenes in its HybridVectorEnv's workers.

Every transition has to be what the vector environment itself returned, bit for bit.
"""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from isoscope.app.main import main as isoscope
from isoscope.core.attribution.attributor import attribute
from isoscope.core.isolation.audit import audit
from isoscope.core.isolation.context import Context, Examined
from isoscope.core.recording.registry import load
from tests.environments import environment

if TYPE_CHECKING:
    from isoscope.core.recording.labelled.labelled import Labelled
    from isoscope.core.recording.model import Recording

pytestmark = pytest.mark.referee

HERE = Path(__file__).parent
RUN = HERE / "engine_tapped_run.py"
FAULTS = HERE / "engine_tapped_faults.py"
LINKS = HERE.parents[1] / ".links"
ENGINE_1_0_1 = (
    "superdex-lab==1.0.1",
    "superdex-physics==1.0.1",
    "superdex-robotics==1.0.1",
    *("trimesh", "h5py", "msgspec", "pyzmq"),
)
ENVS, WORKERS, STEPS, EPISODE = 4, 2, 60, 17


@pytest.fixture(scope="module")
def engine() -> Path:
    return environment("superdex-1.0.1", "3.12", ENGINE_1_0_1)


def run(engine: Path, out: Path, **changes: Any) -> dict[str, Any]:
    wanted = {"envs": ENVS, "workers": WORKERS, "steps": STEPS, "seed": 100}
    wanted |= {"episode_steps": EPISODE, "missed": {}, "tap": True, **changes}
    subprocess.run(
        [engine, RUN, out, json.dumps(wanted)],
        check=True,
        timeout=300,
        env={
            **os.environ,
            "PYTHONPATH": str(LINKS),
            "XDG_RUNTIME_DIR": str(out.parent),
        },
    )
    with np.load(f"{out}.npz") as returned:
        return {name: returned[name] for name in returned.files}


def start(engine: Path, program: Path, out: Path, what: str) -> None:
    places = {"PYTHONPATH": str(LINKS), "XDG_RUNTIME_DIR": str(out.parent)}
    command = [engine, program, out, what]
    subprocess.run(command, check=True, timeout=300, env={**os.environ, **places})


@pytest.fixture(scope="module")
def clean(engine: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("tapped") / "run"
    run(engine, out)
    return out


def opened(out: Path) -> tuple[Recording, Labelled]:
    recording = load(Path(f"{out}.isoscope.h5"))
    assert recording.problems == []
    assert recording.labelled is not None
    return recording, recording.labelled


def values(labelled: Labelled, group: str) -> tuple[Any, Any]:
    window = labelled.track("transitions", group, "value").read(
        0, len(labelled.transitions())
    )
    return window.values, window.valid


def test_nothing_changes(engine: Path, clean: Path, tmp_path: Path) -> None:
    without = run(engine, tmp_path / "plain", tap=False)
    with np.load(f"{clean}.npz") as seen:
        for name, expected in without.items():
            assert seen[name].dtype == expected.dtype
            assert seen[name].tobytes() == expected.tobytes(), name


def test_every_transition_is_what_was_returned(clean: Path) -> None:
    _, labelled = opened(clean)
    told = labelled.transitions()
    after, _ = values(labelled, "observation_after")
    before, before_there = values(labelled, "observation_before")
    raw, _ = values(labelled, "raw_action")
    clipped, _ = values(labelled, "action")
    with np.load(f"{clean}.npz") as file:
        returned = {name: file[name] for name in file.files}
    compared = 0
    for env in range(ENVS):
        rows = iter([k for k, t in enumerate(told) if t.env == env])
        last = returned["first"][env]
        begin = next(rows)
        assert told[begin].valid == 0
        assert told[begin].seed == 100 + env
        assert after[begin].tobytes() == last.tobytes()
        ended = False
        for step in range(STEPS):
            k = next(rows)
            row, seen = told[k], returned["obs"][step, env]
            assert after[k].tobytes() == seen.tobytes()
            if ended:  # Gymnasium's next step: it only resets
                assert row.valid == 0
                assert returned["reward"][step, env] == 0
                ended = False
            else:
                action = returned["actions"][step, env]
                assert row.valid == 1
                assert row.reward == returned["reward"][step, env]
                assert row.terminated == returned["ended"][step, env]
                assert row.truncated == returned["cut"][step, env]
                assert raw[k].tobytes() == action.tobytes()
                assert clipped[k].tobytes() == np.clip(action, -3, 3).tobytes()
                assert before_there[k]
                assert before[k].tobytes() == last.tobytes()
                ended = bool(row.terminated or row.truncated)
                compared += 1
            last = seen
        assert next(rows, None) is None
    assert compared > STEPS * ENVS // 2
    assert {t.reasons["truncated_reason"] for t in told if t.truncated == 1} == {
        "Steps per episode reached"
    }


def test_every_native_step_has_its_owner(clean: Path) -> None:
    recording, labelled = opened(clean)
    labels = recording.labels
    assert labels is not None
    owners = np.full(len(recording), -1)
    for t in labelled.transitions():
        rows = slice(t.first_row, t.last_row + 1)
        mine = labels.env[rows] == t.env  # those of two processes alternate
        assert mine.sum() == (2 if t.control_step else 1)
        assert set(labels.control_step[rows][mine]) == {t.control_step}
        assert set(labels.episode[rows][mine]) == {t.episode}
        owners[rows][mine] = t.env
    assert (owners >= 0).all()
    identity = labelled.identity
    assert (identity.engine, identity.engine_version) == ("superdex", "1.0.1")
    assert (identity.environments, identity.processes) == (ENVS, WORKERS)
    assert identity.autoreset_mode == "next_step"
    assert identity.seeds == [100, 101, 102, 103]
    assert (identity.control_hz, identity.substeps) == (25.0, 2)
    assert identity.factory.endswith("make_env")
    assert not labelled.failures()
    snapshots = labelled.snapshots()
    assert {s.why for s in snapshots} == {"initial", "reset", "every"}
    events = [e.kind for e in labelled.events()]
    assert events.count("restore") == len(labelled.transitions())
    # What was captured is what is there when it is restored: nothing leaked in.
    rows = labelled.records("native", _native())
    last: dict[int, bytes] = {}
    for row in rows:
        if row.control_step and row.substep == 0:
            assert row.digest_before == last[row.env]
        last[row.env] = row.digest_after


def _native() -> Any:
    from isoscope.core.recording.labelled import records as r

    return r.NativeStep


def test_nothing_is_found_wrong(
    clean: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    recording, _ = opened(clean)
    examined = Examined(recording, attribute(recording))
    assert audit(Context(examined)).findings == []
    file = f"{clean}.isoscope.h5"
    for command in ("info", "attribute", "align", "audit"):
        assert isoscope([command, file]) == 0, command
    assert capsys.readouterr().err == ""


def test_a_missed_restore_is_found_exactly(engine: Path, tmp_path: Path) -> None:
    out = tmp_path / "missed"
    run(engine, out, missed={"2": [1, 6]}, steps=12)
    recording, labelled = opened(out)
    examined = Examined(recording, attribute(recording))
    found = audit(Context(examined)).findings
    assert [(f.id, f.env, f.episode, f.control_step) for f in found] == [
        ("missed-restore", 2, 1, 6)
    ]
    assert found[0].other_env == 3
    assert not labelled.failures()


@pytest.mark.parametrize(
    ("fault", "key", "new"),
    [
        ("gravity", "gravity", [0.0, -3.0, 0.0]),
        ("pulled", "gravity", [0.0, -3.0, 0.0]),
        ("inertia", "jointInertia", [30.0, 0.0]),
        ("density", "density", 700.0),
        ("friction", "viscous", 0.5),
    ],
)
def test_who_changed_what_is_told(
    engine: Path, tmp_path: Path, fault: str, key: str, new: Any
) -> None:
    out = tmp_path / "run.isoscope.h5"
    start(engine, FAULTS, out, fault)
    recording = load(out)
    labels, labelled = recording.labels, recording.labelled
    assert labels is not None
    assert labelled is not None
    changed = [c for c in labelled.changes() if c.old is not None]
    assert changed
    # The first native step under it is the one before which it was done.
    first = np.flatnonzero(
        (labels.env == 1) & (labels.episode == 1) & (labels.control_step == 5)
    )[0]
    assert {(c.env, c.row) for c in changed} == {(1, first)}
    assert any(c.key.split("/")[-1] == key and c.new == new for c in changed)
    assert not any("object at" in str(c.new) for c in labelled.changes())
    digests = [
        row.configuration_digest for row in labelled.records("native", _native())
    ]
    assert len(set(digests[:first])) == 1
    assert set(digests[first:]) == {changed[0].digest}


@pytest.mark.parametrize(
    ("fault", "expected", "consequence"),
    [
        ("missed", ("missed-restore", 1, 1, 5), ()),
        ("gravity", ("config-changed", 1, 1, 5), ()),
        ("pulled", ("config-changed", 1, 1, 5), ()),
        ("inertia", ("config-changed", 1, 1, 5), ()),
        ("density", ("config-changed", 1, 1, 5), ()),
        ("friction", ("config-changed", 1, 1, 5), ()),
        ("exception", ("snapshot-lost", 1, 1, 5), ()),
        ("read", ("stale-read", 1, 1, 5), ()),
        # Whoever draws the same numbers also begins alike: that is told as well.
        ("seeds", ("duplicate-seeds", 1, 1, 0), ("identical-start",)),
        ("none", None, ()),
    ],
)
def test_the_audit_finds_the_fault_there_and_nothing_else(
    engine: Path,
    tmp_path: Path,
    fault: str,
    expected: tuple[str, int, int, int] | None,
    consequence: tuple[str, ...],
) -> None:
    out = tmp_path / "run.isoscope.h5"
    start(engine, FAULTS, out, fault)
    recording = load(out)
    assert recording.problems == []
    found = audit(Context(Examined(recording, attribute(recording)))).findings
    told = [(f.id, f.env, f.episode, f.control_step) for f in found]
    alone = [one for one in told if one[0] not in consequence]
    assert alone == ([] if expected is None else [expected])


def test_an_exception_is_told_and_goes_on_to_the_caller(
    engine: Path, tmp_path: Path
) -> None:
    out = tmp_path / "run.isoscope.h5"
    start(engine, FAULTS, out, "exception")
    labelled = load(out).labelled
    assert labelled is not None
    [failure] = labelled.failures()
    assert (failure.what, failure.env) == ("step", 1)
    assert "the policy's head is lost" in failure.message
    [kept] = [s for s in labelled.snapshots() if s.why == "exception"]
    assert (kept.env, kept.episode, kept.control_step) == (1, 1, 5)
    # The others go on.
    told = labelled.transitions()
    assert max(t.control_step for t in told if t.env == 0) == 8

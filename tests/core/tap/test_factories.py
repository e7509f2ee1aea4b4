"""Worker processes: each taps itself, one recording sees all, the dead are told."""

from __future__ import annotations

import os
import pickle
import signal
from functools import partial
from typing import TYPE_CHECKING, Any

import pytest

from isoscope.core import tap
from isoscope.core.tap.factories import TapFactory
from tests.core.tap.fake import FakeEnv, make_env, run
from tests.core.tap.fleet import Fleet
from tests.core.tap.support import opened, until

if TYPE_CHECKING:
    from pathlib import Path


def expected(steps: int, seed: int) -> list[Any]:
    return run(FakeEnv(), steps, seed)


def test_one_recording_sees_all_workers(tmp_path: Path) -> None:
    path = tmp_path / "run.isoscope.h5"
    factories = [tap.factory(make_env, path) for _ in range(4)]
    fleet = Fleet(factories, each=2)
    assert fleet.run(12, 5) == [expected(12, 5)] * 4
    fleet.close()
    tap.detach()
    found = opened(path)
    labelled = found.labelled
    assert found.recording.complete
    assert not found.recording.problems
    assert labelled.failures() == []
    done = labelled.transitions()
    assert [sum(t.env == g for t in done) for g in range(-1, 5)] == [
        0,
        12,
        12,
        12,
        12,
        0,
    ]
    assert len(found.recording) == 4 * 12 * 2
    for t in done:
        envs = labelled.column("native", "env", t.first_row, t.last_row + 1)
        assert t.env in envs.tolist()
    # Environments g, each in a scene of its own, and no more of either.
    assert sorted(s.environments for s in labelled.scenes.values()) == [
        [0],
        [1],
        [2],
        [3],
    ]
    assert len(labelled.actors) == 4


def test_an_explicit_index_wins(tmp_path: Path) -> None:
    path = tmp_path / "run.isoscope.h5"
    envs = [tap.factory(make_env, path, index=7)(), tap.factory(make_env)()]
    for env in envs:
        run(env, 2)
    tap.detach()
    assert sorted({t.env for t in opened(path).labelled.transitions()}) == [7, 8]


def test_the_environment_that_is_only_looked_at_never_appears(tmp_path: Path) -> None:
    path = tmp_path / "run.isoscope.h5"
    factories = [tap.factory(make_env, path) for _ in range(2)]
    factories[0]().close()
    envs = [make() for make in factories]
    for env in envs:
        run(env, 3)
    tap.detach()
    labelled = opened(path).labelled
    assert sorted(labelled.scenes) == [0, 1]
    assert len(labelled.resets()) == 2


def test_a_factory_used_twice_is_told(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "run.isoscope.h5"
    make = tap.factory(make_env, path)
    envs = [make() for _ in range(2)]
    for env in envs:
        run(env, 1)
    tap.detach()
    assert "environment 0 was made twice" in capsys.readouterr().err
    assert [f.env for f in opened(path).labelled.failures()] == [0]


def test_two_processes_with_one_number_are_told(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "run.isoscope.h5"
    fleet = Fleet([tap.factory(make_env, path)] * 2, each=1)
    fleet.run(3, 1)
    until(lambda: "wrap each factory by a tap.factory" in capsys.readouterr().err)
    fleet.close()


def test_a_factory_travels_with_what_it_needs() -> None:
    made = tap.factory(partial(make_env, 4))
    there = pickle.loads(pickle.dumps(made))
    assert isinstance(there, TapFactory)
    assert there.ticket == made.ticket
    assert there.ticket.token not in repr(there.ticket)


def test_indexed_factories_stay_such() -> None:
    pytest.importorskip("gymnasium")
    from isoscope.core.envs.vector.factories import EnvIndex, IndexedFactory

    made: Any = tap.factory(IndexedFactory(lambda index: make_env(index.lane + 1)))
    assert isinstance(made, IndexedFactory)
    probe: Any = made.make(EnvIndex(0, 0, 0, probe=True))
    assert isinstance(probe, FakeEnv)
    env: Any = made.make(EnvIndex(1, 2, 6))
    assert env.index == 6
    assert env.env.length == 3


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork here")
@pytest.mark.filterwarnings("ignore:This process:DeprecationWarning")
def test_forked_workers_tap_themselves(tmp_path: Path) -> None:
    path = tmp_path / "run.isoscope.h5"
    fleet = Fleet([tap.factory(make_env, path) for _ in range(2)], 1, "fork")
    assert fleet.run(5, 1) == [expected(5, 1)] * 2
    fleet.close()
    tap.detach()
    done = opened(path).labelled.transitions()
    assert [sum(t.env == g for t in done) for g in range(2)] == [5, 5]


def robbed_fleet(path: Path) -> Fleet:
    """Two processes of two environments each that all stepped, and one is killed."""
    fleet = Fleet([tap.factory(make_env, path) for _ in range(4)], each=2)
    session: Any = tap.current()
    fleet.run(5, 1)
    merged = session.outlet._stream
    until(lambda: merged.length("transitions") == 20)
    os.kill(fleet.processes[1].pid, signal.SIGKILL)
    fleet.processes[1].join()
    return fleet


def test_a_worker_that_dies_is_told_and_the_others_go_on(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "run.isoscope.h5"
    fleet = robbed_fleet(path)
    until(lambda: "with environments 2, 3 died" in capsys.readouterr().err)
    fleet.run(5, but=1)
    fleet.close()
    tap.detach()
    found = opened(path)
    assert found.recording.complete
    failures = found.labelled.failures()
    assert [(f.what, f.env) for f in failures] == [("worker", 2), ("worker", 3)]
    assert failures[0].detail["environments"] == [2, 3]
    done = found.labelled.transitions()
    assert [sum(t.env == g for t in done) for g in range(4)] == [10, 10, 5, 5]


def test_a_worker_that_dies_as_the_run_ends_is_told(tmp_path: Path) -> None:
    path = tmp_path / "run.isoscope.h5"
    fleet = robbed_fleet(path)
    tap.detach()  # before anybody looked whether it lives
    fleet.close()
    found = opened(path)
    assert found.recording.complete
    failures = found.labelled.failures()
    assert [(f.what, f.env) for f in failures] == [("worker", 2), ("worker", 3)]


def test_workers_go_on_without_their_hub(capfd: pytest.CaptureFixture[str]) -> None:
    """The user detaches in the middle: nobody waits, nobody fails."""
    fleet = Fleet([tap.factory(make_env) for _ in range(2)], each=1)
    assert fleet.run(5, 1) == [expected(5, 1)] * 2
    tap.detach()
    assert fleet.run(5, 1) == [expected(5, 1)] * 2
    fleet.close()
    assert capfd.readouterr().err == ""

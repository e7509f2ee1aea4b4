"""What the vector environment promises beside stepping."""

from __future__ import annotations

import os
import threading
from functools import partial
from typing import Any

import gymnasium
import numpy as np
import pytest
from gymnasium import spaces
from gymnasium.vector import AutoresetMode
from gymnasium.wrappers.vector import RecordEpisodeStatistics

from isoscope.core.envs.vector import (
    EnvironmentFailedError,
    HybridVectorEnv,
    IndexedFactory,
    VectorEnvError,
    make_environment,
)
from tests.core.envs.vector.worlds import (
    Counting,
    Knowing,
    Limit,
    Named,
    add_to_steps,
    cartpole,
    faulty,
    loud,
    unpicklable,
)

ZEROS = np.zeros((4, 1), dtype=np.float32)
both_kinds = pytest.mark.parametrize("workers", [0, 2])


@both_kinds
def test_seeds_are_expanded_once_and_can_be_read(workers: int) -> None:
    envs = HybridVectorEnv([Counting] * 4, workers=workers)
    assert envs.lane_seeds == (None,) * 4
    envs.reset(seed=np.int64(100))
    assert envs.lane_seeds == (100, 101, 102, 103)
    envs.reset(seed=[7, None, None, 9])
    assert envs.lane_seeds == (7, 101, 102, 9)  # None left two generators as they were
    mask = np.array([False, True, False, False])
    envs.reset(seed=50, options={"reset_mask": mask})
    assert envs.lane_seeds == (7, 51, 102, 9)
    assert envs.get_attr("seeds") == (
        [100, 7],
        [101, None, 51],
        [102, None],
        [103, 9],
    )
    assert envs.np_random_seed == envs.lane_seeds
    assert len(envs.np_random) == 4
    envs.close()


def test_the_double_expansion_can_be_reproduced() -> None:
    envs = HybridVectorEnv([cartpole] * 4, workers=2, seed_expansion="twice")
    obs, _ = envs.reset(seed=100)
    assert envs.lane_seeds == (100, 101, 101, 102)
    assert obs[1].tolist() == obs[2].tolist()
    envs.close()


@pytest.mark.parametrize("workers", [0, 1])
def test_masks_are_checked_and_options_left_alone(workers: int) -> None:
    envs = HybridVectorEnv([Counting] * 4, workers=workers)
    one = np.array([True, False, False, False])
    with pytest.raises(VectorEnvError, match="environments 0, 1, 2, 3 were never"):
        envs.reset(options={"reset_mask": one})
    with pytest.raises(VectorEnvError, match="not reset"):
        envs.step(ZEROS)
    envs.reset()
    for bad in (
        [True] * 4,
        np.ones(3, dtype=bool),
        np.ones(4),
        np.zeros(4, dtype=bool),
    ):
        with pytest.raises(VectorEnvError, match="reset_mask"):
            envs.reset(options={"reset_mask": bad})
    options = {"reset_mask": one, "gravity": 3}
    envs.reset(options=options)
    assert list(options) == ["reset_mask", "gravity"]
    given = envs.get_attr("options")
    assert given[0][-1] == {"gravity": 3, "mine": True}
    assert [len(part) for part in given] == [2, 1, 1, 1]
    envs.reset(options={"gravity": 4})
    assert all(part[-1]["gravity"] == 4 for part in envs.get_attr("options"))
    envs.close()


@both_kinds
def test_stepping_after_the_end_without_reset_is_refused(workers: int) -> None:
    lengths = [(9,), (2, 9), (9,), (2, 9)]
    envs = HybridVectorEnv(
        [partial(Counting, part) for part in lengths],
        workers=workers,
        autoreset_mode="Disabled",
    )
    envs.reset()
    envs.step(ZEROS)
    done = envs.step(ZEROS)[3]
    assert done.tolist() == [False, True, False, True]
    some = np.array([False, True, False, False])
    for _ in range(2):
        with pytest.raises(VectorEnvError, match=r"environments? .*3 ended and nobody"):
            envs.step(ZEROS)
        envs.reset(options={"reset_mask": some})
    envs.reset(options={"reset_mask": ~some})
    envs.step(ZEROS)
    envs.close()


@pytest.mark.parametrize("workers", [0, 1])
def test_what_is_returned_is_nobody_elses(workers: int) -> None:
    envs = HybridVectorEnv([Counting] * 4, workers=workers)
    obs, _ = envs.reset()
    first = envs.step(ZEROS)
    kept = [np.array(part) for part in (obs, *first[:4])]
    for _ in range(5):
        envs.step(ZEROS + 1)
    for part, before in zip((obs, *first[:4]), kept, strict=True):
        np.testing.assert_array_equal(part, before)
    # nor does an environment that keeps its actions see them change
    assert [float(a[0]) for a in envs.get_attr("actions")[3][:2]] == [0.0, 1.0]
    envs.close()


@pytest.mark.parametrize("workers", [0, 1])
def test_actions_have_the_exact_batch_shape(workers: int) -> None:
    envs = HybridVectorEnv([Counting] * 4, workers=workers)
    envs.reset()
    for bad in (np.zeros((3, 1)), np.zeros(4), np.zeros((4, 1), dtype=complex), None):
        with pytest.raises(VectorEnvError, match="actions don't fit"):
            envs.step(bad)
    assert envs.step(np.zeros((4, 1)))[0][:, 1].tolist() == [1] * 4
    envs.close()


@pytest.mark.parametrize("workers", [0, 1])
def test_spaces_of_all_supported_kinds(workers: int) -> None:
    space = spaces.Dict(
        {
            "d": spaces.Discrete(5, start=2),
            "t": spaces.Tuple([spaces.MultiDiscrete([3, 4]), spaces.MultiBinary(2)]),
            "b": spaces.Box(0, 255, (2, 2, 3), np.uint8),
        }
    )
    factory = partial(Named, space, space)
    envs = HybridVectorEnv([factory] * 2, workers=workers)
    obs, _ = envs.reset(seed=1)
    assert envs.observation_space.contains(obs)
    actions = envs.action_space.sample()
    obs, _, _, _, infos = envs.step(actions)
    assert envs.observation_space.contains(obs)
    assert str(actions["d"][1]) in infos["took"][1]
    envs.close()


def test_the_probe_is_told_apart_closed_and_avoidable(tmp_path: Any) -> None:
    made = []

    def make(index: Any) -> Any:
        made.append(index)
        return faulty(-1, "", "", str(tmp_path), index)

    factory = IndexedFactory(make)
    envs = HybridVectorEnv([factory] * 2)
    assert [index.probe for index in made] == [True, False, False]
    assert [path.name for path in tmp_path.iterdir()] == ["closed-probe"]
    envs.close()
    made.clear()
    envs = HybridVectorEnv(
        [factory] * 2,
        spaces=(envs.single_observation_space, envs.single_action_space),
    )
    assert [index.probe for index in made] == [False, False]
    envs.close()


def test_a_probe_that_fails_half_way_is_closed() -> None:
    made = []

    class Half(Counting):
        @property
        def render_mode(self) -> Any:  # type: ignore[override]
            raise OSError("no display")

    def make() -> Any:
        made.append(Half())
        return made[-1]

    with pytest.raises(VectorEnvError, match="OSError: no display"):
        HybridVectorEnv([make])
    assert [env.closed for env in made] == [1]


def test_making_half_of_them_closes_those(tmp_path: Any) -> None:
    factory = IndexedFactory(partial(faulty, 2, "raise", "make", str(tmp_path)))
    with pytest.raises(EnvironmentFailedError, match="making environment 2") as failed:
        HybridVectorEnv([factory] * 4)
    assert (failed.value.environment, failed.value.kind) == (2, "ValueError")
    assert isinstance(failed.value.__cause__, ValueError)
    assert sorted(path.name for path in tmp_path.iterdir()) == [
        "closed-0",
        "closed-1",
        "closed-probe",
    ]


@both_kinds
def test_factories_can_know_who_they_make_and_be_wrapped(workers: int) -> None:
    def tapped(inner: Any, index: Any) -> Any:
        return Limit(make_environment(inner, index), 3)

    plain: Any = [IndexedFactory(Knowing)] * 3 + [Counting]
    factories = [IndexedFactory(partial(tapped, inner)) for inner in plain]
    envs = HybridVectorEnv(factories, workers=workers)  # by value: tapped is local
    who = envs.lane_call([0, 1, 2], "index")
    per_worker = 2 if workers else 4
    assert [(i.worker, i.lane, i.global_index, i.probe) for i in who] == [
        (*divmod(g, per_worker), g, False) for g in range(3)
    ]
    envs.close()


@both_kinds
def test_calls_attributes_and_functions(workers: int) -> None:
    envs = HybridVectorEnv([partial(cartpole, 9)] * 4, workers=workers)
    envs.reset(seed=3)
    envs.set_attr("limit", [1, 2, 3, 4])
    assert envs.get_attr("limit") == (1, 2, 3, 4)
    envs.set_attr("limit", 6)
    assert envs.lane_call([3, 0, 3], "limit") == (6, 6, 6)
    assert envs.call("has_wrapper_attr", "gravity") == (True,) * 4
    worker = 1 if workers else 0
    pid = envs.worker_call(worker, add_to_steps, 1, 5)
    assert pid == envs.worker_info[worker].pid
    assert (pid == os.getpid()) == (workers == 0)
    changed = 3 if workers else 1
    steps = envs.get_attr("steps")
    assert [g for g in range(4) if steps[g] == 0] == [
        g for g in range(4) if g != changed
    ]
    for call, text in [
        (lambda: envs.set_attr("limit", [1, 2]), "2 values and 4"),
        (lambda: envs.lane_call([4], "limit"), "no environment 4"),
        (lambda: envs.worker_call(5, add_to_steps, 0, 0), "no worker 5"),
    ]:
        with pytest.raises(VectorEnvError, match=text):
            call()
    with pytest.raises(
        EnvironmentFailedError, match="calling nothing of environment 0"
    ):
        envs.call("nothing")
    with pytest.raises(
        EnvironmentFailedError, match="calling add_to_steps in worker 0: IndexE"
    ):
        envs.worker_call(0, add_to_steps, 9, 0)
    envs.step(np.zeros(4, dtype=int))  # nothing of that did harm
    envs.close()


def test_what_cannot_travel_is_said() -> None:
    envs = HybridVectorEnv([Counting] * 2, workers=1)
    with pytest.raises(EnvironmentFailedError, match="sending what came of it"):
        envs.worker_call(0, unpicklable)
    with pytest.raises(VectorEnvError, match="can't be pickled for a worker"):
        envs.worker_call(0, lambda _: None)
    envs.reset()
    with pytest.raises(VectorEnvError, match="can't be pickled for a worker"):
        envs.reset(options={"on_end": lambda: None})
    envs.step(ZEROS[:2])  # nobody was asked, so nothing is in doubt
    envs.close()
    lock: Any = threading.Lock()
    with pytest.raises(VectorEnvError, match=r"factories .* can't be pickled"):
        HybridVectorEnv([partial(Counting, nested=lock)] * 2, workers=1)


@both_kinds
def test_metadata_is_its_own(workers: int) -> None:
    before = dict(gymnasium.make("CartPole-v1").unwrapped.metadata)
    same, no = (
        HybridVectorEnv([cartpole] * 2, workers=workers, autoreset_mode=mode)
        for mode in (AutoresetMode.SAME_STEP, AutoresetMode.DISABLED)
    )
    assert same.metadata["autoreset_mode"] is same.autoreset_mode
    assert same.autoreset_mode is AutoresetMode.SAME_STEP
    assert no.metadata["autoreset_mode"] is AutoresetMode.DISABLED
    assert same.metadata["render_fps"] == before["render_fps"]
    assert gymnasium.make("CartPole-v1").unwrapped.metadata == before
    same.close()
    no.close()


def test_threads_are_set_before_the_worker_starts(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("OMP_NUM_THREADS", "7")
    monkeypatch.delenv("MKL_NUM_THREADS", raising=False)
    envs = HybridVectorEnv([Counting] * 2, workers=2, threads_per_worker=3)
    assert [info.threads for info in envs.worker_info] == [3, 3]
    assert [info.lanes for info in envs.worker_info] == [(0,), (1,)]
    assert os.environ["OMP_NUM_THREADS"] == "7"
    assert "MKL_NUM_THREADS" not in os.environ
    envs.close()


@pytest.mark.parametrize(
    "arguments",
    [
        {"env_fns": []},
        {"workers": 3},
        {"workers": -1},
        {"autoreset_mode": "sometimes"},
        {"seed_expansion": "thrice"},
        {"threads_per_worker": 2},
        {"workers": 2, "threads_per_worker": 0},
        {"timeout_s": 0},
        {"timeout_s": float("nan")},
    ],
)
def test_bad_arguments_are_refused(arguments: dict[str, Any]) -> None:
    with pytest.raises(VectorEnvError, match="making a vector environment: "):
        HybridVectorEnv(**{"env_fns": [Counting] * 4, **arguments})


@both_kinds
def test_other_spaces_than_the_first_are_refused(workers: int) -> None:
    factories = [Counting, Counting, Counting, partial(Counting, nested=True)]
    with pytest.raises(EnvironmentFailedError, match=r"environment 3 .*the batch's is"):
        HybridVectorEnv(factories, workers=workers)


def test_gymnasiums_own_wrappers_go_around_it() -> None:
    envs = HybridVectorEnv([partial(cartpole, 4)] * 2, autoreset_mode="SameStep")
    around = RecordEpisodeStatistics(envs)
    around.reset(seed=1)
    for _ in range(4):
        infos = around.step(np.array([0, 1]))[4]
    assert infos["episode"]["l"].tolist() == [4, 4]
    around.close()
    assert envs.closed


def test_what_workers_write_to_stderr_is_passed_on(
    capsys: pytest.CaptureFixture[str],
) -> None:
    # much more than a pipe holds: a worker that nobody hears would stand still
    envs = HybridVectorEnv([loud] * 2, workers=1)
    envs.reset()
    envs.step(ZEROS[:2])
    envs.close()
    heard = capsys.readouterr().err
    assert heard.count("x") >= 400_000
    assert "this env warns" in heard

"""MuJoCo's batch of rollouts on all cores, for timing beside ours."""

from __future__ import annotations

import importlib
import importlib.util
import os
import time
from typing import TYPE_CHECKING, Any

import numpy as np

from isoscope import resources

if TYPE_CHECKING:
    Array = np.ndarray[Any, Any]

REMEDY = "MuJoCo is not installed; pip install isoscope[mujoco]"


def installed() -> bool:
    """Whether it is there."""
    return importlib.util.find_spec("mujoco") is not None


class Rollouts:
    """W worlds of a model, advanced so many steps at a call.

    Parameters
    ----------
    model
        Name of an MJCF file among the resources.
    start
        Joint positions to begin from, [W, nq].
    steps
        Of a call. MuJoCo's own step size and integrator are the file's and the usual.

    Notes
    -----
    Every call goes on where the last one ended; memory for the states it gives is made
    once, as its documentation advises.
    """

    def __init__(self, model: str, start: Array, steps: int) -> None:
        mujoco: Any = importlib.import_module("mujoco")
        rollout: Any = importlib.import_module("mujoco.rollout")
        self.worlds, self.steps = len(start), steps
        path = str(resources.path("models", f"{model}.xml"))
        self._model = mujoco.MjModel.from_xml_path(path)
        self.h_s = float(self._model.opt.timestep)
        self.threads = len(os.sched_getaffinity(0)) if _has_affinity() else _cores()
        self._data = [mujoco.MjData(self._model) for _ in range(self.threads)]
        kind = mujoco.mjtState.mjSTATE_FULLPHYSICS
        size = mujoco.mj_stateSize(self._model, kind)
        one = np.zeros(size)
        mujoco.mj_getState(self._model, self._data[0], one, kind)
        self._now = np.tile(one, (self.worlds, 1))
        # time comes first, then positions
        self._now[:, 1 : 1 + start.shape[1]] = start
        self._states = np.zeros((self.worlds, steps, size))
        sensors = self._model.nsensordata
        self._sensors = np.zeros((self.worlds, steps, sensors))
        self._pool = rollout.Rollout(nthread=self.threads)

    def advance(self) -> float:
        """Take the steps of a call; native steps a second."""
        begun = time.perf_counter()
        self._pool.rollout(
            self._model,
            self._data,
            self._now,
            nstep=self.steps,
            state=self._states,
            sensordata=self._sensors,
        )
        took = time.perf_counter() - begun
        self._now = self._states[:, -1].copy()
        return self.worlds * self.steps / took

    def close(self) -> None:
        """End its threads."""
        self._pool.close()


def _has_affinity() -> bool:
    return hasattr(os, "sched_getaffinity")


def _cores() -> int:
    return os.cpu_count() or 1

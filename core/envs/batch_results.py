"""What a batch gives back: on the device, and as Gymnasium's callers want it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

import numpy as np

from isoscope.core.envs.lazy import OnDevice

if TYPE_CHECKING:
    from isoscope.core.envs.lanes import LaneGroup
    from isoscope.core.envs.records import ControlStep
    from isoscope.core.scene import Array

Results: TypeAlias = Literal["numpy", "lazy"]


@dataclass(frozen=True, slots=True)
class BatchStep:
    """A step of the whole batch; arrays of the scene's kind.

    Attributes
    ----------
    observation
        float32 [N, O]: as Gymnasium's autoreset mode wants it.
    reward, terminated, truncated
        [N]; zero and false in rows that were only reset.
    transition
        bool [N]: rows in which an action was really applied.
    usable
        bool [N]: those of them whose state is valid.
    final_observation
        float32 [N, O]: the true next observation of every transition, whatever has been
        reset since.
    began
        bool [N] or None: rows whose observation is an episode's first.
    step
        The control step itself.
    """

    observation: Array
    reward: Array
    terminated: Array
    truncated: Array
    transition: Array
    usable: Array
    final_observation: Array
    began: Array | None
    step: ControlStep


class BatchTeller:
    """Turns arrays of the device into what `step` and `reset` give back.

    Parameters
    ----------
    results
        ``numpy`` reads all of it back, ``lazy`` leaves that to whoever looks.
    """

    def __init__(self, lanes: LaneGroup, results: Results) -> None:
        self._lanes = lanes
        self._results = results

    def given(self, array: Array, cause: str, dtype: Any = None) -> Any:
        """An array for the caller, by the kind of results."""
        lazy = OnDevice(array, self._lanes.scene, cause)
        if self._results == "lazy":
            return lazy
        host = lazy.numpy()
        return host if dtype is None else host.astype(dtype)

    def masked(self, values: dict[str, Any], mask: Array | None) -> dict[str, Any]:
        """Info as Gymnasium has it: each key with its mask ``_key``."""
        info: dict[str, Any] = {}
        if mask is None:
            mask = self._lanes.xp.ones_like(self._lanes.ready)
        for name, value in values.items():
            info[name] = value if isinstance(value, dict) else self.given(value, "info")
            info[f"_{name}"] = self.given(mask, "info")
        return info

    def final(self, result: BatchStep, began: Array) -> dict[str, Any]:
        """What SAME_STEP tells of rows that ended and have been reset since."""
        if self._results == "lazy":
            flags = self.given(began, "final observation")
            return {
                "final_obs": self.given(result.final_observation, "final observation"),
                "_final_obs": flags,
                "final_info": self._ends(result, began),
                "_final_info": flags,
            }
        ended = self._lanes.scene.to_host(began, "final observation")
        if not ended.any():
            return {}
        rows = self._lanes.scene.to_host(result.final_observation, "final observation")
        final = np.full(len(self._lanes.envs), None, object)
        for lane in np.flatnonzero(ended):
            final[lane] = rows[lane].copy()
        return {
            "final_obs": final,
            "_final_obs": ended,
            "final_info": self._ends(result, began),
            "_final_info": ended.copy(),
        }

    def _ends(self, result: BatchStep, began: Array) -> dict[str, Any]:
        """Infos of the steps that ended episodes, with their masks."""
        terms = self.masked(dict(result.step.terms), began)
        told = self.masked({"reward_terms": terms}, began)
        return told | self.masked({"valid": result.step.valid}, began)

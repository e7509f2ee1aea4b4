"""FILE OUT.npz: what ManiSkill's own ManiSkillTrajectoryDataset gives.

Made up is what its helpers import of the simulator for other purposes.
"""

from __future__ import annotations

import sys
from typing import Any

import numpy as np
from loaded_alone import alone, made_up

alone("mani_skill", "mani_skill.utils", "mani_skill.trajectory")
made_up("sapien")
made_up("sapien.physx")
made_up("mani_skill.utils.structs")
made_up("mani_skill.utils.structs.types", Array=object, Device=object)

from mani_skill.trajectory.dataset import ManiSkillTrajectoryDataset  # noqa: E402


def flat(name: str, data: Any, out: dict[str, Any]) -> None:
    if isinstance(data, dict):
        for key, value in data.items():
            flat(f"{name}/{key}", value, out)
    else:
        out[name] = np.asarray(data)


def main(path: str, target: str) -> None:
    found = ManiSkillTrajectoryDataset(path)
    out: dict[str, Any] = {"__env": np.array(found.env_id)}
    flat("obs", found.obs, out)
    for name in ("actions", "terminated", "truncated", "rewards"):
        value = getattr(found, name)
        if value is not None:
            out[name] = np.asarray(value)
    out["__seeds"] = np.array([e["episode_seed"] or -1 for e in found.episodes])
    # As a training loop asks for it.
    out["__items"] = np.array([found[k]["action"].numpy() for k in range(len(found))])
    np.savez(target, **out)


main(*sys.argv[1:])

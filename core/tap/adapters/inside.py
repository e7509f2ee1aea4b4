"""What is inside a vector environment: tapped factories, processes, how they reset."""

from __future__ import annotations

from typing import Any

from isoscope.core.tap.adapters.hooks import is_hooked
from isoscope.core.tap.adapters.kinds import layers
from isoscope.core.tap.factories import TapFactory


def tapped_inside(env: Any) -> bool:
    """Whether its environments are tapped where they are made."""
    for layer in layers(env):
        for made in getattr(layer, "env_fns", None) or ():
            if isinstance(made, TapFactory):
                return True
            inner = getattr(made, "make", None)
            if isinstance(inner, TapFactory):
                return True
            # SuperDex's: a worker's factory holds its environments' as a default.
            for default in getattr(made, "__defaults__", None) or ():
                if isinstance(default, (list, tuple)) and any(
                    isinstance(one, TapFactory) for one in default
                ):
                    return True
        if any(is_hooked(one, "step") for one in getattr(layer, "envs", None) or ()):
            return True
    return False


def mode_within(env: Any) -> Any:
    """The autoreset mode of the vector environments in SuperDex's workers, if any.

    Around them is another one that never resets anything, and says so; in 1.0.0 even in
    the metadata. What was asked for is in the workers' factories.
    """
    for layer in layers(env):
        for made in (getattr(layer, "env_fns", None) or ())[:1]:
            code = getattr(made, "__code__", None)
            if code is None:
                continue
            names = code.co_freevars
            if "autoreset_mode" in names and "inner_kwargs" in code.co_varnames:
                from gymnasium.vector import AutoresetMode

                cell = made.__closure__[names.index("autoreset_mode")]
                return AutoresetMode(cell.cell_contents)
    return None


def processes_of(env: Any) -> int | None:
    """In how many processes its environments are; None where that isn't known."""
    for layer in layers(env):
        kind = {base.__name__ for base in type(layer).__mro__}
        if hasattr(layer, "worker_info"):
            return len({worker.pid for worker in layer.worker_info})
        if "AsyncVectorEnv" in kind:
            return int(layer.num_envs)
        if "SyncVectorEnv" in kind:
            return 1
    return None

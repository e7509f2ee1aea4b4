"""What kind of thing an object is, told by the names of its classes.

So nothing has to be imported to ask: a program that never made an environment of some
library does not load it for the tap's sake.
"""

from __future__ import annotations

from typing import Any


def is_a(thing: Any, module: str, name: str) -> bool:
    """Whether one of its classes is this one, of this module or one below it."""
    return any(
        base.__name__ == name
        and (base.__module__ == module or base.__module__.startswith(f"{module}."))
        for base in type(thing).__mro__
    )


def is_gymnasium_env(env: Any) -> bool:
    """Whether it is a Gymnasium `Env`, a wrapper also."""
    return is_a(env, "gymnasium", "Env")


def is_vector_env(env: Any) -> bool:
    """Whether it is a Gymnasium `VectorEnv`, a wrapper also."""
    return is_a(env, "gymnasium", "VectorEnv")


def is_mochi_env(env: Any) -> bool:
    """Whether it is, or wraps, a SuperDex `MochiEnv`."""
    return is_a(innermost(env), "superdex", "MochiEnv")


def is_scene_env(env: Any) -> bool:
    """Whether it is, or wraps, one of Isoscope's environments over a scene."""
    return is_a(innermost(env), "isoscope.core.envs", "SceneEnv")


def is_resident_env(env: Any) -> bool:
    """Whether it is, or wraps, Isoscope's batch in one scene."""
    return is_a(innermost(env), "isoscope.core.envs", "ResidentVectorEnv")


def innermost(env: Any) -> Any:
    """The environment below all wrappers."""
    return getattr(env, "unwrapped", env)


def layers(env: Any) -> list[Any]:
    """The environment and what it wraps, from the outside in."""
    out = [env]
    while len(out) < 64:
        inner = vars(out[-1]).get("env") if hasattr(out[-1], "__dict__") else None
        if inner is None or inner is out[-1]:
            break
        out.append(inner)
    return out

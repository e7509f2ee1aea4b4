"""Adapters: which one watches what kind of environment.

They are looked for in this order, so the one that can tell most comes first. None of
them is imported, nor what it is for, before there is such an environment.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from isoscope.core.errors import UsageError
from isoscope.core.tap.adapters import kinds

if TYPE_CHECKING:
    from collections.abc import Callable

    from isoscope.core.tap.adapter import Adapter

HERE = "isoscope.core.tap.adapters"
# Whether it is for this environment; its module; its class.
REGISTRY: tuple[tuple[Callable[[Any], bool], str, str], ...] = (
    (kinds.is_resident_env, f"{HERE}.resident", "ResidentAdapter"),
    (kinds.is_vector_env, f"{HERE}.vector", "VectorAdapter"),
    (kinds.is_scene_env, f"{HERE}.scene", "SceneAdapter"),
    (kinds.is_mochi_env, f"{HERE}.superdex.mochi", "MochiAdapter"),
    (kinds.is_gymnasium_env, f"{HERE}.single", "SingleAdapter"),
)


def adapter_for(env: Any) -> Adapter:
    """The adapter for an environment.

    Raises
    ------
    UsageError
        If there is none for its kind.
    """
    for fits, module, name in REGISTRY:
        if fits(env):
            adapter: Adapter = getattr(import_module(module), name)()
            return adapter
    kind = f"{type(env).__module__}.{type(env).__qualname__}"
    raise UsageError(
        f"tapping: {kind} is neither a Gymnasium Env nor a VectorEnv; give one of "
        "these, or a factory of one to tap.factory"
    )

"""Many environments as one: a vector environment in processes, and what its rows mean.

`hybrid` is the vector environment; `transitions` says which rows of any Gymnasium
vector environment are transitions. Needs gymnasium, which the extra `sim` brings.
"""

from __future__ import annotations

from isoscope.core.envs.vector.crew import WorkerInfo
from isoscope.core.envs.vector.errors import (
    EnvironmentFailedError,
    VectorEnvError,
    WorkerDiedError,
    WorkerTimeoutError,
)
from isoscope.core.envs.vector.factories import (
    EnvIndex,
    Factory,
    IndexedFactory,
    make_environment,
)
from isoscope.core.envs.vector.hybrid import HybridVectorEnv
from isoscope.core.envs.vector.transitions import (
    Transitions,
    TransitionStream,
    autoreset_mode_of,
    valid_transitions,
)

__all__ = [
    "EnvIndex",
    "EnvironmentFailedError",
    "Factory",
    "HybridVectorEnv",
    "IndexedFactory",
    "TransitionStream",
    "Transitions",
    "VectorEnvError",
    "WorkerDiedError",
    "WorkerInfo",
    "WorkerTimeoutError",
    "autoreset_mode_of",
    "make_environment",
    "valid_transitions",
]

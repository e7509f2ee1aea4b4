"""Factories of environments: who asks, how they travel, and a look at their spaces."""

from __future__ import annotations

import pickle
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import cloudpickle
from gymnasium import Env, Space

from isoscope.core.envs.vector.errors import VectorEnvError
from isoscope.core.errors import one_line

if TYPE_CHECKING:
    from collections.abc import Sequence


@dataclass(frozen=True, slots=True)
class EnvIndex:
    """Which environment a factory is asked for.

    Attributes
    ----------
    worker
        The worker p, from 0; 0 where all run in this process.
    lane
        Its place j in the worker's turn, from 0.
    global_index
        g = p·K + j, its row in every batch.
    probe
        True for the one that is made to look at the spaces: it is closed again and
        never reset or stepped.
    """

    worker: int
    lane: int
    global_index: int
    probe: bool = False


@dataclass(frozen=True, slots=True)
class IndexedFactory:
    """A factory that is told which environment it makes.

    Attributes
    ----------
    make
        Called with an :class:`EnvIndex`.
    """

    make: Callable[[EnvIndex], Env[Any, Any]]


Factory = Callable[[], Env[Any, Any]] | IndexedFactory


def make_environment(factory: Factory, index: EnvIndex) -> Env[Any, Any]:
    """Make an environment with a factory of either kind.

    What wraps factories calls this, and so serves both kinds::

        def wrapped(factory, index):
            return MyWrapper(make_environment(factory, index), index)

        env_fns = [IndexedFactory(partial(wrapped, factory)) for factory in env_fns]
    """
    if isinstance(factory, IndexedFactory):
        return factory.make(index)
    return factory()


def packed(factories: Sequence[Factory]) -> bytes:
    """Pickle factories for a worker.

    What plain pickle can't take, a lambda say, is pickled by value.

    Raises
    ------
    VectorEnvError
        If neither works.
    """
    try:
        return pickle.dumps(list(factories), protocol=pickle.HIGHEST_PROTOCOL)
    except Exception:  # noqa: BLE001  whatever the factory's own state raises
        pass
    try:
        return bytes(cloudpickle.dumps(list(factories)))
    except Exception as error:
        raise VectorEnvError(
            "sending the environments' factories to a worker: they can't be pickled "
            f"({one_line(error)}); make each a function of a module, or a "
            "functools.partial of one, that opens what it needs when it is called"
        ) from error


@dataclass(frozen=True, slots=True)
class Looks:
    """What one environment says about all.

    Attributes
    ----------
    observation_space, action_space
        Of a single environment.
    metadata
        An own copy.
    render_mode
        As the environment has it.
    """

    observation_space: Space[Any]
    action_space: Space[Any]
    metadata: dict[str, Any]
    render_mode: str | None

    @classmethod
    def of(cls, env: Env[Any, Any]) -> Looks:
        """Look at an environment."""
        return cls(
            env.observation_space,
            env.action_space,
            dict(env.metadata or {}),
            env.render_mode,
        )


def probe(factory: Factory) -> Looks:
    """Make an environment, look at it, and close it again, whatever happens.

    Raises
    ------
    VectorEnvError
        If it can't be made, looked at or closed.
    """
    doing = "making an environment to look at its spaces"
    try:
        env = make_environment(factory, EnvIndex(0, 0, 0, probe=True))
    except Exception as error:
        raise VectorEnvError(_said(doing, error)) from error
    try:
        looks = Looks.of(env)
    except Exception as error:
        try:
            env.close()
        except Exception as second:  # noqa: BLE001  the first says more
            error.add_note(f"closing it failed as well: {one_line(second)}")
        raise VectorEnvError(_said(doing, error)) from error
    try:
        env.close()
    except Exception as error:
        raise VectorEnvError(_said(f"{doing}, and closing it", error)) from error
    return looks


def _said(doing: str, error: Exception) -> str:
    return (
        f"{doing}: the factory of environment 0 raised {type(error).__name__}: "
        f"{one_line(error)}; or give spaces=(observation, action)"
    )

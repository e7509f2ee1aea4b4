"""Makes environments, taps them, runs them with a policy, and so records a run."""

from __future__ import annotations

import importlib
import importlib.util
import os
import secrets
import sys
import time
from contextlib import contextmanager, suppress
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec
import numpy as np

from isoscope.app.run_settings import RANDOM, ZERO, RunSettings, Vector
from isoscope.app.saved_policy import SavedActing, is_saved, read_policy
from isoscope.core import tap
from isoscope.core.errors import IsoscopeError, UsageError, WriteError, one_line
from isoscope.core.newfile import refuse_bad_target
from isoscope.core.tap.adapters.kinds import is_vector_env

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

DOING = "recording"
MOST_ENVS = 1 << 16
OURS = "isoscope/"
REGISTERS_OURS = "isoscope.app.environments"


class RunReport(msgspec.Struct, kw_only=True):
    """What was recorded; printed as ``isoscope.record/1``.

    Attributes
    ----------
    steps
        Control steps of every environment.
    episodes
        How many ended.
    """

    schema: str = "isoscope.record/1"
    file: str
    environments: int
    steps: int
    episodes: int
    seconds: float
    bytes: int


class FromModule:
    """A function of a file, found anew in whatever process it is called."""

    def __init__(self, reference: str) -> None:
        self.reference = reference

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Call the function.

        Raises
        ------
        UsageError
            If it can't be loaded, or what it makes is a batch already.
        """
        made = load_function(self.reference)(*args, **kwargs)
        if is_vector_env(made):
            raise UsageError(
                f"{DOING}: {self.reference} makes a vector environment; give a function"
                " that makes one environment, and --envs and --vector"
            )
        return made


def make_gym(identity: str) -> Any:
    """Make a Gymnasium environment of an id."""
    import gymnasium

    if identity.startswith(OURS):
        importlib.import_module(REGISTERS_OURS)
    return gymnasium.make(identity)


def load_function(reference: str) -> Callable[..., Any]:
    """Load ``FILE:NAME``.

    Raises
    ------
    UsageError
        If there is no such file or function, or the file can't be run.
    """
    where, _, name = reference.rpartition(":")
    path = Path(where)
    doing = f"loading {reference}"
    if not where or not name:
        raise UsageError(f"{doing}: give it as FILE:FUNCTION, run.py:make_env say")
    if not path.is_file():
        raise UsageError(f"{doing}: there is no file {path}")
    key = f"isoscope_user_{path.resolve().as_posix().replace('/', '_')}"
    module = sys.modules.get(key)
    if module is None:
        spec = importlib.util.spec_from_file_location(key, path)
        if spec is None or spec.loader is None:
            raise UsageError(f"{doing}: {path} is no Python file")
        module = importlib.util.module_from_spec(spec)
        sys.modules[key] = module
        sys.path.insert(0, str(path.resolve().parent))  # for what lies beside it
        try:
            spec.loader.exec_module(module)
        except (Exception, SystemExit) as error:  # noqa: BLE001 somebody else's file
            del sys.modules[key]
            said = f"{type(error).__name__}: {one_line(error)}"
            raise UsageError(f"{doing}: {path} failed ({said})") from None
        finally:
            with suppress(ValueError):
                sys.path.remove(str(path.resolve().parent))
    found = getattr(module, name, None)
    if not callable(found):
        raise UsageError(f"{doing}: {path} has no function {name}")
    function: Callable[..., Any] = found
    return function


def record(
    settings: RunSettings, progress: Callable[[int, int], object] | None = None
) -> RunReport:
    """Record a run.

    Raises
    ------
    UsageError, WriteError
        If the arguments make no sense, the environments can't be made or fail, or the
        file can't be written.
    """
    check(settings)
    refuse_bad_target(settings.out, overwrite=settings.overwrite)
    made = partial(make_gym, settings.env) if settings.env else None
    make: Callable[..., Any] = made or FromModule(str(settings.module))
    options = {} if settings.env else {"factory": settings.module}
    begun = time.perf_counter()
    try:
        with _replaced(settings.out):
            env = _attached(settings, make, options)
            try:
                act = _policy(env, settings)
            except BaseException:
                env.close()
                raise
        try:
            episodes = _run(env, act, settings, progress)
        finally:
            _told("closing the environments", env.close)
    finally:
        tap.detach()
    return RunReport(
        file=str(settings.out),
        environments=settings.envs,
        steps=settings.steps,
        episodes=episodes,
        seconds=time.perf_counter() - begun,
        bytes=settings.out.stat().st_size,
    )


@contextmanager
def _replaced(out: Path) -> Iterator[None]:
    """Begin a recording in the block; where that fails, all is as it was before."""
    target = Path(os.path.realpath(out))
    aside = target.with_name(f".{target.name[:200]}.{secrets.token_hex(4)}.part")
    there = target.exists()
    try:
        if there:
            os.replace(target, aside)
    except OSError as error:
        raise WriteError(f"writing {out}: {error.strerror or error}") from None
    try:
        yield
    except BaseException:
        tap.detach()
        target.unlink(missing_ok=True)  # nothing was recorded
        if there:
            os.replace(aside, target)
        raise
    aside.unlink(missing_ok=True)


def check(settings: RunSettings) -> None:
    """Refuse arguments that make no sense.

    Raises
    ------
    UsageError
    """
    if bool(settings.env) == bool(settings.module):
        raise UsageError(f"{DOING}: give either --env ID or --module FILE:FACTORY")
    if settings.envs < 1 or settings.steps < 1:
        raise UsageError(
            f"{DOING}: {settings.envs} environments for {settings.steps} steps; give 1 "
            "or more of both"
        )
    if settings.envs > MOST_ENVS:
        raise UsageError(
            f"{DOING}: {settings.envs:,} environments; give {MOST_ENVS:,} or fewer"
        )
    if settings.snapshots_every < 0:
        raise UsageError(
            f"{DOING}: snapshots every {settings.snapshots_every} control steps; give "
            "0 for none, or more"
        )
    if settings.vector is Vector.NONE and settings.envs != 1:
        raise UsageError(
            f"{DOING}: {settings.envs} environments need --vector sync, async or hybrid"
        )
    if settings.seed < 0:
        raise UsageError(f"{DOING}: the seed {settings.seed}; give 0 or more")
    if settings.module:
        load_function(settings.module)
    if is_saved(settings.policy):
        read_policy(settings.policy, settings.policy_parts)
    elif settings.policy_parts is not None:
        raise UsageError(f"{DOING}: --policy-parts goes with a checkpoint")
    elif settings.policy not in (RANDOM, ZERO):
        load_function(settings.policy)


def _attached(
    settings: RunSettings, make: Callable[..., Any], options: dict[str, Any]
) -> Any:
    """The environments, tapped from where most of them can be seen."""
    name = str(settings.env or settings.module)
    common: dict[str, Any] = {
        "record": settings.out,
        "name": f"record {name}",
        "snapshots_every": settings.snapshots_every,
        **options,
    }
    doing = f"making {name}"
    if settings.vector is Vector.NONE:
        env = _told(doing, make)
        return tap.attach(env, overwrite=settings.overwrite, **common)
    factories = []
    for number in range(settings.envs):
        overwrite = settings.overwrite and number == 0
        factories.append(tap.factory(make, overwrite=overwrite, **common))
    vector = _told(doing, partial(_vector, settings, factories))
    return tap.attach(vector, **options)


def _vector(settings: RunSettings, factories: list[Callable[..., Any]]) -> Any:
    from gymnasium.vector import AsyncVectorEnv, SyncVectorEnv

    if settings.vector is Vector.SYNC:
        return SyncVectorEnv(factories)
    if settings.vector is Vector.ASYNC:
        return AsyncVectorEnv(factories, context="spawn")
    from isoscope.core.envs.vector import HybridVectorEnv

    most = min(settings.envs, os.cpu_count() or 1)
    workers = max(w for w in range(1, most + 1) if settings.envs % w == 0)
    return HybridVectorEnv(factories, workers=workers)


def _run(
    env: Any,
    act: Callable[[Any], Any],
    settings: RunSettings,
    progress: Callable[[int, int], object] | None,
) -> int:
    """Step all environments; gives how many episodes ended."""
    single = settings.vector is Vector.NONE
    seen = _told("resetting", partial(_reset, env, seed=settings.seed))
    ended = 0
    for step in range(settings.steps):
        action = _told("asking the policy", partial(act, seen))
        seen, done = _told("stepping", partial(_step, env, action))
        if isinstance(act, SavedActing):
            act.after(done)
        ended += int(np.sum(done))
        if single and done:
            seen = _told("resetting", partial(_reset, env))
        if progress is not None:
            progress(step + 1, settings.steps)
    return ended


def _reset(env: Any, **arguments: Any) -> Any:
    seen, _ = env.reset(**arguments)
    return seen


def _step(env: Any, action: Any) -> tuple[Any, Any]:
    """What was seen, and what has ended: bool, of a batch [N]."""
    seen, _, terminated, truncated, _ = env.step(action)
    done = np.logical_or(terminated, truncated)
    return seen, done if done.ndim else bool(done)


def _policy(env: Any, settings: RunSettings) -> Callable[[Any], Any]:
    space = env.action_space
    space.seed(settings.seed)
    if settings.policy == RANDOM:
        return lambda seen: space.sample()
    if settings.policy == ZERO:
        return lambda seen: _zeros(space.sample())
    if is_saved(settings.policy):
        single = settings.vector is Vector.NONE
        parts = settings.policy_parts
        return SavedActing(settings.policy, env, single=single, parts=parts)
    return load_function(settings.policy)


def _zeros(like: Any) -> Any:
    if isinstance(like, dict):
        return {key: _zeros(value) for key, value in like.items()}
    if isinstance(like, tuple):
        return tuple(_zeros(value) for value in like)
    return np.zeros_like(like) if isinstance(like, np.ndarray) else type(like)(0)


def _told(doing: str, work: Callable[[], Any]) -> Any:
    """Do something of the user's; what it raises is told in one line."""
    try:
        return work()
    except IsoscopeError:
        raise
    except ModuleNotFoundError:
        raise  # of an extra: said elsewhere what to install
    except (Exception, SystemExit) as error:
        said = f"{type(error).__name__}: {one_line(error)}"
        raise UsageError(f"{DOING}: {doing} failed ({said})") from error

"""Runs whose every bit is kept, to be compared with and without a tap."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from isoscope.core.recording.labelled.labelled import Labelled


def single_run(env: Any, steps: int, seed: int = 3, scale: float = 1.0) -> list[Any]:
    """Everything that comes out of an environment, and its generators' last states."""
    env.action_space.seed(seed)
    out: list[Any] = [env.reset(seed=seed)]
    for _ in range(steps):
        action = env.action_space.sample()
        if scale != 1.0:
            action = action * np.asarray(scale, action.dtype)
        out.append(env.step(action))
        if out[-1][2] or out[-1][3]:
            out.append(env.reset())
    inner = env.unwrapped
    out.append(inner.np_random.bit_generator.state)
    out.append(env.action_space.np_random.bit_generator.state)
    return out


def vector_run(env: Any, steps: int, seed: int = 3) -> list[Any]:
    """The same of a vector environment; the caller resets where it does not itself."""
    env.action_space.seed(seed)
    out: list[Any] = [env.reset(seed=seed)]
    disabled = "DISABLED" in str(env.metadata.get("autoreset_mode"))
    for _ in range(steps):
        out.append(env.step(env.action_space.sample()))
        done = out[-1][2] | out[-1][3]
        if disabled and done.any():
            out.append(env.reset(options={"reset_mask": done}))
    out.append(env.action_space.np_random.bit_generator.state)
    return out


def assert_same(a: Any, b: Any) -> None:
    """Equal, bit for bit, in value, type and shape."""
    assert type(a) is type(b)
    if isinstance(a, dict):
        assert list(a) == list(b)
        for key in a:
            assert_same(a[key], b[key])
    elif isinstance(a, (list, tuple)):
        assert len(a) == len(b)
        for x, y in zip(a, b, strict=True):
            assert_same(x, y)
    elif isinstance(a, np.ndarray) and a.dtype != object:
        assert (a.dtype, a.shape) == (b.dtype, b.shape)
        assert a.tobytes() == b.tobytes()
    elif isinstance(a, np.ndarray):
        assert_same(a.tolist(), b.tolist())
    else:
        assert a == b or (a != a and b != b)


def column(labelled: Labelled, group: str, name: str = "value") -> Any:
    """A field of the transitions: values and where they are there."""
    count = len(labelled.transitions())
    return labelled.track("transitions", group, name).read(0, count)

"""A tapped Gymnasium vector environment that steps until it is told to end.

Its environments tell nothing of what a simulator does below their control steps.
"""

from __future__ import annotations

import sys
import threading
import time

import gymnasium as gym

from isoscope.core import tap

ENVS = 3


def main() -> None:
    """Step three pendulums in turn, and end after a line of input."""
    made = [lambda: gym.make("Pendulum-v1", max_episode_steps=20) for _ in range(ENVS)]
    envs = tap.attach(gym.vector.SyncVectorEnv(made))
    envs.reset(seed=1)
    envs.action_space.seed(1)
    over = threading.Event()

    def wait() -> None:
        sys.stdin.readline()
        over.set()

    threading.Thread(target=wait, daemon=True).start()
    sys.stdout.write("ready\n")
    sys.stdout.flush()
    while not over.is_set():
        envs.step(envs.action_space.sample())
        time.sleep(0.01)
    envs.close()
    tap.detach()


if __name__ == "__main__":
    main()

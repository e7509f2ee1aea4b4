"""A program that taps an environment, forks, and goes on in both. Argument: a file."""

from __future__ import annotations

import os
import sys
import warnings

from isoscope.core import tap
from tests.core.tap.fake import make_env, run


def main() -> None:
    # Newer Pythons warn of every fork beside a thread.
    warnings.simplefilter("ignore", DeprecationWarning)
    env = tap.attach(make_env(), record=sys.argv[1])
    run(env, 5)
    child = os.fork()
    if not child:
        run(env, 5)
        off = "off" if tap.current() is None and not env.session.on else "on"
        sys.stdout.write(f"child {off}, {env.env.count} steps\n")
        sys.stdout.flush()
        sys.exit()
    os.waitpid(child, 0)
    run(env, 5)
    sys.stdout.write(f"parent {'on' if env.session.on else 'off'}\n")


if __name__ == "__main__":
    main()

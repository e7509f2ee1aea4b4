"""A program that taps an environment at the address that it is given."""

from __future__ import annotations

import sys

from isoscope.core import tap
from isoscope.core.errors import UsageError
from tests.core.tap.fake import make_env


def main() -> None:
    try:
        tap.attach(make_env(), address=sys.argv[1])
    except UsageError as error:
        sys.stderr.write(f"{error}\n")
        sys.exit(3)


if __name__ == "__main__":
    main()

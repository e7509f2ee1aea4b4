"""``python -m isoscope.app`` is ``isoscope``."""

import sys

from isoscope.app.main import main

if __name__ == "__main__":
    sys.exit(main())

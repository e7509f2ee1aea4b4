"""The golden autoreset table as Gymnasium 1.1.1 and 1.4.0 give it, by the command line.

What each version's own vector environments do is recorded by the tap in an environment
that has that version, and exported here: every transition has to be the table's.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from gymnasium.vector import AutoresetMode

from tests.data.recipe.make_autoreset import TABLES
from tests.environments import environment
from tests.trial.test_case_1 import exports_golden

pytestmark = pytest.mark.referee

ROOT = Path(__file__).parents[2]
RECORD = """
import sys
from pathlib import Path
import gymnasium
from gymnasium.vector import AutoresetMode
from tests.data.recipe.make_autoreset import TABLES
from tests.trial.vector_runs import golden
assert gymnasium.__version__ == sys.argv[1], gymnasium.__version__
for number, table in enumerate(TABLES):
    for mode in AutoresetMode:
        path = Path(sys.argv[2]) / f"{number}-{mode.name}.isoscope.h5"
        golden(path, table, mode)
"""


@pytest.mark.parametrize("version", ["1.1.1", "1.4.0"])
def test_every_transition_is_right(
    version: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    python = environment(
        f"gymnasium-{version}",
        f"{sys.version_info.major}.{sys.version_info.minor}",
        (f"gymnasium=={version}", "numpy", "h5py", "msgspec", "pyzmq", "psygnal"),
    )
    subprocess.run(
        [python, "-c", RECORD, version, str(tmp_path)],
        check=True,
        timeout=300,
        env={
            **os.environ,
            "PYTHONPATH": os.pathsep.join([str(ROOT / ".links"), str(ROOT)]),
            "XDG_RUNTIME_DIR": str(tmp_path),
        },
    )
    for number, table in enumerate(TABLES):
        for mode in AutoresetMode:
            path = tmp_path / f"{number}-{mode.name}.isoscope.h5"
            exports_golden(path, table, mode, capsys)

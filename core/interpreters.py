"""Find a Python of a given version that really starts.

A name on the path proves little: a version manager's shim may refuse to run. So each
candidate is started once and asked for its version.
"""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

ASK = "import sys; print('.'.join(map(str, sys.version_info[:2])))"
START_TIMEOUT_S = 20.0


def find_python(version: str, first: str | None = None) -> Path | None:
    """Return a CPython of this version, or None.

    Parameters
    ----------
    version
        Major and minor, such as ``"3.12"``.
    first
        An interpreter to try before all others, from a setting, say.
    """
    for candidate in _candidates(version, first):
        if _starts_as(candidate, version):
            return candidate
    return None


def _candidates(version: str, first: str | None) -> list[Path]:
    found = [Path(first)] if first else []
    named = shutil.which(f"python{version}")
    if named:
        found.append(Path(named))
    managed = [
        Path(os.environ.get("PYENV_ROOT", Path.home() / ".pyenv")) / "versions",
        Path.home() / ".local" / "share" / "uv" / "python",
    ]
    for folder in managed:
        if folder.is_dir():
            pattern = f"*{version}*/bin/python{version}"
            found.extend(sorted(folder.glob(pattern), reverse=True))
    places = ("/usr/local/bin", "/usr/bin", "/opt/homebrew/bin")
    found.extend(Path(place) / f"python{version}" for place in places)
    return list(dict.fromkeys(found))


def _starts_as(candidate: Path, version: str) -> bool:
    try:
        answer = subprocess.run(
            [str(candidate), "-I", "-c", ASK],
            capture_output=True,
            text=True,
            timeout=START_TIMEOUT_S,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired):
        return False
    return answer.returncode == 0 and answer.stdout.strip() == version

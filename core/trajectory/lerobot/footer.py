"""Whether the files of a written LeRobot dataset were finished.

A parquet file is readable once its footer is written, which a writer does when it is
closed. RLinf's writer never calls the dataset's own ``finalize``, which lerobot 0.4 and
later need for that: the files look complete and can't be opened.

Layout, from the Apache Parquet format (File Format, "Footer")::

    "PAR1"  row groups ...  metadata  length of it (4 bytes, little endian)  "PAR1"
"""

from __future__ import annotations

from pathlib import Path

from isoscope.core.errors import ReadError

MAGIC = (b"PAR1", b"PARE")  # the second with an encrypted footer
TAIL = 8
DOING = "checking that the dataset is finished,"
REMEDY = "call the dataset's own finalize() in the process that writes it, then check"


def check_footers(folder: str | Path) -> int:
    """Check every parquet file below a dataset's folder.

    Parameters
    ----------
    folder
        The dataset's root, or any folder.

    Returns
    -------
    int
        How many files there are; all of them have a footer.

    Raises
    ------
    ReadError
        If one has none, or there are no files at all.
    """
    files = sorted(Path(folder).rglob("*.parquet"))
    if not files:
        raise ReadError(DOING, folder, "there is no parquet file", remedy=REMEDY)
    for path in files:
        problem = footer_problem(path)
        if problem:
            raise ReadError(DOING, path, problem, remedy=REMEDY)
    return len(files)


def footer_problem(path: Path) -> str:
    """Say what is wrong with a parquet file's ends; empty if nothing is."""
    try:
        with path.open("rb") as file:
            head = file.read(4)
            size = file.seek(0, 2)
            file.seek(max(size - TAIL, 0))
            tail = file.read(TAIL)
    except OSError as error:
        return str(error)
    if head not in MAGIC:
        return "it does not begin as a parquet file does"
    if size < len(head) + TAIL or tail[4:] not in MAGIC:
        return "its footer is missing, so that nothing in it can be read"
    length = int.from_bytes(tail[:4], "little")
    if not 0 < length <= size - len(head) - TAIL:
        return f"its footer says that it is {length} bytes long, in {size} of the file"
    return ""

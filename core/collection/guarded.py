"""Calls of a user's environments: what they raise is theirs, and told as theirs."""

from __future__ import annotations

import os
import traceback
from contextlib import contextmanager
from typing import TYPE_CHECKING

from isoscope.core.collection.errors import CollectionError
from isoscope.core.errors import IsoscopeError, one_line

if TYPE_CHECKING:
    from collections.abc import Iterator

LONGEST = 300  # of a foreign message


@contextmanager
def environments(doing: str) -> Iterator[None]:
    """Turn what environments raise in this block into an error that names them.

    Parameters
    ----------
    doing
        What they were to do, such as ``"stepping the environments"``.

    Raises
    ------
    CollectionError
        Instead of theirs, which is its cause: the class, the text, and the file and
        line that raised it.
    """
    try:
        yield
    except IsoscopeError:
        raise
    except Exception as error:
        last = traceback.extract_tb(error.__traceback__)[-1]
        place = f"{os.path.basename(last.filename)}:{last.lineno}"
        raise CollectionError(
            f"{doing}: they failed with {type(error).__name__} ({place}): "
            f"{one_line(error)[:LONGEST] or 'without a text'}"
        ) from error

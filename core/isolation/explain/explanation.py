"""The form of an explanation."""

from __future__ import annotations

import msgspec


class Explanation(msgspec.Struct, frozen=True):
    """What a finding means.

    Attributes
    ----------
    means
        What is wrong, and why that matters.
    comes_about
        How it usually happens.
    do
        What to do about it.
    needs
        What a recording must hold for the check to run.
    """

    means: str
    comes_about: str
    do: str
    needs: str

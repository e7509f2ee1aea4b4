"""Errors of collecting, one line each."""

from __future__ import annotations

from isoscope.core.errors import IsoscopeError


class CollectionError(IsoscopeError):
    """Environments, policies and settings that don't fit together."""

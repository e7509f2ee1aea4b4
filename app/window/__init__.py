"""The window: what puts the panels together."""

from isoscope.app.window.window import Window

__all__ = ["Window"]

"""A panel whose package is not installed."""

import a_package_that_is_not_here  # noqa: F401

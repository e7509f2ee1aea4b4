# Maps the top-level folders into one import package.
from setuptools import find_packages, setup

ROOTS = ("app", "core", "gpu", "widgets", "resources")
found = find_packages(include=[p for r in ROOTS for p in (r, f"{r}.*")])
setup(
    packages=[f"isoscope.{name}" for name in found],
    package_dir={f"isoscope.{root}": root for root in ROOTS},
)

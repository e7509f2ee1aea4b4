"""Make all checks, several at a time, in the order in which they are shown."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING

from isoscope.app.doctor import probe
from isoscope.app.doctor.display import check_display
from isoscope.app.doctor.libraries import how_to_install, library_in
from isoscope.app.doctor.packages import check_packages
from isoscope.app.doctor.programs import (
    check_cuda,
    check_folder,
    check_ray,
    check_superdex,
)
from isoscope.app.folders import config_dir, data_dir, log_dir
from isoscope.core.doctor import Check, Doctor, doctor_of
from isoscope.core.recording.cache import cache_dir
from isoscope.core.version import isoscope_version

if TYPE_CHECKING:
    from collections.abc import Callable

AT_ONCE = 2


def examine(progress: Callable[[int, int], None] | None = None) -> Doctor:
    """Look at everything; takes seconds, and a bounded time whatever is broken."""
    jobs: tuple[Callable[[], list[Check]], ...] = (
        check_packages,
        check_display,
        lambda: [check_cuda()],
        lambda: [check_ray()],
        lambda: [check_superdex()],
        _check_folders,
    )
    checks = [Check("isoscope", "ok", isoscope_version())]
    probe.start_afresh()
    # The pool's block waits for its threads, and they for their probes.
    with ThreadPoolExecutor(AT_ONCE) as pool, probe.stopping_together():
        running = [pool.submit(job) for job in jobs]
        for done, job in enumerate(running):
            if progress is not None:
                progress(done, len(jobs))
            checks.extend(job.result())
    for check in checks:
        _name_the_package(check)
    return doctor_of(checks)


def _check_folders() -> list[Check]:
    folders = {
        "cache folder": cache_dir(),
        "settings folder": config_dir(),
        "data folder": data_dir(),
        "log folder": log_dir(),
    }
    return [check_folder(name, folder) for name, folder in folders.items()]


def _name_the_package(check: Check) -> None:
    """Where a system library is what is missing, reinstalling a wheel won't help."""
    library = library_in(check.detail) if check.answer == "broken" else None
    if library is not None:
        check.remedy = how_to_install([library])

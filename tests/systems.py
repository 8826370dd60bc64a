"""What only some systems have."""

import contextlib
import multiprocessing
import os
import sys

import pytest

from tercet.cli.compare.worker_pool import stop_fork_server

posix = pytest.mark.skipif(
    os.name != "posix", reason="permissions, links, pipes, signals and forks are POSIX's"
)
linux = pytest.mark.skipif(
    sys.platform != "linux", reason="the memory of a process is read from Linux's /proc"
)


@contextlib.contextmanager
def forked_from(*modules):
    """The way to start processes where forks of a server do: of one that has imported these modules.

    It is stopped afterwards, as one that runs already is before: other tests want other modules.
    """
    if "forkserver" not in multiprocessing.get_all_start_methods():
        yield "spawn"
        return
    from multiprocessing import forkserver

    def stop():
        pid = forkserver._forkserver._forkserver_pid
        if pid is not None:
            stop_fork_server()
            os.waitid(os.P_PID, pid, os.WEXITED | os.WNOWAIT)

    stop()
    multiprocessing.get_context("forkserver").set_forkserver_preload(list(modules))
    forkserver.ensure_running()
    try:
        yield "forkserver"
    finally:
        stop()

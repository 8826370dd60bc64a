"""What only some systems have."""

import os
import sys

import pytest

posix = pytest.mark.skipif(
    os.name != "posix", reason="permissions, links, pipes, signals and forks are POSIX's"
)
linux = pytest.mark.skipif(
    sys.platform != "linux", reason="the memory of a process is read from Linux's /proc"
)

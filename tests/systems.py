"""What only some systems have."""

import os

import pytest

posix = pytest.mark.skipif(
    os.name != "posix", reason="permissions, links, pipes, signals and forks are POSIX's"
)

"""Fixtures of the readers' tests."""

from __future__ import annotations

import pytest

from tercet.datasets import Table, read_table


@pytest.fixture
def read(tmp_path):
    def read(content, name="data.csv", **options) -> Table:
        file = tmp_path / name
        file.write_bytes(content if isinstance(content, bytes) else content.encode())
        return read_table(file, **options)

    return read

"""Damaged files among the compiled kernels are removed, and the kernels compiled again."""

import pickle
from pathlib import Path

import numpy as np
import pytest

from tercet.core import kernel as kernels


def total(values):
    found = 0.0
    for i in range(values.size):
        found += values[i]
    return found


@pytest.fixture
def compiled(tmp_path, monkeypatch):
    """A function that gives the kernel as a new process has it: nothing loaded yet."""
    if not kernels.JIT:
        pytest.skip("kernels are plain Python")
    folder = tmp_path / "cache"
    folder.mkdir(mode=0o700)
    monkeypatch.setenv("TERCET_CACHE_DIR", str(folder))
    kernels.cache_folder.cache_clear()
    yield lambda: kernels.kernel(total)
    kernels.cache_folder.cache_clear()


def run(function):
    """Its result, and how often it was found in the cache."""
    assert function(np.arange(5.0)) == 10.0
    return sum(function.stats.cache_hits.values())


def flipped(content):
    middle = len(content) // 2
    return content[:middle] + bytes([content[middle] ^ 1]) + content[middle + 1 :]


DAMAGE = {
    "empty": lambda content: b"",
    "short": lambda content: content[: len(content) // 2],
    "one byte less": lambda content: content[:-1],
    "one bit": flipped,
    "foreign": lambda content: pickle.dumps({"something": "else"}),
    "text": lambda content: b"not a kernel",
}


@pytest.mark.parametrize("ending", ["nbi", "nbc"])
@pytest.mark.parametrize("damage", DAMAGE)
def test_a_damaged_file_is_made_anew(compiled, tmp_path, damage, ending):
    assert run(compiled()) == 0
    assert run(compiled()) == 1
    (file,) = tmp_path.rglob(f"*.{ending}")
    whole = file.read_bytes()
    file.write_bytes(DAMAGE[damage](whole))
    assert run(compiled()) == 0  # compiled again
    assert run(compiled()) == 1  # and kept


def test_a_folder_in_the_place_of_a_file(compiled, tmp_path):
    assert run(compiled()) == 0
    (file,) = tmp_path.rglob("*.nbi")
    file.unlink()
    Path(file).mkdir()
    assert run(compiled()) == 0
    assert run(compiled()) == 0

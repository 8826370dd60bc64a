"""Memory of the machine, as the systems tell it."""

import ctypes
import sys
from types import SimpleNamespace

import pytest

from tercet.core import memory


@pytest.mark.parametrize(("works", "expected"), [(1, 5 << 30), (0, None)])
def test_windows_is_asked(works, expected, monkeypatch):
    def answer(status):
        assert (ctypes.sizeof(status), status[0]) == (64, 64)
        status[1], status[2] = 16 << 30, 5 << 30
        return works

    windll = SimpleNamespace(kernel32=SimpleNamespace(GlobalMemoryStatusEx=answer))
    monkeypatch.setattr(ctypes, "windll", windll, raising=False)
    monkeypatch.setattr(sys, "platform", "win32")
    assert memory._machine() == expected


def test_what_is_left_is_less_than_a_machine_has(monkeypatch):
    monkeypatch.delenv("TERCET_MEMORY", raising=False)
    assert 1 << 20 < memory.available() < 1 << 50

"""Files that are written whole or not at all, and what is in their places before."""

import os
import stat
import sys
import threading

import pytest

from tercet.core.atomic_files import placing, replacing
from tests.systems import posix


def _write_half(path, error):
    with replacing(path) as file:
        file.write(b"half")
        raise error


def test_a_failed_write_leaves_what_was_there(tmp_path):
    path = tmp_path / "a.txt"
    path.write_text("old")
    for error in (ValueError, KeyboardInterrupt):
        with pytest.raises(error):
            _write_half(path, error)
        assert path.read_text() == "old"
    assert os.listdir(tmp_path) == ["a.txt"]
    with pytest.raises(FileNotFoundError), replacing(tmp_path / "none" / "a.txt"):
        pass


@posix
def test_a_link_and_the_mode_stay(tmp_path):
    path = tmp_path / "a.txt"
    path.write_text("old")
    path.chmod(0o640)
    link = tmp_path / "link.txt"
    link.symlink_to(path)
    with replacing(link) as file:
        file.write(b"new")
    assert link.is_symlink()
    assert path.read_text() == "new"
    assert stat.S_IMODE(path.stat().st_mode) == 0o640
    assert sorted(os.listdir(tmp_path)) == ["a.txt", "link.txt"]


@posix
def test_a_new_file_has_the_mode_that_the_umask_leaves(tmp_path):
    before = os.umask(0o027)
    try:
        with replacing(tmp_path / "a.txt") as file:
            file.write(b"new")
    finally:
        os.umask(before)
    assert stat.S_IMODE((tmp_path / "a.txt").stat().st_mode) == 0o640


@posix
def test_nobody_reads_along_in_what_becomes_a_private_file(tmp_path):
    path = tmp_path / "a.txt"
    path.write_text("old")
    path.chmod(0o600)
    with placing(path) as place:
        assert stat.S_IMODE(place.stat().st_mode) == 0o600
        place.write_text("new")
    assert (path.read_text(), stat.S_IMODE(path.stat().st_mode)) == ("new", 0o600)


@posix
def test_a_link_to_nothing_yet_and_a_folder(tmp_path):
    link = tmp_path / "link.txt"
    link.symlink_to(tmp_path / "a.txt")
    with replacing(link) as file:
        file.write(b"new")
    assert link.is_symlink()
    assert (tmp_path / "a.txt").read_text() == "new"
    with pytest.raises(IsADirectoryError), replacing(tmp_path):
        pass


def test_the_longest_name_that_the_system_takes(tmp_path):
    path = tmp_path / ("a" * 255)
    with replacing(path) as file:
        file.write(b"new")
    assert path.read_text() == "new"


@posix
def test_a_pipe_and_a_device_are_written_to(tmp_path):
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    got = []
    reader = threading.Thread(target=lambda: got.append(pipe.read_bytes()))
    reader.start()
    with replacing(pipe) as file:
        file.write(b"through")
    reader.join(10)
    assert got == [b"through"]
    assert stat.S_ISFIFO(pipe.stat().st_mode)
    with replacing(os.devnull) as file:
        file.write(b"gone")
    assert stat.S_ISCHR(os.stat(os.devnull).st_mode)


def test_where_stdout_goes_keeps_its_place(tmp_path, monkeypatch):
    path = tmp_path / "out.txt"
    with path.open("w") as out:
        monkeypatch.setattr(sys, "__stdout__", out)
        inode = path.stat().st_ino
        with replacing(path) as file:
            file.write(b"through")
    assert (path.read_text(), path.stat().st_ino) == ("through", inode)

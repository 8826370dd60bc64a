"""Where results go: never over what is read, through links, into pipes, and what is said when it fails."""

import os
import stat
import threading
from pathlib import Path

import numpy as np
import pytest

from tercet.cli.errors import Refusal
from tercet.cli.output_files import check_writable, whole
from tests.cli.running import refused, tercet
from tests.systems import posix


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A table, and a model of it that the command fitted."""
    folder = tmp_path_factory.mktemp("files")
    rng = np.random.default_rng(0)
    rows = [f"{x:.3f},{'yes' if x + 0.3 * e > 0 else 'no'}" for x, e in rng.normal(size=(60, 2))]
    (folder / "a.csv").write_text("\n".join(["x,y", *rows, ""]))
    answer = tercet("fit", "LogisticRegression", "a.csv", "-t", "y", "-o", "m.skops", cwd=folder)
    assert answer.returncode == 0, answer.stderr
    return folder


def refusal(path: Path, *inputs) -> str:
    with pytest.raises(Refusal) as caught:
        check_writable(path, *inputs)
    assert caught.value.code == 2
    return str(caught.value)


@posix
def test_results_do_not_replace_what_the_command_reads(folder):
    table, model = (folder / "a.csv").read_bytes(), (folder / "m.skops").read_bytes()
    (folder / "link.csv").symlink_to("m.skops")
    for words in (
        ("predict", "m.skops", "a.csv", "-o", "a.csv"),
        ("predict", "m.skops", "a.csv", "-o", "link.csv"),
        ("fit", "LogisticRegression", "a.csv", "-t", "y", "-o", "./a.csv"),
        ("compare", "a.csv", "--json", "a.csv"),
    ):
        line = refused(tercet(*words, cwd=folder), 2)
        assert f"{Path(words[-1])} is read by this command" in line
    line = refused(tercet("fit", "Ridge", "a.csv", "-o", "b.csv", cwd=folder), 2)
    assert "b.csv: a model is no table" in line
    assert (folder / "a.csv").read_bytes() == table
    assert (folder / "m.skops").read_bytes() == model
    assert not (folder / "b.csv").exists()


@posix
def test_links_modes_and_pipes(folder, tmp_path):
    old, link, pipe = tmp_path / "old.csv", tmp_path / "link.csv", tmp_path / "pipe"
    old.write_text("old")
    old.chmod(0o600)
    link.symlink_to(old)
    assert tercet("predict", "m.skops", "a.csv", "-o", str(link), cwd=folder).returncode == 0
    assert link.is_symlink()
    assert len(old.read_text().splitlines()) == 61
    assert stat.S_IMODE(old.stat().st_mode) == 0o600
    os.mkfifo(pipe)
    for words, start in (
        (("predict", "m.skops", "a.csv"), b"y\n"),
        (("fit", "LogisticRegression", "a.csv", "-t", "y"), b"PK"),
    ):
        got = []
        reader = threading.Thread(target=lambda got=got: got.append(pipe.read_bytes()))
        reader.start()
        answer = tercet(*words, "-o", str(pipe), cwd=folder)
        reader.join(10)
        assert answer.returncode == 0, answer.stderr
        assert got[0].startswith(start)
        assert stat.S_ISFIFO(pipe.stat().st_mode)
    assert sorted(os.listdir(tmp_path)) == ["link.csv", "old.csv", "pipe"]


@posix
def test_places_that_cannot_be_written(tmp_path):
    assert "is a folder" in refusal(tmp_path)
    assert "there is no folder" in refusal(tmp_path / "none" / "a.csv")
    long = refusal(tmp_path / ("a" * 300))
    assert "File name too long" in long
    assert len(long) < 300
    loop = tmp_path / "loop"
    loop.symlink_to(loop)
    assert "loop" in refusal(loop)
    (tmp_path / "a.csv").write_text("a")
    os.link(tmp_path / "a.csv", tmp_path / "b.csv")
    assert "b.csv is read by this command" in refusal(
        tmp_path / "b.csv", None, "none.csv", tmp_path / "a.csv"
    )
    check_writable(tmp_path / "c.csv", tmp_path / "a.csv", "iris")
    with (
        pytest.raises(Refusal, match=r"cannot write /proc/tercet\.csv: ") as caught,
        whole(Path("/proc/tercet.csv")),
    ):
        pass  # a folder that only looks as if files could be made in it
    assert caught.value.code == 2
    assert "part" not in str(caught.value)


def write_half(path):
    with whole(path) as file:
        file.write_text("half")
        raise OSError(28, "No space left on device", "somewhere else")


def test_an_error_while_writing_is_about_the_file(tmp_path):
    with pytest.raises(Refusal, match=r"cannot write .*a\.csv: No space left"):
        write_half(tmp_path / "a.csv")
    assert os.listdir(tmp_path) == []


@posix
def test_full_disks(folder, tmp_path):
    for words in (
        ("predict", "m.skops", "a.csv"),
        ("evaluate", "m.skops", "a.csv", "--json"),
        ("fit", "LogisticRegression", "a.csv", "-t", "y", "-o", str(tmp_path / "m.skops")),
    ):
        answer = tercet(*words, "-q", cwd=folder, stdout="/dev/full")
        (line,) = answer.stderr.splitlines()
        assert "No space left on device" in line
        assert answer.returncode == 3

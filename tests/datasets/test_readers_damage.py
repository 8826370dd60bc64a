"""Damaged and forged files: a table, or one line."""

from __future__ import annotations

import bz2
import io
import os
import struct
import zipfile
from types import SimpleNamespace

import numpy as np
import pytest
from numpy.lib import format as npy
from scipy import sparse

from tercet.cli.tables import open_table
from tercet.datasets import TableError, read_table
from tercet.datasets.readers import damage, unpacking
from tercet.datasets.readers.damage import quiet_panics, refuse_damage
from tercet.datasets.readers.source_file import SourceFile
from tercet.io import is_model
from tests.fuzz import readers
from tests.systems import posix


def test_a_slice_of_the_mutation_campaign(tmp_path, capfd):
    files, ended = readers.samples(), set()
    for number in range(120):
        name, data = readers.case(number, 1, files)
        path = tmp_path / str(number) / name
        path.parent.mkdir()
        path.write_bytes(data)
        kind, said = readers.outcome(path)
        assert kind in ("table", "refused"), (number, name, said)
        ended.add(kind)
    assert ended == {"table", "refused"}
    assert capfd.readouterr().err == ""


def archive(**arrays):
    np.savez_compressed(file := io.BytesIO(), **arrays)
    return file.getvalue()


def test_damage_that_no_mutation_of_the_slice_has(read):
    broken = b"PK\x01\x02"  # of the directory
    with pytest.raises(TableError, match=r"data\.npz: damaged, or not npz: Bad magic number") as raised:
        read(archive(X=np.ones((3, 2))).replace(broken, b"PK\x01\x03"), name="data.npz")
    assert "\n" not in str(raised.value)
    np.save(file := io.BytesIO(), np.ones((3, 2)))
    with pytest.raises(TableError, match="damaged, or not npy"):
        read(file.getvalue().replace(b"(3, 2)", b"(3, 2("), name="data.npy")
    with pytest.raises(TableError, match="'²5:1' is not index:value"):
        read("1 1:0.5\n0 ²5:1\n", name="data.svm")
    table = read("1 1:0.5\n1e300 2:1\n", name="data.svm")
    assert table.frame["target"].to_list() == [1.0, 1e300]


@pytest.mark.parametrize("code", [0x110000, 0xFFFFFFFF, 0xD800])
def test_numbers_that_are_no_characters(read, code):
    words = np.array([["a", "b"], ["c", "d"]])
    words.view(np.uint32)[1, 0] = code
    np.save(file := io.BytesIO(), words)
    with pytest.raises(TableError, match=f"holds the number {hex(code)}, which is no character"):
        read(file.getvalue(), name="data.npy")
    with pytest.raises(TableError, match="array 'names' holds the number"):
        read(archive(X=np.ones((3, 2)), names=words[1]), name="data.npz")


def header(shape, descr="<f8"):
    npy.write_array_header_1_0(file := io.BytesIO(), {"descr": descr, "fortran_order": False, "shape": shape})
    return file.getvalue() + bytes(64)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (header((10**12, 10)), "array 'array' is cut off"),
        (header((2**62, 2**62)), "array 'array' is cut off"),
        (header((10**12, 3), "|S0"), "a 2-d array of numbers or strings is needed"),
        (header((-4, 2)), "a 2-d array of numbers or strings is needed"),
        (header((0, 2)), "there is no row"),
        (header((2, 2), "|O"), "holds Python objects, which are not loaded"),
    ],
)
def test_headers_are_checked_before_memory_is_taken(read, content, message):
    with pytest.raises(TableError, match=message):
        read(content, name="data.npy")
    with zipfile.ZipFile(file := io.BytesIO(), "w") as packed:
        packed.writestr("X.npy", content)
    with pytest.raises(TableError, match=message.replace("'array'", "'X'")):
        read(file.getvalue(), name="data.npz")


def test_a_sparse_matrix_of_an_absurd_shape(tmp_path):
    X = sparse.coo_array(([1.0], ([0], [0])), shape=(10**15, 2))
    sparse.save_npz(tmp_path / "tall.npz", X)
    with pytest.raises(
        TableError, match="array 'indptr' has 8000000000000008 bytes and must be read as a whole"
    ):
        read_table(tmp_path / "tall.npz")
    sparse.save_npz(tmp_path / "wide.npz", X.T)
    with pytest.raises(TableError, match="array 'data' has shape"):
        read_table(tmp_path / "wide.npz")


def test_what_unpacks_to_too_much(read, monkeypatch):
    monkeypatch.setattr(unpacking, "ALWAYS", 1 << 16)
    zeros, rows = archive(X=np.zeros((20_000, 2))), b"a,b\n" + b"1,2\n" * 50_000
    for content, name in ((zeros, "zeros.npz"), (bz2.compress(rows), "rows.csv.bz2")):
        size, most = len(content), max(1 << 16, 100 * len(content))
        with pytest.raises(
            TableError, match=f"has {size} bytes and unpacks to more than {most}.*TERCET_UNPACKED"
        ):
            read(content, name=name)
        monkeypatch.setenv("TERCET_UNPACKED", "1e6")
        assert read(content, name=name).height in (20_000, 50_000)
        monkeypatch.setenv("TERCET_UNPACKED", "much")
        with pytest.raises(TableError, match="TERCET_UNPACKED must be a number of bytes; got 'much'"):
            read(content, name=name)
        monkeypatch.delenv("TERCET_UNPACKED")


def test_what_cannot_be_in_an_archive(read):
    content = bytearray(archive(X=np.ones((30, 2))))
    entry = content.index(b"PK\x01\x02")
    packed, size = struct.unpack_from("<II", content, entry + 20)
    struct.pack_into("<I", content, entry + 24, 2000 * packed)
    with pytest.raises(
        TableError, match=f"'X.npy' cannot have {2000 * packed} bytes in {packed} packed ones"
    ):
        read(bytes(content), name="data.npz")
    struct.pack_into("<II", content, entry + 20, 10**6, size)
    with pytest.raises(TableError, match="its members together are larger than the file"):
        read(bytes(content), name="data.npz")


def test_an_array_larger_than_memory(tmp_path, monkeypatch):
    np.savez(tmp_path / "data.npz", X=np.asfortranarray(np.ones((1000, 4))))
    monkeypatch.setenv("TERCET_MEMORY", "20000")
    with pytest.raises(
        TableError, match="array 'X' has 32000 bytes and must be read as a whole; there are 20000"
    ):
        read_table(tmp_path / "data.npz")


def test_a_thread_that_panics_while_another_has_an_error(capfd, monkeypatch):
    late = iter([b"\nthread 'late' (3) panicked at src/lib.rs:3:4:\n"])
    # The thread panics while the error waits for it.
    monkeypatch.setattr(damage, "time", SimpleNamespace(sleep=lambda _: os.write(2, next(late, b""))))

    def fail():
        with quiet_panics():
            raise ValueError("the first error")

    with pytest.raises(ValueError, match="the first error"):
        fail()
    assert next(late, None) is None
    assert capfd.readouterr().err == ""


class PanicException(BaseException):
    """What polars raises when Rust code gave up."""


def test_a_panic_is_one_line_and_says_nothing_on_stderr(tmp_path, capfd):
    source = SourceFile(tmp_path / "a.parquet", "a.parquet", tmp_path)

    def panic():
        with refuse_damage(source, "Parquet"), quiet_panics():
            os.write(2, b"a warning\n")
            os.write(
                2,
                b"\nthread '<unnamed>' (12) panicked at src/lib.rs:1:2:\nout of range\nnote: run with ...\n",
            )
            raise PanicException("out of range")

    with pytest.raises(TableError, match=r"a\.parquet: damaged, or not Parquet: out of range"):
        panic()
    assert capfd.readouterr().err == "a warning\n"
    with quiet_panics():
        os.write(2, b"a warning\n")
    assert capfd.readouterr().err == "a warning\n"
    with pytest.raises(KeyboardInterrupt), refuse_damage(source, "Parquet"):
        raise KeyboardInterrupt
    with pytest.raises(KeyError), refuse_damage(source, "CSV"):  # a fault of ours
        raise KeyError("column")


@posix
def test_a_pipe_is_not_waited_for(tmp_path):
    os.mkfifo(tmp_path / "pipe.npz")
    assert not is_model(tmp_path / "pipe.npz")
    for place in (tmp_path / "pipe.npz", "/dev/zero"):
        with pytest.raises(TableError, match="not an ordinary file"):
            open_table(str(place))

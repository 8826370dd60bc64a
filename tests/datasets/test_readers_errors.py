"""Files that are no tables, and what is said about them."""

from __future__ import annotations

import ast
import json
import os
import pickle
import socket
import string
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from scipy import sparse

import tercet
from tercet.datasets import TableError, read_table
from tercet.datasets.readers.reading_notes import NOTE_TEMPLATES
from tests.systems import posix


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "data.csv: the file is empty"),
        (b" \n\n \r\n", "nothing in the file but white space"),
        (b"a,b\n", "a header but no row"),
        (
            b"a,b,c\n1,2,3\n4,5\n",
            "line 3 has 2 fields where 3 are expected.*--ragged skip leaves such lines out",
        ),
        (b'a,b,c\n1,"x\ny",3\n4,5,6,7\n', "line 4 has 4 fields where 3 are expected"),
        (b"a,b\n1,\xff\xff\n", r"byte 0xff at offset 6 \(line 2\)"),
        ("a,b\n1,这是一段中文文字啊\n".encode() + b"2,\xe4\xb8\n", r"byte 0xe4 at offset 36 \(line 3\)"),
        (b"a,b\n1,\x00\n", "binary data, not a table"),
        (b"\x93\xa1\xfe\x81" + bytes(1000) + bytes(range(256)) * 4, "binary data, not a table|neither UTF-8"),
        (b"a,b\n1\r1,2\n3,4\n", "not a regular table: new-line character seen in unquoted field"),
        (b'a,b\n"x,1\ny,2\n', "the quote opened in line 2 is never closed"),
        (b"\xff\xfea\x00,\x00b\x00\n\x001\x00,", "offset 12"),
        (b"\x1f\x8b\x08broken", "cannot be unpacked"),
        (b"\x89HDF\r\n\x1a\n", "an HDF5 file, which is not read here"),
    ],
)
def test_what_cannot_be_read(read, content, message):
    with pytest.raises(TableError, match=message) as raised:
        read(content)
    assert "\n" not in str(raised.value)
    assert str(pickle.loads(pickle.dumps(raised.value))) == str(raised.value)


def test_what_is_no_file(tmp_path):
    (tmp_path / "iris.csv").write_text("a,b\n1,2\n")
    with pytest.raises(TableError, match=r"iris\.cvs: no such file; near it: iris\.csv"):
        read_table(tmp_path / "iris.cvs")
    with pytest.raises(TableError, match="no such file"):
        read_table(tmp_path / "nowhere" / "iris.csv")
    with pytest.raises(TableError, match="a folder, not a file"):
        read_table(tmp_path)
    with pytest.raises(ValueError, match="rows must be at least 1"):
        read_table(tmp_path / "iris.csv", rows=0)


@posix
def test_pipes_and_sockets(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(TableError, match="not an ordinary file"):
        read_table(tmp_path / "pipe")
    with socket.socket(socket.AF_UNIX) as server:
        here = Path.cwd()
        os.chdir(tmp_path)  # a socket's path must be short
        try:
            server.bind("socket")
        finally:
            os.chdir(here)
    with pytest.raises(TableError, match="not an ordinary file"):
        read_table(tmp_path / "socket")


def test_a_file_without_permission(tmp_path, monkeypatch):
    file = tmp_path / "a.csv"
    file.write_text("a,b\n1,2\n")

    def refuse(*_, **__):
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr("tercet.datasets.readers.source_file.first_bytes", refuse)  # root may read everything
    with pytest.raises(TableError, match=r"a\.csv: cannot be read: Permission denied"):
        read_table(file)


def test_import_is_light():
    code = "import sys, tercet.datasets as d; d.TableError; print('polars' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "False"


def test_without_polars():
    code = "import sys; sys.modules['polars'] = None\nfrom tercet.datasets import read_table\nread_table('x.csv')"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert 'Reading tables needs polars, which is not installed: pip install "tercet[cli]".' in done.stderr


def test_every_note_has_its_chinese():
    folder = Path(tercet.__file__).parent
    words = json.loads((folder / "cli" / "zh" / "readers.json").read_text(encoding="utf-8"))
    templates = set()
    for file in (folder / "datasets" / "readers").glob("*.py"):
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
            name = node.func if isinstance(node, ast.Call) else None
            name = getattr(name, "id", getattr(name, "attr", None))
            if name in ("Message", "error", "TableError") and isinstance(node.args[0], ast.Constant):
                templates.add(node.args[0].value)
    templates |= {*NOTE_TEMPLATES.values(), "number", "date", "time of day"}
    assert len(templates) > 70
    assert templates - set(words) == set()
    fields = lambda text: sorted(piece[1:3] for piece in string.Formatter().parse(text) if piece[1])  # noqa: E731
    for english, chinese in words.items():
        assert fields(english) == fields(chinese)


@pytest.mark.parametrize("kind", ["csr", "csc", "coo", "bsr"])
def test_a_sparse_table_whose_indices_point_outside_of_it(tmp_path, kind):
    X = sparse.random_array((6, 4), density=0.5, format=kind, rng=np.random.default_rng(0))
    where = X.coords[1] if kind == "coo" else X.indices
    where[0] = 10**6
    sparse.save_npz(tmp_path / "forged.npz", X)
    with pytest.raises(TableError, match="1000000"):
        read_table(tmp_path / "forged.npz")

"""Campaign of damaged and forged model files: `python -m tests.fuzz --oracle model_files`."""

import hashlib
import io
import json
import os
import tempfile
import zipfile
from typing import Any

import numpy as np

from tercet.io import ABOUT, MANIFEST, SCHEMA, load_model, save_model
from tests.fuzz.answers import check_answers
from tests.fuzz.oracles import MEMORY, calm, fit, note, oracle
from tests.fuzz.verdicts import Failure, Refused, judged


@oracle
def model_files(card: Any, rng: np.random.Generator) -> None:
    """A model file with other bytes in it: `load_model` refuses it, or the model answers or refuses as any other.

    Applies to every estimator. Most files are forged: the manifest has the right sums of the changed members.
    """
    parameters, X, y = calm(card, rng, tight=False, rows=(12, 24))
    model, _ = fit(card, parameters, X, y)
    with tempfile.TemporaryDirectory(dir=MEMORY) as folder:
        path = os.path.join(folder, "model.skops")
        with judged():
            save_model(path, model, {})
        with open(path, "rb") as file:
            blob = file.read()
        changed = forged(blob, rng) if rng.random() < 0.7 else damaged(blob, rng)
        with open(path, "wb") as file:
            file.write(changed)
        with judged():
            again, _ = load_model(path)
    try:
        if hasattr(again, "fit"):
            check_answers_loosely(again, X)
    except Refused:
        return


def check_answers_loosely(model: Any, X: Any) -> None:
    """Ask as `check_answers` does; a forged coefficient may be NaN or negative, and NumPy may warn of what comes of
    it."""
    try:
        check_answers(model, X, None)
    except Failure as found:
        if found.kind not in ("not finite", "probabilities", "RuntimeWarning"):
            raise


def damaged(blob: bytes, rng: np.random.Generator) -> bytes:
    """Bytes that were flipped, cut off, doubled or put in."""
    data = bytearray(blob)
    kind = rng.integers(4)
    at = int(rng.integers(len(data)))
    if kind == 0:
        for _ in range(int(rng.integers(1, 9))):
            data[int(rng.integers(len(data)))] = int(rng.integers(256))
    elif kind == 1:
        del data[at:]
    elif kind == 2:
        data[at:at] = bytes(rng.integers(256, size=int(rng.integers(1, 50)), dtype=np.uint8))
    else:
        data[at : at + 20] = data[-20:]
    return bytes(data)


def forged(blob: bytes, rng: np.random.Generator) -> bytes:
    """A member changed, and the manifest with it."""
    with zipfile.ZipFile(io.BytesIO(blob)) as archive:
        members = {name: archive.read(name) for name in archive.namelist() if name != MANIFEST}
        manifest = json.loads(archive.read(MANIFEST))
    arrays = [name for name in members if name.endswith(".npy")]
    if arrays and rng.random() < 0.6:
        name = arrays[rng.integers(len(arrays))]
        members[name] = _other_array(members[name], rng)
    else:
        members[SCHEMA] = _other_schema(members[SCHEMA], rng)
    if rng.random() < 0.05:
        members[ABOUT] = b"[]"
    note(
        forged=[
            name
            for name in members
            if hashlib.sha256(members[name]).hexdigest() != manifest["members"][name][1]
        ]
    )
    manifest["members"] = {name: [len(d), hashlib.sha256(d).hexdigest()] for name, d in members.items()}
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as archive:
        for name, data in {MANIFEST: json.dumps(manifest).encode(), **members}.items():
            archive.writestr(name, data)
    return file.getvalue()


def _other_array(data: bytes, rng: np.random.Generator) -> bytes:
    """An array of other numbers, another shape or another dtype."""
    array = np.load(io.BytesIO(data), allow_pickle=False)
    kind = rng.integers(9)
    if kind == 0:
        array = array[:-1] if array.ndim and len(array) else np.zeros(3)
    elif kind == 1:
        array = np.concatenate([array, array]) if array.ndim else array.reshape(1)
    elif kind == 2 and array.ndim:
        array = array[..., :-1]
    elif kind == 3:
        array = array.astype(
            np.float32 if array.dtype.kind == "f" else np.float64 if array.dtype.kind in "iu" else "U9"
        )
    elif kind == 4 and array.dtype.kind in "iuf" and array.size:
        array = array.copy()
        value = (-1, 2**30, 0, -(2**31)) if array.dtype.kind != "u" else (255, 0, 7, 100)
        array.flat[int(rng.integers(array.size))] = np.array(value[rng.integers(4)]).astype(array.dtype)
    elif kind == 5 and array.dtype.kind == "f" and array.size:
        array = array.copy()
        array.flat[int(rng.integers(array.size))] = (np.nan, np.inf, 1e300, -1.0)[rng.integers(4)]
    elif kind == 6:
        array = array.reshape(-1)
    elif kind == 7:
        array = np.zeros((0, *array.shape[1:]), dtype=array.dtype)
    else:
        array = array[None]
    file = io.BytesIO()
    np.save(file, array, allow_pickle=False)
    return file.getvalue()


def _other_schema(data: bytes, rng: np.random.Generator) -> bytes:
    """A value of the JSON exchanged for another, or left out."""
    schema = json.loads(data)
    places: list[tuple[Any, Any]] = []

    def walk(node: Any) -> None:
        for key, value in node.items() if isinstance(node, dict) else enumerate(node):
            places.append((node, key))
            if isinstance(value, dict | list):
                walk(value)

    walk(schema)
    node, key = places[rng.integers(len(places))]
    other, other_key = places[rng.integers(len(places))]
    kind = rng.integers(4)
    if kind == 0:
        node[key] = (None, 0, -1, "", "x", [], {}, 1e999, True, "5", "-1", "null", "1e400")[rng.integers(13)]
    elif kind == 1 and isinstance(node, dict):
        del node[key]
    elif kind == 2:
        node[key] = json.loads(json.dumps(other[other_key]))
    elif isinstance(node[key], str):
        node[key] = node[key][::-1]
    return json.dumps(schema).encode()

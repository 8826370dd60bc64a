"""Model files: a fitted model and what is known about it, in a file that is safe to open.

A model file is a skops file (a zip of JSON and arrays, no pickle anywhere) with two more members:
`about.json`, plain values that the saver gave, and `tercet.json`, which names the format, the versions it was
saved with, and the size and SHA-256 of every member. Loading builds nothing before the file is found whole and
every type in it is one of ours; it never falls back to unpickling. What kernels rely on in a model's attributes
is checked when it is rebuilt (`core.fitted_checks`).
"""

from __future__ import annotations

import hashlib
import importlib
import io
import json
import os
import struct
import warnings
import zipfile
import zlib
from pathlib import Path
from typing import Any, NoReturn

from tercet.core.atomic_files import replacing
from tercet.core.catalog import methods
from tercet.core.lazy import optional_module
from tercet.core.messages import Message
from tercet.core.public_names import public_module

FORMAT, VERSION = "tercet model", 1
MANIFEST, ABOUT, SCHEMA = "tercet.json", "about.json", "schema.json"

PARTS = [  # what a model file may hold beside estimators of the catalogue
    "sklearn.pipeline.Pipeline",
    "sklearn.preprocessing._label.LabelBinarizer",
    "sklearn.preprocessing._label.LabelEncoder",
    "sklearn.utils._bunch.Bunch",
    "tercet.feature.TableEncoder",
    "tercet.core.ConstantClassifier",
    "tercet.metric_learning.MahalanobisMetric",
    "tercet.neural_network.ThresholdNetwork",
    "tercet.rl.Schedule",
    "tercet.tree.Tree",
    *(
        f"tercet.kernels.{name}"
        for name in (
            "Linear", "Polynomial", "Homogeneous", "Gaussian", "GaussianSeries", "Laplacian", "Sigmoid",
            "Precomputed", "Subsequence", "Edit", "DNA", "Sum", "Product", "Power", "Scaled",
        )
    ),
]  # fmt: skip
# skops itself trusts every estimator and ufunc of scikit-learn, SciPy and NumPy: more than our models need.
BUILTINS = {
    "DictNode": ["builtins.dict", "collections.OrderedDict", "sklearn.utils._bunch.Bunch"],
    "ListNode": ["builtins.list"],
    "TupleNode": ["builtins.tuple"],
    "SetNode": ["builtins.set"],
    "SliceNode": ["builtins.slice"],
    "JsonNode": ["builtins.str"],
    "TypeNode": [f"builtins.{name}" for name in ("str", "int", "float", "bool")],
    "SparseMatrixNode": [
        f"scipy.sparse._{k}.{k}_{kind}" for k in ("csr", "csc") for kind in ("array", "matrix")
    ],
    "RandomStateNode": ["numpy.random.mtrand.RandomState"],
    "RandomGeneratorNode": ["numpy.random._generator.Generator"],
}
# Arrays are stored as they are, so that a file's size bounds the memory it takes; only JSON is deflated.
SLACK, STRETCH = 64 * 2**20, 100


EXPORTS = ("export_json", "export_onnx", "export_python")  # of `tercet.export`, to be found here as well


def __getattr__(name: str) -> Any:
    if name in EXPORTS:
        return getattr(importlib.import_module("tercet.export"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


class ModelError(ValueError):
    """A model file that cannot be written, or that is not to be trusted.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     file = Path(folder, "model.skops")
    ...     _ = file.write_text("words")
    ...     try:
    ...         load_model(file)
    ...     except ModelError as error:
    ...         print("model.skops" in str(error))
    True
    """


class ModelWarning(UserWarning):
    """A model file that other versions have written.

    Examples
    --------
    Whoever wants no files of other versions makes it an error:

    >>> import warnings
    >>> with warnings.catch_warnings():
    ...     warnings.simplefilter("error", ModelWarning)
    ...     try:
    ...         warnings.warn("written by scikit-learn 1.8", ModelWarning, stacklevel=1)
    ...     except ModelWarning as warning:
    ...         print(warning)
    written by scikit-learn 1.8
    """


def trusted_types() -> list[str]:
    """The names of all estimators here, for `skops.io.load(file, trusted=trusted_types())`.

    A fitted model holds nothing else of ours: its attributes are numbers, strings, arrays and containers. Sparse
    matrices are listed, too. Each class is listed by its public path, which model files have, and by that of its
    file, which skops itself writes.

    Examples
    --------
    >>> "tercet.linear_model.Perceptron" in trusted_types()
    True
    """
    public = [*PARTS, *(f"{card.module}.{card.name}" for card in methods() if card.learns)]
    kinds = [_load(path) for path in public]
    files = (f"{kind.__module__}.{kind.__qualname__}" for kind in kinds)
    return sorted({*public, *files, *BUILTINS["SparseMatrixNode"]})


def new_instance(module: str, name: str, *arguments: Any) -> Any:
    """An empty instance of a public class; pickles of our objects begin with it.

    Examples
    --------
    >>> new_instance("tercet.tree", "Tree")
    <tercet.tree.tree.Tree object at 0x...>
    """
    kind = getattr(importlib.import_module(module), name)
    return kind.__new__(kind, *arguments)


def save_model(path: str | os.PathLike[str], model: Any, about: dict[str, Any]) -> None:
    """Write a fitted model and plain JSON values about it; the file appears whole or not at all.

    Examples
    --------
    >>> import tempfile
    >>> from tercet.linear_model import Perceptron
    >>> model = Perceptron().fit([[3, 3], [4, 3], [1, 1]], [1, 1, -1])
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     save_model(f"{folder}/line.skops", model, {"target": "side"})
    ...     again, about = load_model(f"{folder}/line.skops")
    >>> again.predict([[0, 0]]), about
    (array([-1]), {'target': 'side'})
    """
    skops_io = optional_module("skops.io", "Model files need", "cli")

    try:
        with zipfile.ZipFile(io.BytesIO(skops_io.dumps(model))) as dumped:
            members = {name: dumped.read(name) for name in dumped.namelist()}
    except Exception as error:
        _refuse("{model} cannot be saved: {reason}", model=type(model).__name__, reason=_line(error))
    schema = json.loads(members[SCHEMA])
    _name_public_paths(schema)
    members[SCHEMA] = json.dumps(schema, indent=2).encode()
    strange = _untrusted(schema)
    if strange:  # rather now than when the file is needed
        _refuse(
            "{model} cannot be saved: it holds {names}", model=type(model).__name__, names=", ".join(strange)
        )
    members[ABOUT] = json.dumps(about, ensure_ascii=False, indent=1).encode()
    manifest = {
        "format": FORMAT,
        "version": VERSION,
        "saved_with": _versions(),
        "members": {name: [len(data), hashlib.sha256(data).hexdigest()] for name, data in members.items()},
    }
    text = json.dumps(manifest, indent=1).encode()
    with replacing(path) as file, zipfile.ZipFile(file, "w") as archive:
        for name, data in {MANIFEST: text, **members}.items():
            deflate = name.endswith(".json")
            archive.writestr(name, data, zipfile.ZIP_DEFLATED if deflate else zipfile.ZIP_STORED)


def load_model(path: str | os.PathLike[str]) -> tuple[Any, dict[str, Any]]:
    """The model in a file and what was saved about it.

    Warns with `ModelWarning` when other versions wrote the file.

    Raises
    ------
    ModelError
        When the file is not a model of ours, is damaged or changed, holds a type that is not trusted, or
        attributes that do not fit together.

    Examples
    --------
    >>> import tempfile
    >>> from tercet.linear_model import Perceptron
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     save_model(f"{folder}/line.skops", Perceptron().fit([[3, 3], [1, 1]], [1, -1]), {})
    ...     model, about = load_model(f"{folder}/line.skops")
    >>> model.predict([[4, 3]]), about
    (array([1]), {})
    """
    name = os.fspath(path)
    blob = _read(Path(path))
    manifest, members = _open(name, blob)
    try:
        schema, about = json.loads(members[SCHEMA]), json.loads(members[ABOUT])
        strange = _untrusted(schema)
    except (KeyError, TypeError, ValueError, RecursionError) as error:
        _refuse("{file} is damaged: {reason}", file=name, reason=_line(error))
    if strange:
        _refuse("{file} holds what Tercet does not trust: {names}", file=name, names=", ".join(strange))
    # Only a file that has come so far is worth the time that scikit-learn takes to import.
    skops_io = optional_module("skops.io", "Model files need", "cli")
    from sklearn.exceptions import InconsistentVersionWarning

    then, now = manifest.get("saved_with", {}), _versions()
    try:
        unknown = skops_io.get_untrusted_types(data=blob)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", InconsistentVersionWarning)  # said below, for all packages
            # `unknown` is a part of what was found trusted above, by a stricter rule than skops'.
            model = skops_io.loads(
                blob, trusted=unknown
            )  # estimators check their attributes (`__setstate__`)
            _check_parameters(model)
    except (Exception, RecursionError) as error:
        _refuse(
            "{file} cannot be rebuilt ({reason}); saved with tercet {then}, this is {now}",
            file=name,
            reason=_line(error),
            then=then.get("tercet", "?"),
            now=now["tercet"],
        )
    differ = [package for package in now if _release(then.get(package)) != _release(now[package])]
    if differ:
        note = Message(
            "{file} was saved with {then}; this is {now}",
            file=name,
            then=", ".join(f"{package} {then.get(package)}" for package in differ),
            now=", ".join(f"{package} {now[package]}" for package in differ),
        )
        warnings.warn(note, ModelWarning, stacklevel=2)
    return model, about


def _check_parameters(model: Any) -> None:
    """Refuse parameters that no `fit` would have let pass, in any part of a model."""
    from tercet.core.parameters import check_parameters

    seen, parts = set(), [model]
    while parts:
        part = parts.pop()
        if isinstance(part, list | tuple):
            parts += part
        elif isinstance(part, dict):
            parts += part.values()
        elif hasattr(part, "get_params") and id(part) not in seen:
            seen.add(id(part))
            parts += vars(part).values()
            if type(part).__module__.startswith("tercet."):
                check_parameters(part, saved=True)


def is_model(path: str | os.PathLike[str]) -> bool:
    """Whether a file says that it is a model file; it need not be a good one.

    Examples
    --------
    >>> is_model("there is no such file")
    False
    """
    try:
        if not os.path.isfile(path):  # a pipe would be waited for
            return False
        with zipfile.ZipFile(path) as archive:
            return MANIFEST in archive.namelist()
    except (OSError, ValueError, OverflowError, NotImplementedError, struct.error, zipfile.BadZipFile):
        return False


def _read(path: Path) -> bytes:
    """The bytes of what looks like a model file."""
    if not path.exists():
        _refuse("{file}: there is no such file", file=path)
    if not path.is_file():
        _refuse("{file} is not a file", file=path)
    with open(path, "rb") as file:
        start = file.read(4)
        if start[:2] == b"PK":
            return start + file.read()
    if not start:
        _refuse("{file} is empty, not a Tercet model", file=path)
    deflated = start[0] == 0x78 and int.from_bytes(start[:2], "big") % 31 == 0  # how joblib compresses
    named = path.suffix.lower() in (".pkl", ".pickle", ".joblib")
    if (start[0] == 0x80 and start[1:2] <= b"\x05") or deflated or named:
        _refuse("{file} is a pickle file; Tercet never unpickles", file=path)
    _refuse("{file} is not a Tercet model", file=path)


def _open(name: str, blob: bytes) -> tuple[dict[str, Any], dict[str, bytes]]:
    """The manifest and all members of a model file that is whole and unchanged."""
    try:
        with zipfile.ZipFile(io.BytesIO(blob)) as archive:
            entries = {entry.filename: entry for entry in archive.infolist()}
            if MANIFEST not in entries:
                if SCHEMA in entries:
                    _refuse("{file} is a skops file that Tercet did not save", file=name)
                _refuse("{file} is a zip file, not a Tercet model", file=name)
            room = SLACK + STRETCH * len(blob)
            if sum(entry.file_size for entry in archive.infolist()) > room:
                _refuse("{file} would unpack to an absurd size", file=name)
            manifest = json.loads(archive.read(MANIFEST))
            if not isinstance(manifest, dict) or manifest.get("format") != FORMAT:
                _refuse("{file} is a zip file, not a Tercet model", file=name)
            version, listed = manifest.get("version"), manifest.get("members")
            listed = listed if isinstance(listed, dict) else {}
            if isinstance(version, int) and version > VERSION:
                _refuse(
                    "{file} has format {version}, newer than this Tercet reads ({known}); upgrade Tercet",
                    file=name,
                    version=version,
                    known=VERSION,
                )
            whole = {*listed, MANIFEST} == {*entries} and version == VERSION
            if not whole or len(entries) != len(archive.infolist()) or not {SCHEMA, ABOUT} <= {*entries}:
                _refuse("{file} was changed after it was saved", file=name)
            members = {member: archive.read(member) for member in listed}
    except (zipfile.BadZipFile, zlib.error, EOFError, OSError, RuntimeError) as error:
        _refuse("{file} is cut short or damaged: {reason}", file=name, reason=_line(error))
    except ModelError:
        raise
    except ValueError as error:
        _refuse("{file} is damaged: {reason}", file=name, reason=_line(error))
    for member, data in members.items():
        if listed[member] != [len(data), hashlib.sha256(data).hexdigest()]:
            _refuse("{file} was changed after it was saved (in {member})", file=name, member=member)
        if member.endswith(".npz"):
            if _unpacked(data) > room:
                _refuse("{file} would unpack to an absurd size", file=name)
            _check_sparse(name, data)
    return manifest, members


def _unpacked(data: bytes) -> int:
    """The size of a sparse matrix, which SciPy keeps in a zip of its own."""
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            return sum(entry.file_size for entry in archive.infolist())
    except zipfile.BadZipFile:
        return 0


def _check_sparse(name: str, data: bytes) -> None:
    """Refuse a sparse matrix whose indices lead out of it: products with it would read what is not its own."""
    from scipy import sparse

    try:
        matrix = sparse.load_npz(io.BytesIO(data))
        if matrix.format not in ("csr", "csc"):
            _refuse("{file} is damaged: {reason}", file=name, reason=f"a {matrix.format} matrix")
        matrix.check_format(full_check=True)
    except ModelError:
        raise
    except Exception as error:
        _refuse("{file} is damaged: {reason}", file=name, reason=_line(error))


def _untrusted(schema: Any) -> list[str]:
    """The types that a skops schema names and that no model of ours has.

    Looks at every node in the JSON, whether skops would reach it or not, and imports nothing that the
    catalogue does not name.
    """
    import numpy as np

    numbers = {f"{kind.__module__}.{kind.__name__}" for kind in np.sctypeDict.values()} - {"numpy.object_"}
    allowed = {loader: set(names) for loader, names in BUILTINS.items()}
    allowed["TypeNode"] |= numbers
    allowed["NdArrayNode"] = {"numpy.ndarray", *numbers}
    strange, seen, nodes = set(), set(), [schema]
    while nodes:
        node = nodes.pop()
        if isinstance(node, list):
            nodes += node
        elif isinstance(node, dict):
            nodes += node.values()
            if "__loader__" not in node and "__class__" not in node:
                continue
            loader, name = str(node.get("__loader__")), f"{node.get('__module__')}.{node.get('__class__')}"
            if (loader, name) in seen:
                continue
            seen.add((loader, name))
            if name not in allowed.get(loader, ()) and not (loader == "ObjectNode" and _ours(name)):
                strange.add(name)
    return sorted(strange)


def _ours(name: str) -> bool:
    """Whether a full name is the public path of an estimator in the catalogue, or of a part that models have."""
    return name in PARTS or any(name == f"{card.module}.{card.name}" for card in methods() if card.learns)


def _name_public_paths(schema: Any) -> None:
    """Replace the files of our classes by their public paths, in every node of a skops schema."""
    nodes = [schema]
    while nodes:
        node = nodes.pop()
        if isinstance(node, list):
            nodes += node
        elif isinstance(node, dict):
            nodes += node.values()
            module, name = node.get("__module__"), node.get("__class__")
            if isinstance(module, str) and module.startswith("tercet.") and isinstance(name, str):
                node["__module__"] = public_module(getattr(importlib.import_module(module), name))


def _load(path: str) -> type:
    module, _, name = path.rpartition(".")
    return getattr(importlib.import_module(module), name)


def _versions() -> dict[str, str]:
    import numpy
    import sklearn

    from tercet import __version__

    return {"tercet": __version__, "scikit-learn": sklearn.__version__, "numpy": numpy.__version__}


def _release(version: Any) -> list[str]:
    """What counts of a version: 1.9 of 1.9.1."""
    return str(version).split(".")[:2]


def _line(error: BaseException) -> str:
    return " ".join(str(error).split())[:200] or type(error).__name__


def _refuse(template: str, **values: Any) -> NoReturn:
    raise ModelError(Message(template, **{name: str(value) for name, value in values.items()}))

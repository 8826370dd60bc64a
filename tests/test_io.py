"""Model files: what was saved comes back, and nothing else is let in."""

import bz2
import hashlib
import io
import json
import os
import pickle
import subprocess
import sys
import warnings
import zipfile
import zlib

import joblib
import numpy as np
import pytest
import skops.io
from scipy import sparse
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import SGDClassifier
from sklearn.pipeline import make_pipeline

from tercet import io as persistence
from tercet.io import ModelError, ModelWarning, load_model, save_model
from tercet.linear_model import LogisticRegression, Perceptron, Ridge
from tercet.mixture import CategoricalMixture
from tercet.multiclass import OneVsRestClassifier
from tercet.naive_bayes import GaussianNB
from tercet.neighbors import KNeighborsClassifier
from tercet.sequence import MEMM

rng = np.random.default_rng(0)
X = rng.normal(size=(40, 3))
Y = np.where(X[:, 0] + 0.3 * X[:, 1] > 0, "好", "坏")
ABOUT = {"target": "好瓜", "classes": ["好", "坏"], "n": 3, "score": 0.5, "none": None}


@pytest.fixture
def file(tmp_path):
    path = tmp_path / "model.skops"
    save_model(path, LogisticRegression().fit(X, Y), ABOUT)
    return path


def members(path):
    with zipfile.ZipFile(path) as archive:
        return {name: archive.read(name) for name in archive.namelist()}


def rewrite(path, change, *, seal=True):
    """Change the members of a model file; sealed, its digests are made true again, as an attacker would."""
    parts = members(path)
    change(parts)
    if seal:
        manifest = json.loads(parts["tercet.json"])
        manifest["members"] = {
            name: [len(data), hashlib.sha256(data).hexdigest()]
            for name, data in parts.items()
            if name != "tercet.json"
        }
        parts["tercet.json"] = json.dumps(manifest).encode()
    with zipfile.ZipFile(path, "w") as archive:
        for name, data in parts.items():
            archive.writestr(name, data)


def edit(member, **values):
    def change(parts):
        parts[member] = json.dumps({**json.loads(parts[member]), **values}).encode()

    return change


def refusal(path):
    with pytest.raises(ModelError) as caught:
        load_model(path)
    message = str(caught.value)
    assert "\n" not in message
    assert str(path) in message
    assert caught.value.args[0].template  # can be said in another language
    return message


@pytest.mark.parametrize(
    "model",
    [
        LogisticRegression(),
        Perceptron(),
        OneVsRestClassifier(LogisticRegression(C=2.0)),
        make_pipeline(Perceptron()),
    ],
    ids=str,
)
def test_round_trip(model, tmp_path):
    model.fit(X, Y)
    save_model(tmp_path / "m.skops", model, ABOUT)
    with warnings.catch_warnings():
        warnings.simplefilter("error")  # the same versions: nothing to say
        again, about = load_model(tmp_path / "m.skops")
    assert about == ABOUT
    assert type(again) is type(model)
    assert np.array_equal(again.predict(X), model.predict(X))
    assert os.listdir(tmp_path) == ["m.skops"]


@pytest.mark.parametrize("forged", [[7, 1, 2], [-1, 1, 2]])
def test_sparse_parts_whose_indices_lead_out_of_them(tmp_path, forged):
    model, path = Ridge().fit(X, X[:, 0]), tmp_path / "m.skops"
    model.kept_ = sparse.csr_array(np.eye(3))
    save_model(path, model, {})

    def lead_out(parts):
        (name,) = [name for name in parts if name.endswith(".npz")]
        matrix = sparse.csr_array(np.eye(3))
        matrix.indices = np.array(forged, dtype=np.int32)
        sparse.save_npz(new := io.BytesIO(), matrix)
        parts[name] = new.getvalue()

    rewrite(path, lead_out)
    assert "is damaged" in refusal(path)


@pytest.mark.parametrize(
    ("model", "attribute", "value"),
    [
        (CategoricalMixture(), "probs_", [np.full((50, 40), 0.02)] * 3),
        (MEMM(), "state_pairs_", np.full((3, 2), 10**6)),
        (MEMM(), "transition_weights_", np.full(9, np.nan)),
        (LogisticRegression(), "coef_", np.ones((1, 6))),
        (KNeighborsClassifier(), "_y", np.full(40, -1)),
        (OneVsRestClassifier(Perceptron()), "estimators_", []),
    ],
    ids=lambda value: value if isinstance(value, str) else type(value).__name__,
)
def test_attributes_that_do_not_fit_together(tmp_path, model, attribute, value):
    path = tmp_path / "m.skops"
    model.fit(X, Y)
    setattr(model, attribute, value)
    save_model(path, model, {})
    assert f"{type(model).__name__}: {attribute} is" in refusal(path)
    assert "; expected is " in refusal(path)
    with pytest.raises(ValueError, match=f"{type(model).__name__}: {attribute} is .*; expected is "):
        pickle.loads(pickle.dumps(model))


def test_a_mixture_of_50_weights(tmp_path):
    path = tmp_path / "m.skops"
    model = CategoricalMixture(2, random_state=0).fit(X, Y)
    model.weights_ = np.full(50, 0.02)
    save_model(path, model, {})
    said = "CategoricalMixture: probs_ is a list of 3; expected is in item 0 an array of shape (components, values)"
    assert said in refusal(path)


def test_a_part_that_does_not_fit(tmp_path):
    path = tmp_path / "m.skops"
    model = make_pipeline(OneVsRestClassifier(LogisticRegression())).fit(X, Y)
    model[-1].estimators_[0].coef_ = np.ones((1, 4))
    save_model(path, model, {})
    assert "LogisticRegression: coef_ is an array of shape (1, 4)" in refusal(path)


def test_parameters_that_no_fit_would_let_pass(tmp_path):
    path = tmp_path / "m.skops"
    model = make_pipeline(KNeighborsClassifier()).fit(X, Y)
    model[-1].leaf_size = -3
    save_model(path, model, {})
    assert "KNeighborsClassifier: parameter 'leaf_size' must be" in refusal(path)
    del model[-1].leaf_size  # as in a file of a version that did not have it
    save_model(path, model, {})
    load_model(path)


def test_sparse_parts_and_generators_are_saved(tmp_path):
    model = Ridge(random_state=np.random.default_rng(3)).fit(X, X[:, 0])
    model.kept_ = sparse.csr_array(np.eye(3))
    save_model(tmp_path / "m.skops", model, {})
    again, _ = load_model(tmp_path / "m.skops")
    assert np.array_equal(again.kept_.toarray(), np.eye(3))
    assert again.random_state.random() == np.random.default_rng(3).random()


def test_the_file_is_a_skops_file_with_our_members(file):
    assert {"tercet.json", "about.json", "schema.json"} < set(members(file))
    assert isinstance(
        skops.io.load(file, trusted=skops.io.get_untrusted_types(file=file)), LogisticRegression
    )


def test_what_could_not_be_loaded_is_not_saved(tmp_path):
    path = tmp_path / "m.skops"
    strange = LogisticRegression().fit(X, Y)
    strange.helper_ = SGDClassifier()  # skops would trust it
    with pytest.raises(ModelError, match=r"holds sklearn.linear_model._stochastic_gradient.SGDClassifier"):
        save_model(path, strange, {})
    strange.helper_ = print
    with pytest.raises(ModelError, match="LogisticRegression cannot be saved"):
        save_model(path, strange, {})
    strange.helper_ = (k for k in range(3))
    with pytest.raises(ModelError, match="LogisticRegression cannot be saved"):
        save_model(path, strange, {})
    assert os.listdir(tmp_path) == []


def test_not_model_files(tmp_path):
    assert "no such file" in refusal(tmp_path / "none.skops")
    assert "is not a file" in refusal(tmp_path)
    path = tmp_path / "m.skops"
    path.write_bytes(b"")
    assert "is empty" in refusal(path)
    path.write_text("a,b\n1,2\n")
    assert refusal(path).endswith("is not a Tercet model")
    np.savez(tmp_path / "m.npz", a=X)
    assert "is a zip file, not a Tercet model" in refusal(tmp_path / "m.npz")
    skops.io.dump(Perceptron().fit(X, Y), path)
    assert "is a skops file that Tercet did not save" in refusal(path)


class Trap:
    def __init__(self, marker):
        self.marker = str(marker)

    def __reduce__(self):
        return os.system, (f"touch '{self.marker}'",)


def test_a_pickle_is_named_and_never_opened(tmp_path):
    marker, path = tmp_path / "marker", tmp_path / "m.skops"
    blobs = [pickle.dumps(Trap(marker), protocol) for protocol in (2, 3, 4, 5)]
    blobs.append(zlib.compress(blobs[-1]))
    for blob in blobs:
        path.write_bytes(blob)
        assert refusal(path).endswith("is a pickle file; Tercet never unpickles")
    joblib.dump(Trap(marker), tmp_path / "m.joblib", compress=("bz2", 3))
    assert "is a pickle file" in refusal(tmp_path / "m.joblib")
    for blob in (pickle.dumps(Trap(marker), 0), bz2.compress(blobs[0])):
        path.write_bytes(blob)
        assert "is not a Tercet model" in refusal(path)
    assert not marker.exists()


def test_cut_short_or_damaged(file):
    whole = file.read_bytes()
    for size in (3, 30, len(whole) // 2, len(whole) - 1):
        file.write_bytes(whole[:size])
        assert "cut short or damaged" in refusal(file)
    with zipfile.ZipFile(io.BytesIO(whole)) as archive:
        entries = archive.infolist()
    for entry in entries:
        broken = bytearray(whole)
        place = entry.header_offset + 30 + len(entry.filename) + entry.compress_size // 2
        broken[place] ^= 0xFF
        file.write_bytes(broken)
        refusal(file)


@pytest.mark.parametrize("start", range(0, 400, 100))
def test_any_flipped_byte_is_refused_or_harmless(file, start):
    """No byte of the file can be changed to other predictions, or to an error that is not ours."""
    whole = file.read_bytes()
    expected = load_model(file)[0].predict_proba(X)
    for place in range(start, len(whole), 400):
        broken = bytearray(whole)
        broken[place] ^= 0x55
        file.write_bytes(broken)
        try:
            model, about = load_model(file)
        except ModelError:
            continue
        assert about == ABOUT
        assert np.array_equal(model.predict_proba(X), expected)


def test_changed_members(file):
    def replace_array(parts):
        name = next(name for name in parts if name.endswith(".npy"))
        parts[name] = parts[name][:-8] + np.float64(7).tobytes()

    original = file.read_bytes()
    changes = [
        replace_array,
        edit("about.json", target="other"),
        lambda parts: parts.update(extra=b"x"),
        lambda parts: parts.pop(next(name for name in parts if name.endswith(".npy"))),
        lambda parts: parts.pop("about.json"),
        edit("tercet.json", members=None),
        edit("tercet.json", version="one"),
    ]
    for change in changes:
        file.write_bytes(original)
        rewrite(file, change, seal=False)
        assert "was changed after it was saved" in refusal(file)
    with zipfile.ZipFile(io.BytesIO(original)) as archive, zipfile.ZipFile(file, "w") as twice:
        for name in archive.namelist():
            twice.writestr(name, archive.read(name))
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            twice.writestr("schema.json", archive.read("schema.json"))
    assert "was changed after it was saved" in refusal(file)


def test_newer_and_foreign_formats(file):
    original = file.read_bytes()
    rewrite(file, edit("tercet.json", version=99))
    assert "has format 99, newer than this Tercet reads (1)" in refusal(file)
    for change in (edit("tercet.json", format="other"), lambda parts: parts.update({"tercet.json": b"[]"})):
        file.write_bytes(original)
        rewrite(file, change, seal=False)
        assert "not a Tercet model" in refusal(file)
    for text in (b"{", b"\xff", b"[" * 100_000):
        file.write_bytes(original)
        rewrite(file, lambda parts, text=text: parts.update({"tercet.json": text}), seal=False)
        assert "damaged" in refusal(file)


def node(name, loader, **more):
    module, _, short = name.rpartition(".")
    return {"__class__": short, "__module__": module, "__loader__": loader, **more}


ARGUMENTS = node("builtins.str", "JsonNode", content='["id"]')
NODES = {
    name: node(name, loader, content=ARGUMENTS)
    for name, loader in [
        ("posix.system", "FunctionNode"),
        ("os.system", "TypeNode"),
        ("builtins.eval", "FunctionNode"),
        ("numpy.exp", "FunctionNode"),
        ("subprocess.Popen", "ConstructorFromReduceNode"),
        ("sklearn.svm._classes.SVC", "ObjectNode"),
        # Names of ours that are no estimators, or not where they are said to be.
        ("tercet.linear_model.perceptron.sweep", "ObjectNode"),
        ("tercet.linear_model.evil.Perceptron", "ObjectNode"),
        # A type that is fine as data, with a loader that would call it.
        ("tercet.linear_model.perceptron.Perceptron", "ConstructorFromReduceNode"),
    ]
}


@pytest.mark.parametrize("name", NODES)
def test_a_type_that_is_not_trusted_is_named(file, name):
    def plant(parts):
        schema = json.loads(parts["schema.json"])
        schema["content"]["content"]["C"] = NODES[name]
        parts["schema.json"] = json.dumps(schema).encode()

    rewrite(file, plant)
    assert refusal(file).endswith(f"holds what Tercet does not trust: {name}")
    rewrite(
        file, lambda parts: parts.update({"schema.json": json.dumps({**NODES[name], "protocol": 0}).encode()})
    )
    assert name in refusal(file)


def test_the_audit_sees_what_skops_would_not_reach(file):
    rewrite(file, edit("schema.json", elsewhere=[{"deep": NODES["builtins.eval"]}]))
    assert "builtins.eval" in refusal(file)


@pytest.mark.parametrize(
    "text",
    [b"{}", b"[]", b"3", b"{", b'{"protocol": 2, "__loader__": "ListNode"}', b"[" * 50_000],
    ids=lambda text: repr(text[:50]),
)
def test_a_broken_schema_is_an_error_of_ours(file, text):
    rewrite(file, lambda parts: parts.update({"schema.json": text}))
    refusal(file)


def test_bombs(file, monkeypatch):
    monkeypatch.setattr(persistence, "SLACK", 2**20)
    original = file.read_bytes()
    room = persistence.SLACK + persistence.STRETCH * 10**5
    with zipfile.ZipFile(file, "a", zipfile.ZIP_DEFLATED) as archive, archive.open("bomb.npy", "w") as bomb:
        for _ in range(room // 10**6 + 1):
            bomb.write(bytes(10**6))
    assert file.stat().st_size < 10**5
    assert "would unpack to an absurd size" in refusal(file)
    # A sparse matrix is a zip in the zip.
    inner = io.BytesIO()
    with zipfile.ZipFile(inner, "w", zipfile.ZIP_DEFLATED) as archive, archive.open("data.npy", "w") as bomb:
        for _ in range(room // 10**6 + 1):
            bomb.write(bytes(10**6))
    file.write_bytes(original)
    rewrite(file, lambda parts: parts.update({"1.npz": inner.getvalue()}))
    assert "would unpack to an absurd size" in refusal(file)
    # An array that says it is far larger than its bytes.
    header = io.BytesIO()
    np.lib.format.write_array_header_1_0(header, {"descr": "<f8", "fortran_order": False, "shape": (10**15,)})
    file.write_bytes(original)
    name = next(name for name in members(file) if name.endswith(".npy"))
    rewrite(file, lambda parts: parts.update({name: header.getvalue()}))
    assert "cannot be rebuilt" in refusal(file)


def test_an_array_of_pickled_objects_is_not_opened(file, tmp_path):
    marker = tmp_path / "marker"
    blob = io.BytesIO()
    np.save(blob, np.array([Trap(marker)], dtype=object), allow_pickle=True)
    name = next(name for name in members(file) if name.endswith(".npy"))
    rewrite(file, lambda parts: parts.update({name: blob.getvalue()}))
    assert "cannot be rebuilt" in refusal(file)
    assert not marker.exists()


def test_other_versions_are_a_warning(file):
    then = {"tercet": "0.0.9", "scikit-learn": "1.8.2", "numpy": np.__version__}
    rewrite(file, edit("tercet.json", saved_with=then))
    with pytest.warns(ModelWarning, match=r"was saved with tercet 0.0.9, scikit-learn 1.8.2; this is tercet"):
        model, _ = load_model(file)
    assert model.predict(X).shape == (40,)

    def rename(parts):
        schema = json.loads(parts["schema.json"])
        del schema["content"]["content"]
        parts["schema.json"] = json.dumps(schema).encode()

    rewrite(file, rename)
    assert "saved with tercet 0.0.9, this is" in refusal(file)


def test_loading_imports_only_the_families_that_the_file_names(file):
    code = f"""if True:
        import sys
        from tercet.io import load_model
        model, about = load_model({str(file)!r})
        families = {{name.split(".")[1] for name in sys.modules if name.startswith("tercet.")}}
        assert "linear_model" in families
        assert not families & {{"multiclass", "discriminant_analysis", "cluster"}}, families
        print(type(model).__name__, about["target"])
    """
    command = [sys.executable, "-X", "utf8", "-c", code]
    answer = subprocess.run(command, capture_output=True, encoding="utf-8", check=True)
    assert answer.stdout.split() == ["LogisticRegression", "好瓜"]


def test_a_parameter_that_an_older_version_did_not_have(tmp_path):
    model = GaussianNB().fit([[0.0], [1.0]], [0, 1])
    del model.var_smoothing
    save_model(tmp_path / "old.skops", model, {})
    loaded, _ = load_model(tmp_path / "old.skops")
    assert loaded.var_smoothing == GaussianNB().var_smoothing


def test_a_part_that_is_missing_is_named(tmp_path):
    model = GaussianNB().fit([[0.0], [1.0]], [0, 1])
    del model.theta_
    save_model(tmp_path / "part.skops", model, {})
    loaded, _ = load_model(tmp_path / "part.skops")
    assert not hasattr(loaded, "theta_")
    with pytest.raises(NotFittedError, match=r"no attribute 'theta_'\. .* from a file that lacks it"):
        loaded.predict([[0.0]])

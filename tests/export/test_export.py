"""Models in files of their own: they predict the same, to the bit, where this library is not."""

import json
import subprocess
import sys

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from tercet import io as persistence
from tercet.ensemble import AdaBoostClassifier
from tercet.export import export_json, export_onnx, export_python, model_document, onnx_attributes
from tercet.export.onnx_model import _class_nodes
from tercet.inspection import additive_trees
from tercet.tree import DecisionTreeClassifier
from tests.inspection.models import CLASSES, MIXED, MODELS, SIDES, WHOLE


@pytest.mark.parametrize("name", MODELS)
def test_the_module_predicts_to_the_bit(name):
    model, X = MODELS[name]()
    module = {"__name__": "exported"}
    exec(export_python(model), module)
    assert "tercet" not in "".join(line for line in export_python(model).split("\n") if "import" in line)
    assert_array_equal(module["predict"](module["MODEL"], X), model.predict(X))
    assert_array_equal(module["predict"](module["MODEL"], X.tolist()), model.predict(X))
    if hasattr(model, "predict_proba"):
        assert_array_equal(module["predict_proba"](module["MODEL"], X), model.predict_proba(X))
    else:
        with pytest.raises(ValueError, match="no probabilities"):
            module["predict_proba"](module["MODEL"], X)


def test_without_this_library(tmp_path):
    model, X = MODELS["histogram boosting of categories"]()
    export_python(model, tmp_path / "model.py")
    code = (
        "import sys; sys.modules['tercet'] = sys.modules['sklearn'] = sys.modules['scipy'] = None; "
        "sys.path.insert(0, sys.argv[1]); import json, model; "
        "print(json.dumps(model.predict(model.MODEL, json.load(sys.stdin)).tolist()))"
    )
    rows = json.dumps([[None if v is None or v != v else v for v in row] for row in X.tolist()])
    for start in ([sys.executable, "-c", code, str(tmp_path)], [sys.executable, str(tmp_path / "model.py")]):
        found = subprocess.run(start, input=rows, capture_output=True, text=True, check=True)
        assert json.loads(found.stdout) == model.predict(X).tolist()


def test_exporters_are_where_model_files_are():
    assert persistence.export_json is export_json
    assert persistence.export_python is export_python
    assert persistence.export_onnx is export_onnx


def test_json_has_all_digits(tmp_path):
    model, _ = MODELS["boosting of two classes"]()
    export_json(model, tmp_path / "model.json")
    read = json.loads((tmp_path / "model.json").read_text("utf-8"))
    assert read == model_document(model) == json.loads(export_json(model))
    assert read["classes"] == ["no", "yes"]
    values = [np.array(tree["value"]) for tree in read["trees"]]
    for value, own in zip(values, additive_trees(model).values):
        assert_array_equal(value, own)


OPERATORS = {
    "Softmax": lambda x: np.exp(x) / np.exp(x).sum(axis=1, keepdims=True),
    "Sigmoid": lambda x: 1.0 / (1.0 + np.exp(-x)),
    "Mul": np.multiply,
    "Sub": np.subtract,
    "Identity": lambda x: x,
    "Concat": lambda *parts: np.concatenate(parts, axis=1),
    "ArgMax": lambda x: x.argmax(axis=1),
    "Gather": lambda x, places: x[places],
}


@pytest.mark.parametrize(
    ("y", "algorithm"),
    [(CLASSES, "samme"), (CLASSES, "samme.r"), (SIDES, "samme"), (SIDES, "samme.r"), (SIDES, "m1")],
)
def test_onnx_operators_make_the_classes_of_adaboost(y, algorithm):
    """Runs the operators that follow the trees, as their definitions say."""
    model = AdaBoostClassifier(n_estimators=4, algorithm=algorithm).fit(WHOLE, y)
    onnx_attributes(model)  # is not refused
    module = {"__name__": "exported"}
    exec(export_python(model), module)
    nodes, arrays = _class_nodes(model_document(model))
    values = {**arrays, "scores": module["scores"](module["MODEL"], WHOLE)}
    for (operator, given, (made,)), _ in nodes:
        values[made] = OPERATORS[operator](*(values[word] for word in given))
    assert_allclose(values["probabilities"], model.predict_proba(WHOLE), atol=1e-6)
    assert_array_equal(values["label"], model.predict(WHOLE))


@pytest.mark.parametrize("name", ["tree", "forest of classes", "boosting of classes", "histogram boosting"])
def test_onnx_attributes_are_the_trees(name):
    """Goes through the attributes as the operator's definition says."""
    model, X = MODELS[name]()
    attributes = onnx_attributes(model)
    node = {key: k for k, key in enumerate(zip(attributes["nodes_treeids"], attributes["nodes_nodeids"]))}
    weights = {}
    for tree, at, target, weight in zip(
        attributes["target_treeids"],
        attributes["target_nodeids"],
        attributes["target_ids"],
        attributes["target_weights_as_tensor"],
    ):
        weights.setdefault((tree, at), []).append((target, weight))
    for row, expected in zip(X[:10], additive_trees(model).scores(X[:10])):
        scores = attributes["base_values_as_tensor"].copy()
        for tree in sorted(set(attributes["nodes_treeids"])):
            k = node[tree, 0]
            while attributes["nodes_modes"][k] == "BRANCH_LEQ":
                x = row[attributes["nodes_featureids"][k]]
                true = x <= attributes["nodes_values_as_tensor"][k]
                if np.isnan(x):
                    true = bool(attributes["nodes_missing_value_tracks_true"][k])
                side = "nodes_truenodeids" if true else "nodes_falsenodeids"
                k = node[tree, attributes[side][k]]
            for target, weight in weights[tree, attributes["nodes_nodeids"][k]]:
                scores[target] += weight
        np.testing.assert_allclose(scores, expected, rtol=1e-12, atol=1e-12)


def test_what_cannot_be_written():
    model, _ = MODELS["categories"]()
    with pytest.raises(ValueError, match="columns of categories"):
        onnx_attributes(model)
    with pytest.raises(ValueError, match="columns of categories"):
        export_onnx(model)
    alone = AdaBoostClassifier(n_estimators=1).fit([[0.0], [1.0]], ["a", "a"])
    with pytest.raises(ValueError, match="AdaBoostClassifier cannot be written as ONNX"):
        onnx_attributes(alone)
    shared = DecisionTreeClassifier(algorithm="c45", max_depth=3).fit(MIXED, SIDES)
    with pytest.raises(ValueError, match="all branches in parts"):
        export_json(shared)

"""Families load a method's modules when the method is first asked for, and pass on scikit-learn's names."""

import copy
import importlib
import importlib.util
import io
import pickle
import pkgutil
import subprocess
import sys

import joblib
import numpy as np
import pytest
import sklearn
import sklearn.isotonic
import sklearn.preprocessing
import skops.io

import tercet
from tercet import engine, plot
from tercet.core import lazy
from tercet.core.lazy import optional_module, own_names, scikit_learn_table
from tercet.datasets import read_table
from tercet.feature import TableEncoder
from tercet.io import ModelError, save_model
from tercet.tree import plot_tree


def answer(code: str) -> str:
    """What a fresh process prints."""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


def loaded_by(statement: str) -> set[str]:
    """The modules of a fresh process after `statement`."""
    return set(answer(f"{statement}\nimport sys\nprint(*sys.modules)").split())


def test_a_method_does_not_load_its_family_nor_scikit_learns():
    modules = loaded_by("from tercet.linear_model import Lasso")
    assert "tercet.linear_model.lasso.lasso" in modules
    assert "tercet.linear_model.logistic.logistic_regression" not in modules
    assert not any(name.startswith(("tercet.svm", "tercet.tree", "tercet.sequence")) for name in modules)
    assert not any(
        name.startswith(("sklearn.linear_model", "sklearn.svm", "sklearn.tree")) for name in modules
    )


def test_looking_at_names_loads_neither_numba_nor_scikit_learn():
    modules = loaded_by(
        "import tercet, tercet.preprocessing, tercet.metrics.pairwise\n"
        "from tercet import linear_model\n"
        "assert 'StandardScaler' in dir(tercet.preprocessing) and 'HuberRegressor' in linear_model.__all__\n"
        "assert 'clone' in dir(tercet) and 'pairwise' in dir(tercet.metrics)"
    )
    assert not modules & {"numba", "numpy", "scipy", "sklearn", "importlib.metadata"} - {"importlib.metadata"}


def test_a_function_is_not_hidden_by_the_module_of_its_name():
    import tercet.cluster.k_means
    import tercet.optimize.newton
    from tercet.cluster import k_means
    from tercet.optimize import newton

    assert callable(k_means)
    assert callable(newton)
    assert callable(tercet.optimize.newton)


@pytest.mark.parametrize(
    ("package", "name", "reason"),
    [
        ("tree", "Forest", rf"; neither Tercet nor scikit-learn {sklearn.__version__} has it here\."),
        ("tree", "SVC", r"has it here\. It is in tercet\.svm\.$"),
        ("linear_model", "CRF", r"has it here\. It is in tercet\.sequence\.$"),
        ("linear_model", "StandardScaler", r"has it here\. It is in tercet\.preprocessing\.$"),
        ("preprocessing", "StandrdScaler", r"has it here\. Did you mean 'StandardScaler'"),
        ("utils.validation", "check_arry", r"has it here\. Did you mean 'check_array'"),
        ("rules", "RIPERClassifier", r"\. Did you mean 'RIPPERClassifier'"),
        ("rules", "RIPPER", r"\. Did you mean 'RIPPERClassifier'"),
        ("rules", "FOIL", r"\. It is in tercet\.rules\.logic\.$"),
        ("metrics", "power_method", r"has it here\. It is in tercet\.graph\.$"),
        ("metrics.pairwise", "np", r"has it here\.$"),
    ],
)
def test_a_missing_name_says_who_lacks_it_and_what_is_like_it(package, name, reason):
    module = importlib.import_module(f"tercet.{package}")
    assert not hasattr(module, name)
    with pytest.raises(
        AttributeError, match=rf"^module 'tercet\.{package}' has no attribute '{name}'.*{reason}"
    ):
        getattr(module, name)
    with pytest.raises(
        ImportError, match=rf"^cannot import name '{name}' from 'tercet\.{package}'.*{reason}"
    ):
        exec(f"from tercet.{package} import {name}")


def test_a_missing_module_is_an_import_error():
    assert importlib.util.find_spec("tercet.proprecessing") is None
    with pytest.raises(ModuleNotFoundError, match=r"^No module named 'tercet\.proprecessing'$"):
        importlib.import_module("tercet.proprecessing")
    with pytest.raises(ImportError, match=r"'preprocesing' from 'tercet'.*Did you mean 'preprocessing'"):
        exec("from tercet import preprocesing")
    with pytest.raises(ModuleNotFoundError, match=r"^No module named 'tercet\.svm\._nothing'$"):
        importlib.import_module("tercet.svm._nothing")
    with pytest.raises(AttributeError, match=r"^module 'tercet\.svm' has no attribute '_nothing'$"):
        _ = tercet.svm._nothing
    with pytest.raises(AttributeError, match="setup_module"):  # what scikit-learn has for its tests
        _ = tercet.setup_module


@pytest.mark.filterwarnings("ignore:Since version 1.0, it is not needed")  # to import a switch
def test_every_package_is_an_attribute():
    ours = [name for _, name, _ in pkgutil.iter_modules(tercet.__path__) if not name.startswith("_")]
    theirs = [module for module in scikit_learn_table()["modules"] if module]
    assert {"rules", "metric_learning", "semi_supervised"} <= {*ours}
    assert {"preprocessing", "feature_extraction", "metrics.pairwise"} <= {*theirs}
    for module in [*ours, *theirs]:
        package, _, name = f"tercet.{module}".rpartition(".")
        parent = importlib.import_module(package)
        vars(parent).pop(name, None)  # that of an earlier import
        assert getattr(parent, name) is sys.modules[f"tercet.{module}"]


@pytest.mark.parametrize(
    "family", ["cluster", "linear_model", "optimize", "rules", "sequence", "svm", "tree"]
)
def test_all_has_our_names_and_scikit_learns(family):
    package = getattr(tercet, family)
    own = own_names(package.__name__)
    theirs = scikit_learn_table()["modules"].get(family, [])
    assert package.__all__ == sorted({*own, *theirs}) == dir(package)
    assert all(getattr(package, name) is not None for name in package.__all__)


FORMS = {
    "import tercet; found = tercet.preprocessing.StandardScaler": "preprocessing.StandardScaler",
    "import tercet.preprocessing; found = tercet.preprocessing.scale": "preprocessing.scale",
    "import tercet.metrics.pairwise as p; found = p.rbf_kernel": "metrics.pairwise.rbf_kernel",
    "from tercet.pipeline import make_pipeline as found": "pipeline.make_pipeline",
    "from tercet import linear_model, compose; found = compose.ColumnTransformer": "compose.ColumnTransformer",
    "from tercet import set_config as found": "set_config",
    "from tercet.model_selection import *; found = GridSearchCV": "model_selection.GridSearchCV",
    "import importlib; found = importlib.import_module('tercet.dummy').DummyClassifier": "dummy.DummyClassifier",
    "from tercet.utils.validation import check_is_fitted as found": "utils.validation.check_is_fitted",
    "from tercet.gaussian_process.kernels import RBF as found": "gaussian_process.kernels.RBF",
    "from tercet.experimental import enable_iterative_imputer\n"
    "from tercet.impute import IterativeImputer as found": "impute.IterativeImputer",
    "import tercet.experimental.enable_halving_search_cv\n"
    "from tercet.model_selection import HalvingGridSearchCV as found": "model_selection.HalvingGridSearchCV",
}


def test_first_imports_in_many_threads_and_forms():
    """The threads are first in a process; each form is the first import of Tercet in one that has scikit-learn."""
    code = f"""if True:
        import importlib, sys, threading
        names = {{
            "preprocessing": "StandardScaler", "pipeline": "Pipeline", "metrics.pairwise": "rbf_kernel",
            "linear_model": "HuberRegressor", "utils.validation": "check_array", "impute": "KNNImputer",
        }}
        def in_threads(modules):
            start, found, errors = threading.Barrier(24), [], []
            def first(module):
                start.wait()
                try:
                    found.append(getattr(importlib.import_module(f"tercet.{{module}}"), names[module]))
                except BaseException as error:
                    errors.append(error)
            threads = [threading.Thread(target=first, args=(modules[k % len(modules)],)) for k in range(24)]
            [thread.start() for thread in threads]
            [thread.join() for thread in threads]
            assert errors == [] and len(set(found)) == len(modules), (errors, found)
        in_threads(["preprocessing"])
        in_threads([*names])

        try:
            from tercet.impute import IterativeImputer
        except ImportError as error:
            assert "explicitly import enable_iterative_imputer" in str(error)
        else:
            raise AssertionError("it is experimental")
        def check(statement, path):
            names = {{}}
            exec(statement, names)
            module, _, name = path.rpartition(".")
            theirs = f"sklearn.{{module}}".rstrip(".")
            __import__(theirs)
            assert names["found"] is getattr(sys.modules[theirs], name), statement
        for statement, path in {FORMS!r}.items():
            for name in [name for name in sys.modules if name.partition(".")[0] == "tercet"]:
                del sys.modules[name]
            check(statement, path)
    """
    assert answer(code) == ""


def test_first_imports_of_another_module_in_each_of_many_threads():
    """Modules of scikit-learn and of Numba import each other in circles: 24 threads that import them fail."""
    families = [
        "cluster",
        "decomposition",
        "ensemble",
        "feature",
        "graph",
        "graphical",
        "linear_model",
        "manifold",
    ]
    families += [
        "metrics",
        "mixture",
        "model_selection",
        "multiclass",
        "naive_bayes",
        "neighbors",
        "pipeline",
    ]
    families += ["preprocessing", "rules", "sampling", "semi_supervised", "sequence", "svm", "topic", "tree"]
    families += ["utils.validation"]
    code = f"""if True:
        import importlib, sys, threading
        sys.setswitchinterval(1e-5)
        start, errors = threading.Barrier({len(families)}), []
        def first(family):
            start.wait()
            try:
                module = importlib.import_module("tercet." + family)
                [getattr(module, name) for name in module.__all__[:2]]
            except BaseException as error:
                errors.append(error)
        threads = [threading.Thread(target=first, args=(family,)) for family in {families}]
        [thread.start() for thread in threads]
        [thread.join() for thread in threads]
        print(errors)
    """
    assert answer(code) == "[]\n"


def test_a_thread_that_does_not_wait_for_the_root():
    """Python puts `tercet` into `sys.modules` before it runs the file: another thread may import a module then."""
    code = """if True:
        import importlib.util, sys
        spec = importlib.util.find_spec("tercet")
        root = sys.modules["tercet"] = importlib.util.module_from_spec(spec)
        import tercet.pipeline, tercet.metrics.pairwise
        spec.loader.exec_module(root)
        print(*tercet.pipeline.__all__, tercet.metrics.pairwise.pairwise_distances.__module__)
    """
    names = "FeatureUnion Pipeline make_pipeline make_union"
    assert answer(code) == f"{names} tercet.metrics.distance.pairwise\n"


def test_a_thread_that_imports_the_root_gets_the_locks_it_needs():
    """One thread has begun to import `tercet`; another one imports a module, and must not hold `tercet.core.lazy`
    while it waits for the first: Python would end the import of the first with a deadlock."""
    code = """if True:
        import importlib, sys, threading
        begun, go, errors = threading.Event(), threading.Event(), []
        def pause(frame, event, argument):
            if frame.f_globals.get("__name__") == "tercet" and frame.f_code.co_name == "<module>":
                sys.settrace(None)
                begun.set()
                go.wait()
        def run(name, trace=None):
            sys.settrace(trace)
            try:
                importlib.import_module(name)
            except BaseException as error:
                errors.append(repr(error))
        first = threading.Thread(target=run, args=("tercet", pause))
        first.start()
        begun.wait()
        second = threading.Thread(target=run, args=("tercet.pipeline",))
        second.start()
        second.join(0.5)  # until it waits
        go.set()
        first.join()
        second.join()
        print(errors)
    """
    assert answer(code) == "[]\n"


def test_star_imports():
    names = {}
    for module in scikit_learn_table()["modules"]:
        if not module.startswith("experimental"):
            exec(f"from tercet.{module} import *".replace(". ", " "), names)
    assert names["StandardScaler"] is sklearn.preprocessing.StandardScaler
    assert names["SVC"] is tercet.svm.SVC
    assert names["clone"] is sklearn.clone


def test_names_of_a_later_version(monkeypatch, tmp_path):
    """The table is of one version: what another one has in addition is there, and what it lacks is not listed."""
    later = ".".join(str(int(part) + 1) for part in scikit_learn_table()["version"].split("."))
    monkeypatch.setattr(lazy, "_scikit_learn_version", lambda: f"{later}.0")
    names = [*sklearn.isotonic.__all__, "MonotoneRegression"]
    names.remove("check_increasing")
    monkeypatch.setattr(sklearn.isotonic, "MonotoneRegression", object(), raising=False)
    monkeypatch.setattr(sklearn.isotonic, "__all__", names)
    monkeypatch.delattr(sklearn.isotonic, "check_increasing")
    monkeypatch.delitem(vars(tercet.isotonic), "check_increasing", raising=False)
    assert tercet.isotonic.__all__ == dir(tercet.isotonic) == sorted(names)
    exec("from tercet.isotonic import *")
    assert tercet.isotonic.MonotoneRegression is sklearn.isotonic.MonotoneRegression
    assert not hasattr(tercet.isotonic, "check_increasing")
    monkeypatch.delitem(vars(tercet.isotonic), "MonotoneRegression")
    (tmp_path / "monotone.py").write_text("def rise(): return 'up'\n", encoding="utf-8")
    folders = [*sklearn.__path__, str(tmp_path)]
    monkeypatch.setattr(sklearn, "__path__", folders)
    monkeypatch.setattr(sklearn.__spec__, "submodule_search_locations", folders)
    try:
        from tercet.monotone import rise

        assert rise() == "up"
        assert importlib.util.find_spec("tercet.monotone").origin == "sklearn.monotone"
    finally:
        for module in ("tercet.monotone", "sklearn.monotone"):
            sys.modules.pop(module, None)
        vars(tercet).pop("monotone", None)
        vars(sklearn).pop("monotone", None)


def test_what_is_passed_on_is_saved_as_scikit_learns_own(tmp_path):
    scaler = tercet.preprocessing.StandardScaler().fit([[0.0], [2.0]])
    assert type(scaler) is sklearn.preprocessing.StandardScaler
    file = io.BytesIO()
    joblib.dump(scaler, file)
    blob = skops.io.dumps(scaler)
    for again in (
        copy.deepcopy(scaler),
        pickle.loads(pickle.dumps(scaler)),
        joblib.load(io.BytesIO(file.getvalue())),
        skops.io.loads(blob, trusted=skops.io.get_untrusted_types(data=blob)),
    ):
        np.testing.assert_array_equal(again.transform([[3.0]]), [[2.0]])
    assert b"tercet" not in pickle.dumps(scaler)
    assert pickle.loads(pickle.dumps(tercet.preprocessing.scale)) is sklearn.preprocessing.scale
    with pytest.raises(
        ModelError, match=r"it holds sklearn\.preprocessing"
    ):  # a model file trusts our classes
        save_model(tmp_path / "scaler.skops", scaler, {})


def test_a_module_that_is_passed_on_can_be_reloaded_and_described():
    module = importlib.import_module("tercet.kernel_ridge")
    assert importlib.reload(module) is module
    assert module.KernelRidge is tercet.kernel_machines.KernelRidge
    assert module.__doc__ == "The public names of `sklearn.kernel_ridge`.\n\nOurs are KernelRidge."


def blocked(monkeypatch, package):
    """As if a package were not installed."""
    for name in [name for name in sys.modules if name.partition(".")[0] == package]:
        monkeypatch.setitem(sys.modules, name, None)
    monkeypatch.setitem(sys.modules, package, None)


def needs(package, extra):
    words = rf'{package}, which is not installed: pip install "tercet\[{extra}\]"\.$'
    return pytest.raises(ModuleNotFoundError, match=words)


@pytest.mark.parametrize(
    ("ask", "package", "extra"),
    [
        (lambda: read_table("x.csv"), "polars", "cli"),
        (lambda: TableEncoder().fit([[1.0]]), "polars", "cli"),
        (lambda: engine("dask").__enter__(), "distributed", "dask"),
        (lambda: save_model("x.skops", None, {}), "skops", "cli"),
        (lambda: plot_tree(None), "matplotlib", "plot"),
    ],
    ids=["read_table", "TableEncoder", "engine", "save_model", "tree.plot_tree"],
)
def test_a_package_that_is_missing_is_named_with_its_extra(monkeypatch, ask, package, extra):
    blocked(monkeypatch, package)
    with needs(package, extra) as found:
        ask()
    assert found.value.name == package


def test_every_picture_names_the_extra_of_matplotlib(monkeypatch):
    others = ("plot_model", "plot_spreading")  # they look at the model first
    draw = [getattr(plot, name) for name in plot.__all__ if name[:5] == "plot_" and name not in others]
    blocked(monkeypatch, "matplotlib")
    for function in draw:
        with needs("matplotlib", "plot"):
            function()
    for ask in (
        lambda: plot.replay(0, 0),
        lambda: plot.plot_spreading(0, 0),
        lambda: plot.style().__enter__(),
    ):
        with needs("matplotlib", "plot"):
            ask()


def test_a_package_that_is_there_and_lacks_another_is_not_blamed(monkeypatch, tmp_path):
    (tmp_path / "outer_package.py").write_text("import inner_package")
    monkeypatch.syspath_prepend(tmp_path)
    with pytest.raises(ModuleNotFoundError, match="No module named 'inner_package'"):
        optional_module("outer_package", "Nothing needs", "plot")

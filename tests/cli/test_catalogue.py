"""`tercet list` and `tercet info`."""

import importlib
import inspect
import json
import re
import subprocess
import sys

import pytest
from rich.cells import cell_len

import tercet as library
from tercet.cli import catalogue, docstring
from tercet.cli.catalogue import facts
from tercet.cli.info_page import fill, show
from tercet.cli.lookup import find, group
from tercet.core.catalog import TEXTS, text_of

from .running import refused, tercet

HEAVY = ("numpy", "scipy", "sklearn", "numba", "polars", "pandas", "matplotlib")


def test_list_has_every_method_on_a_line_of_its_own():
    answer = tercet("list")
    assert answer.returncode == 0
    assert answer.stderr == ""
    lines = answer.stdout.splitlines()
    for card in library.methods():
        assert any(
            line.split()[:1] == [card.name] and card.zh in line and card.model in line for line in lines
        ), card.name
    families = {group(card) for card in library.methods()}
    assert lines[-1] == f"{len(library.methods())} methods in {len(families)} families"


def test_list_reads_the_catalogue_file_only():
    code = f"""if True:
        import sys
        sys.argv = ["tercet", "list"]
        from tercet.cli.app import main
        try:
            main()
        except SystemExit:
            families = {sorted({card.family for card in library.methods()} - {"core"})!r}
            loaded = [name for name in {HEAVY!r} if name in sys.modules]
            loaded += [name for name in families if f"tercet.{{name}}" in sys.modules]
            print("LOADED", loaded)
    """
    answer = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert answer.stdout.splitlines()[-1] == "LOADED []"


@pytest.mark.parametrize(
    ("arguments", "fits"),
    [
        (["--task", "classification"], lambda card: card.task == "classification"),
        (["--family", "linear_model"], lambda card: card.family == "linear_model"),
        (["--family", "core"], lambda card: card.family == "core"),
        (["--family", "losses", "--task", "loss"], lambda card: card.module == "tercet.losses"),
        (
            ["--text", "pattern"],
            lambda card: any(place.startswith("Pattern Recognition ") for place in card.texts),
        ),
        (
            ["--text", "li  CH. 7"],
            lambda card: any(f"{place},".startswith("Li ch. 7,") for place in card.texts),
        ),
        (
            ["--text", "Li ch. 2, Alg 2.1"],
            lambda card: any(f"{place},".startswith("Li ch. 2, Alg 2.1,") for place in card.texts),
        ),
        (["--chapter", "2"], lambda card: any(place.startswith("Li ch. 2,") for place in card.texts)),
        (
            ["--text", "watermelon notes", "--chapter", "ch01"],
            lambda card: any(f"{place},".startswith("watermelon notes ch. 1,") for place in card.texts),
        ),
        (["--chapter", "app. b"], lambda card: any(place.startswith("Li app. B") for place in card.texts)),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else "",
)
def test_list_filters(arguments, fits):
    answer = tercet("list", *arguments, "--json")
    found = [(card["module"], card["name"]) for card in json.loads(answer.stdout)]
    wanted = [(card.module, card.name) for card in library.methods() if fits(card)]
    assert found == wanted
    assert wanted


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["--task", "cooking"], ["'cooking'", "classification", "regression"]),
        (["--family", "cats"], ["'cats'", "linear_model", "losses"]),
        (["--table", "99.9"], ["'99.9'", "12.1", "22.1, 22.2"]),
        (["--text", "007"], ["'007'", "li, depth, watermelon, pattern, studies"]),
        (["--text", "Li ch. 99"], ["'Li ch. 99'", "li, depth"]),
        (["--chapter", "99"], ["'99'", "Li", "ch. 2, ", "app. A"]),
        (["--chapter", "two"], ["'two'", "ch. 2"]),
    ],
    ids=lambda value: " ".join(value),
)
def test_list_names_what_there_is(arguments, says):
    line = refused(tercet("list", *arguments), 2)
    assert [word for word in says if word not in line] == []


@pytest.mark.parametrize("number", ["22.1", "Table 22.2", "表 12.1"])
def test_list_prints_a_table_of_the_texts(number):
    place = re.sub(r"\D*(\d+)(.*)", r"Li ch. \1, Table \1\2", number)
    rows = json.loads(tercet("list", "--table", number, "--json").stdout)
    by_path = {(card.module, card.name): card for card in library.methods(text=place)}
    cards = [by_path[row["module"], row["name"]] for row in rows]
    assert len(cards) == len(by_path)
    chapters = [int(re.search(r"ch\. (\d+)", card.texts[0])[1]) for card in cards]
    assert chapters == sorted(chapters)
    page = tercet("list", "--table", number, COLUMNS="300").stdout
    at = [page.index(f"{card.name}  {card.zh}") for card in cards]
    assert at == sorted(at)
    for card in cards:
        said = [card.model, card.strategy, *card.algorithms.values(), *card.traits, *card.traits.values()]
        assert [line for line in said if line not in page] == []


def test_list_in_chinese_and_on_a_narrow_screen():
    answer = tercet("list", "--chapter", "2", "--lang", "zh", COLUMNS="60")
    assert "感知机  分类  li/2, li/12, watermelon/3," in answer.stdout
    assert "linear_model 线性模型" in answer.stdout
    assert answer.stdout.splitlines()[-1] == "4 族共 6 个方法"


@pytest.mark.parametrize("width", ["150", "70"])
def test_list_all_shows_which_library_has_each_estimator(width):
    from sklearn.utils.discovery import all_estimators

    answer = tercet("list", "--all", COLUMNS=width)
    assert "can be imported from `tercet`, as in: from tercet.preproc" in " ".join(answer.stderr.split())
    lines = answer.stdout.splitlines()
    whose = dict(line.split()[:2] for line in lines if len(line.split()) > 1 and line[0] != " ")
    ours = {card.name for card in library.methods() if card.learns}
    assert {whose[name] for name in ours} == {"Tercet"}
    assert {whose[name] for name, _ in all_estimators() if name not in ours} == {"scikit-learn"}
    theirs = sum(card.kind == "scikit-learn" for card in library.methods()) + len(catalogue.passed_on())
    own = sum(card.kind != "scikit-learn" for card in library.methods())
    assert lines[-2].startswith(f"{own + theirs} methods in ")
    assert lines[-1] == f"Tercet {own}, scikit-learn {theirs}"


def test_list_all_filters_and_speaks_chinese():
    answer = tercet("list", "--all", "--family", "impute", "--lang", "zh", COLUMNS="70")
    assert "KNNImputer  scikit-learn  k 近邻填补" in answer.stdout
    assert answer.stderr.startswith("全部都可以从 `tercet` 导入")
    found = json.loads(tercet("list", "--all", "--task", "outlier detection", "--json").stdout)
    kinds = {card["name"]: card["kind"] for card in found}
    assert (kinds["IsolationForest"], kinds["LocalOutlierFactor"]) == ("estimator", "scikit-learn")
    described = " ".join(tercet("list", "--help", "--lang", "zh", COLUMNS="200").stdout.split())
    assert "注明每一个属于哪个库" in described


def test_list_counts_one_as_one():
    many = sum(card.family == "cluster" for card in library.methods())
    assert tercet("list", "--family", "cluster").stdout.splitlines()[-1] == f"{many} methods in 1 family"
    assert catalogue._counts(1, 1) == "1 method in 1 family"
    assert catalogue._counts(3, 2) == "3 methods in 2 families"


def test_info_tells_everything():
    answer = tercet("info", "perceptron")
    assert answer.returncode == 0
    assert answer.stderr == "Perceptron is also the name of losses.Perceptron\n"
    for words in (
        "Perceptron  感知机",
        "from tercet.linear_model import Perceptron",
        "strategy  sum of -y(w·x + b) over the misclassified",
        "loss  perceptron: L(y, f) = max(0, -y f(x))",
        "problem  not convex",
        "dual: counts of mistakes",
        "eta0 = 1.0  a number in (0, inf)",
        "form = 'primal'  one of 'primal', 'dual'",
        "How far a mistake moves the hyperplane.",
        "coef_, intercept_  arrays of shape",
        f"Li {TEXTS['Li'].english}  ch. 2, Alg 2.1, 2.2",
        "Li Ex 2.1  the perceptron in its primal form",
        ">>> model = Perceptron(shuffle=False, record=True).fit(X, y)",
        "sklearn.linear_model.Perceptron",
    ):
        assert words in answer.stdout, words
    # What two parameters share is said once.
    assert answer.stdout.count("the part of it that is L1") == 1


def test_info_in_chinese():
    answer = tercet("info", "岭回归", "--lang", "zh", "--quiet")
    for words in (
        "对系数施加 L2 惩罚的最小二乘法。",
        "策略",
        "cholesky: 正规方程的闭式解",
        TEXTS["Pattern Recognition"].chinese,
        "整数",
    ):
        assert words in answer.stdout, words


def test_info_tells_the_loss_and_whether_learning_is_convex():
    known = json.loads(tercet("info", "AdaBoostClassifier", "--json").stdout)
    assert (known["loss"], known["convex"]) == ("exponential", False)
    answer = tercet("info", "AdaBoostClassifier", "--lang", "zh").stdout
    assert "损失函数  指数损失函数: L(y, f) = exp(-y f(x))" in answer
    assert "问题  非凸" in answer
    answer = tercet("info", "SVC").stdout
    assert "problem  convex: a local minimum is a global one" in answer
    assert "loss  squared_hinge" in tercet("info", "LinearSVC").stdout  # which has no card of its own


def test_info_says_what_parameters_mean_in_chinese():
    answer = tercet("info", "k均值聚类", "--lang", "zh", COLUMNS="70")
    for words in (
        "KMeans  k 均值聚类",
        "交替地最小化 W(C)",
        "tol = 0.0001  数，范围 [0, inf)",
        "各类的中心。",
        "labels_  形状为 (n_samples,) 的数组",
    ):
        assert words in answer.stdout, words
    assert max(cell_len(line) for line in answer.stdout.splitlines()) <= 70


@pytest.mark.parametrize("name", ["k均值聚类", "K 均值聚类", "层次聚类", "聚合聚类", "纠错输出码"])
def test_a_chinese_name_needs_no_blanks(name):
    assert find(name).zh.lower().replace(" ", "").find(name.lower().replace(" ", "")) >= 0


def test_info_follows_a_reference():
    """A class that says "as in another" has the other's words, and what is different."""
    lasso = {one["name"]: one for one in facts(find("Lasso"))["parameters"]}
    assert lasso["positive"]["meaning"] == "Whether coefficients must not be negative."
    assert lasso["precompute"]["allowed"] == "bool or array of shape (n_features, n_features)"
    chosen = {one["name"]: one["meaning"] for one in facts(find("ElasticNetCV"))["parameters"]}
    assert chosen["precompute"].startswith("True computes the Gram matrix")
    assert chosen["precompute"].endswith('`precompute="auto"` is False.')
    assert chosen["positive"] == "Whether coefficients must not be negative."
    poisson = {one["name"]: one["meaning"] for one in facts(find("PoissonRegressor"))["parameters"]}
    assert poisson["solver"].endswith('"newton-cholesky" is what that calls "irls".')
    assert poisson["tol"] == "The fit ends when no derivative of the objective is larger."
    attributes = facts(find("LassoCV"))["attributes"]
    assert [(one["names"], one["text"]) for one in attributes[:2]] == [
        (["alpha_"], "The chosen ones."),
        (["alphas_"], "Those tried."),
    ]


def test_no_estimator_leaves_a_parameter_unexplained():
    for card in library.methods():
        if card.learns:
            known = facts(card)
            assert [p["name"] for p in known["parameters"] if not p["meaning"]] == [], card.name
            references = [p for p in known["parameters"] if p["meaning"].lower().startswith("as in")]
            assert references == [], card.name


def test_lines_break_between_chinese_characters_but_not_before_a_mark():
    text = '如何使 J 最小。"lstsq" 和 "normal" 在有多个解时（很多），给出范数最小的解。' * 3
    for width in range(12, 40):
        lines = fill(text, width).split("\n")
        assert "".join(lines).replace(" ", "") == text.replace(" ", "")
        assert max(map(cell_len, lines)) <= width
        assert not any(line[0] in "，。；：、）”" for line in lines)


def test_info_as_json():
    known = json.loads(tercet("info", "Lasso", "--json").stdout)
    assert known["name"] == "Lasso"
    assert known["peers"] == ["sklearn.linear_model.Lasso", "skglm.Lasso", "celer.Lasso"]
    alpha = known["parameters"][0]
    assert (alpha["name"], alpha["default"], alpha["allowed"]) == ("alpha", "1.0", "a number in [0, inf)")
    assert alpha["meaning"].startswith("Strength of the penalty")
    assert known["details"].startswith("min over w, b of")
    assert {"place": "watermelon notes eq. 10.7"}.items() <= known["worked"][0].items()


@pytest.mark.parametrize(
    ("name", "says"),
    [
        ("logisticregresion", "near it: LogisticRegression"),
        ("zzz", "`tercet list`"),
        ("逻辑", "LogisticRegression"),
        ("Baum-Welsh", "near it: Baum-Welch"),
    ],
)
def test_info_on_a_miss(name, says):
    line = refused(tercet("info", name), 2)
    assert repr(name) in line
    assert says in line


@pytest.mark.parametrize("card", library.methods(), ids=lambda card: f"{card.family}.{card.name}")
def test_page_of_every_card(card, capsys, monkeypatch):
    """Functions have a page, too."""
    monkeypatch.delenv("COLUMNS", raising=False)  # no line is folded
    known = facts(card)
    json.dumps(known, allow_nan=False)
    assert known["example"].startswith(">>> ")
    assert set(known["titles"]) == {text_of(place).name for place in card.texts}
    for parameter in known["parameters"]:
        assert not re.search(r"\b_[A-Z]|typing\.|<", parameter["allowed"]), parameter
    if card.learns:
        assert {p["name"] for p in known["parameters"]} == set(inspect.signature(card.load()).parameters)
        needed = [p["name"] for p in known["parameters"] if p["default"] is None]
        assert needed in ([], ["estimator"], ["estimators"])
    show(card, known)
    page = capsys.readouterr().out
    assert page.startswith(f"{card.name}  {card.zh}\n")
    assert card.model in page
    assert card.strategy in page


def test_every_name_finds_its_card():
    for card in library.methods():
        assert find(f"{card.module}.{card.name}") == card
    assert find("Multinomial").kind == "function"
    assert find("elasticnet", estimator=True).module == "tercet.linear_model"


@pytest.mark.parametrize("package", ["sklearn", "scipy", "numpy", "pandas"])
def test_peers_exist(package):
    peers = {peer for card in library.methods() for peer in card.peers if peer.startswith(f"{package}.")}
    assert peers
    for peer in sorted(peers):
        path = peer.split(".")
        # The longest importable part is a module; the rest are its names.
        for k in range(len(path), 0, -1):
            try:
                thing = importlib.import_module(".".join(path[:k]))
            except ModuleNotFoundError:
                continue
            for name in path[k:]:
                assert hasattr(thing, name), peer
                thing = getattr(thing, name)
            break


def test_estimators_of_scikit_learn_name_it_as_peer():
    from sklearn.utils import all_estimators

    theirs = {name for name, _ in all_estimators()}
    cards = [card for card in library.methods() if card.kind == "estimator" and card.name in theirs]
    assert len(cards) > 10
    silent = [card.name for card in cards if not any(peer.endswith(f".{card.name}") for peer in card.peers)]
    assert silent == []


def test_docstring_parts():
    doc = docstring.parts(
        "Title.\n\nBody.\n\n    f = g\n\nParameters\n----------\nx, y : array\n    Two.\n    More.\nz\n"
    )
    assert doc[""].strip() == "Body.\n\n    f = g"
    two, z = docstring.entries(doc["Parameters"])
    assert (two.names, two.kind, two.text) == (("x", "y"), "array", "Two. More.")
    assert (z.names, z.kind, z.text) == (("z",), "", "")
    assert docstring.parts("Only a title.") == {"": ""}
    assert docstring.entries("") == []

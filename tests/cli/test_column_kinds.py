"""`--as` and `--drop`: what the user says about columns."""

import json

import pytest

from tercet.cli.column_kinds import kinds_of
from tercet.cli.errors import USAGE, Refusal
from tests.cli.running import ENDLESS, refused, tercet


@pytest.fixture(scope="module")
def table(tmp_path_factory):
    file = tmp_path_factory.mktemp("columns") / "t.csv"
    lines = [f"{k},{10115 + 7 * (k % 3)},{(k * 37) % 11 / 3:.2f},{'ab'[k % 3 == 0]}" for k in range(60)]
    file.write_text("\n".join(["row,zip,x,kind", *lines]), encoding="utf-8")
    return file


def test_fit(table, tmp_path):
    model = tmp_path / "m.skops"
    options = ["-t", "kind", "--as", "zip=categorical", "--as", "row=numeric", "--drop", "x", "--json"]
    told = json.loads(tercet("fit", "LogisticRegression", str(table), "-o", str(model), *options).stdout)
    assert told["columns"] == ["row", "zip"]
    assert told["left_out"] == {"x": "as asked; dropped"}
    assert told["score"]["accuracy"] == 1  # which no line through three numbers could do
    out = tercet("predict", str(model), str(table))
    assert out.stdout.split()[1:] == ["ab"[k % 3 == 0] for k in range(60)]
    assert "ignored" not in out.stderr


def test_compare(table):
    options = [
        "-t",
        "kind",
        "--as",
        "zip=categorical",
        "--drop",
        "x",
        "-m",
        "Perceptron",
        "--budget",
        ENDLESS,
    ]
    told = json.loads(tercet("compare", str(table), *options, "--repeats", "1", "--json", "-").stdout)
    columns = {column["name"]: (column["kind"], column["used"]) for column in told["data"]["columns"]}
    assert columns == {
        "row": ("identifier", False),
        "zip": ("categorical", True),
        "x": ("identifier", False),
    }
    assert told["leaderboard"][0]["name"] == "Perceptron"


@pytest.mark.parametrize(
    ("options", "code", "message"),
    [
        (["--as", "zip=number"], 2, "--as zip=number: allowed kinds are numeric, categorical, boolean, date"),
        (["--as", "zap=numeric"], 3, "there is no column 'zap'; near it: 'zip'"),
        (["--as", "x=text", "--lang", "zh"], 3, "列 'x' 不能作为 text"),
    ],
)
def test_refused(table, tmp_path, options, code, message):
    model = tmp_path / "m.skops"
    answer = tercet("fit", "Perceptron", str(table), "-t", "kind", "-o", str(model), *options)
    assert message in refused(answer, code)
    assert not model.exists()


@pytest.mark.parametrize(
    ("entries", "message"),
    [
        (["zip"], "--as takes COL=KIND; got 'zip'"),
        (["zip="], "--as zip=: allowed kinds are numeric, "),
        (["a=text", "a=numeric"], "--as gives 'a' twice"),
    ],
)
def test_slips(entries, message):
    with pytest.raises(Refusal, match=message) as refusal:
        kinds_of(entries)
    assert refusal.value.code == USAGE


def test_discriminant_analysis_takes_categories():
    import polars

    from tercet.cli.pipelines import assemble
    from tercet.discriminant_analysis import QuadraticDiscriminantAnalysis
    from tercet.feature import infer_schema

    shift = [0, 0, 1, 0, 2, 1, 0, 1, 2, 2, 1, 0]
    frame = polars.DataFrame(
        {
            "colour": [("red", "green", "blue")[(k + shift[k % 12]) % 3] for k in range(90)],
            "kind": [k % 2 for k in range(90)],
        }
    )
    model = assemble(infer_schema(frame, "kind"), QuadraticDiscriminantAnalysis())
    model.fit(frame, frame["kind"].to_numpy())  # a feature for each colour would make covariances singular
    assert model["encoder"].get_feature_names_out().tolist() == ["colour=green", "colour=red"]
    assert model.predict(frame).shape == (90,)

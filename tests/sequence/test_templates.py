"""CRF++ templates."""

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.pipeline import make_pipeline

from tercet.sequence import CRF, MEMM, FeatureTemplates, StructuredPerceptron, apply_templates

# The sentence and the expansions of CRF++'s own documentation.
SENTENCE = [
    ("He", "PRP"), ("reckons", "VBZ"), ("the", "DT"), ("current", "JJ"), ("account", "NN"),
]  # fmt: skip


@pytest.mark.parametrize(
    ("template", "text"),
    [
        ("U1:%x[0,0]", "U1:the"),
        ("U2:%x[0,1]", "U2:DT"),
        ("U3:%x[-1,0]", "U3:reckons"),
        ("U4:%x[-2,1]", "U4:PRP"),
        ("U5:%x[0,0]/%x[0,1]", "U5:the/DT"),
        ("UABC%x[0,1]123", "UABCDT123"),
        ("U6:%x[-3,0]|%x[3,1]", "U6:_B-1|_B+1"),
        ("U7:%x[-5,0]%x[ 2 , 0 ]", "U7:_B-3account"),
        ("U", "U"),
    ],
)
def test_one_template(template, text):
    assert apply_templates(template, [SENTENCE])[0][2] == [text]


@pytest.mark.parametrize("row", range(-7, 8))
def test_cells_beyond_the_ends(row):
    features = apply_templates([f"U%x[{row},1]"], [SENTENCE])[0]
    for i, (feature,) in enumerate(features):
        j = i + row
        inside = 0 <= j < 5
        wanted = SENTENCE[j][1] if inside else f"_B{j}" if j < 0 else f"_B+{j - 4}"
        assert feature == f"U{wanted}"


def test_a_file_with_comments_and_blank_lines(tmp_path):
    file = tmp_path / "template"
    file.write_text("# unigram\nU00:%x[0,0]\n\n  \nU01:%x[-1,0]/%x[0,0]\n# bigram\nB\n", encoding="utf-8")
    templates = FeatureTemplates.read(file).fit()
    assert templates.transitions_
    assert templates.transform([["a", "b"], ["c"]]) == [
        [["U00:a", "U01:_B-1/a"], ["U00:b", "U01:a/b"]],
        [["U00:c", "U01:_B-1/c"]],
    ]
    assert not FeatureTemplates("U").fit().transitions_


def test_all_forms_of_a_sentence_are_alike():
    templates = clone(FeatureTemplates("U0:%x[0,0]\nU1:%x[1,1]"))
    wanted = templates.transform([SENTENCE])
    for form in (np.array(SENTENCE), pd.DataFrame(SENTENCE), [list(token) for token in SENTENCE]):
        assert templates.fit_transform([form]) == wanted
    assert apply_templates("U:%x[0,0]", [["x", "y"]]) == apply_templates("U:%x[0,0]", [[("x",), ("y",)]])
    assert apply_templates("U:%x[0,0]/%x[0,1]", [[(1, 2.5)]]) == [[["U:1/2.5"]]]


def test_templates_and_a_field_in_a_pipeline():
    # The tag of a word is told by the word before it, which only the templates let the field see.
    rng = np.random.default_rng(0)
    X = [[(w,) for w in rng.choice(list("abcd"), 8)] for _ in range(30)]
    y = [["start", *(f"after {w}" for (w,) in x[:-1])] for x in X]
    model = make_pipeline(FeatureTemplates("U0:%x[-1,0]\nU1:%x[0,0]\nB"), CRF(c2=0.01))
    predicted = model.fit(X[:20], y[:20]).predict(X[20:])
    assert [list(labels) for labels in predicted] == y[20:]


TURNS = """\
U0:%x[0,0]
# whether the label changes, and after which word
B
B0:%x[0,1]
B1:%x[-1,0]/%x[0,1]
"""


def turns(n, seed=0):
    """Sentences of (word, sign): the label stays as it is or turns into the other one, as the sign says."""
    rng, X, y = np.random.default_rng(seed), [], []
    for _ in range(n):
        signs = rng.choice(["stay", "turn"], rng.integers(1, 9))
        label = (int(rng.integers(2)) + np.cumsum([0, *(signs[1:] == "turn")])) % 2
        words = [f"w{label[0]}", *rng.choice(["a", "b"], signs.size - 1)]
        X.append(list(zip(words, signs.tolist())))
        y.append([f"L{k}" for k in label])
    return X, y


def test_lines_with_b_and_cells(tmp_path):
    file = tmp_path / "template"
    file.write_text(TURNS, encoding="utf-8")
    templates = FeatureTemplates.read(file).fit()
    assert [len(lines) for lines in (templates.unigram_, templates.bigram_)] == [1, 2]
    assert templates.transitions_
    assert templates.transform([[("a", "stay"), ("b", "turn")]]) == [
        [["U0:a", "B0:stay", "B1:_B-1/stay"], ["U0:b", "B0:turn", "B1:a/turn"]]
    ]
    assert not FeatureTemplates("B0:%x[0,0]").fit().transitions_


def test_lines_with_b_and_cells_in_a_field():
    """Whether a label follows another is told by the token, which no weight of two labels alone can say."""
    X, y = turns(60)
    model = make_pipeline(FeatureTemplates(TURNS), CRF(transition_attributes="B*", c2=0.01))
    assert model.fit(X[:40], y[:40]).score(X[40:], y[40:]) == 1.0
    field = model[-1]
    names = {name for name, _, _ in field.bigram_features_}
    assert {"B0:stay", "B0:turn", "B1:a/turn"} <= names
    assert {name for name, _ in field.state_features_} == {"U0:w0", "U0:w1", "U0:a", "U0:b"}
    assert all(before != after for _, before, after, name in field.top_bigrams(4) if name == "B0:turn")
    deaf = make_pipeline(FeatureTemplates("U0:%x[0,0]\nU1:%x[0,1]\nB"), CRF(c2=0.01))
    assert deaf.fit(X[:40], y[:40]).score(X[40:], y[40:]) < 0.9


def test_features_as_plain_strings_are_like_any_attributes():
    X, y = turns(10)
    written = FeatureTemplates(TURNS).transform(X)
    plain = [[list(map(str, token)) for token in sentence] for sentence in written]
    assert ("B0:turn", "L0") in CRF().fit(plain, y).state_features_


@pytest.mark.parametrize("kind", [CRF, MEMM, StructuredPerceptron])
def test_lines_with_b_and_cells_must_be_heard(kind):
    X, y = turns(10)
    model = make_pipeline(FeatureTemplates(TURNS), kind())
    with pytest.raises(ValueError, match=r"the attribute 'B.* of a template's B line.*attributes='B\*'"):
        model.fit(X, y)


@pytest.mark.parametrize(
    ("templates", "message"),
    [
        ("X0:%x[0,0]", "Line 1 of the templates must begin with U, B or #; got 'X0"),
        ("U:%y[0,0]", r"cells are written %x\[row,column\]"),
        ("U:%x[0]", r"cells are written %x\[row,column\]"),
        ("U:%x[0,-1]", r"cells are written %x\[row,column\]"),
        ("# nothing\nB", "no line with U, and none with B and cells"),
        ("U\nB:%x[0]", r"Line 2 of the templates, 'B:%x\[0\]': cells are written"),
        ("U\nB:%x[0,2]", r"'B:%x\[0,2\]' asks for column 2; the tokens of sentence 0 have 2"),
        ("U:%x[0,2]", r"'U:%x\[0,2\]' asks for column 2; the tokens of sentence 0 have 2"),
    ],
)
def test_wrong_templates(templates, message):
    with pytest.raises(ValueError, match=message):
        apply_templates(templates, [SENTENCE])


@pytest.mark.parametrize("templates", [3, None, ["U", 3]])
def test_what_is_no_template(templates):
    with pytest.raises(ValueError, match="templates must be the text of a file, or a list of its lines; got"):
        FeatureTemplates(templates).fit()


def test_wrong_sentences():
    with pytest.raises(ValueError, match="Sentence 1 is empty"):
        apply_templates("U", [["a"], []])
    with pytest.raises(ValueError, match=r"All tokens of sentence 0 must have as many columns; got \[1, 2\]"):
        apply_templates("U", [[("a", "b"), ("c",)]])

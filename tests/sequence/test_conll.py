"""Files of tagged sentences."""

import io

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tercet.sequence.text.conll import read_conll, write_conll

words = st.text(st.characters(codec="utf-8", exclude_categories=["Z", "C"]), min_size=1)
rows = st.lists(st.lists(st.tuples(words, words), min_size=1, max_size=4), min_size=1, max_size=4)


@given(rows)
def test_what_is_written_is_read_again(sentences):
    file = io.StringIO()
    write_conll(file, sentences)
    file.seek(0)
    assert read_conll(file) == [s for s in sentences if s]
    again = io.StringIO()
    write_conll(again, *read_conll(io.StringIO(file.getvalue()), columns=(0, 1)))
    assert again.getvalue() == file.getvalue()


def test_a_file(tmp_path):
    path = tmp_path / "a.txt"
    path.write_bytes("\ufeff-DOCSTART- -X- O\r\n\r\n北京 NR B-LOC\r\n# NN O\r\n\r\n\r\n好 VA O".encode())
    assert read_conll(path) == [[("北京", "NR", "B-LOC"), ("#", "NN", "O")], [("好", "VA", "O")]]
    words, tags = read_conll(str(path), columns=(0, -1))
    assert words == [["北京", "#"], ["好"]]
    assert tags == [["B-LOC", "O"], ["O"]]
    write_conll(tmp_path / "b.txt", words, tags, separator="\t")
    assert (tmp_path / "b.txt").read_bytes().decode() == "北京\tB-LOC\n#\tO\n\n好\tO\n\n"


def test_conllu(tmp_path):
    path = tmp_path / "a.conllu"
    text = "# text = vámonos al mar\n1-2\tvámonos\t_\n1\tvamos\tVERB\n2\tnos\tPRON\n2.1\tx\tX\n\n"
    path.write_text(text, encoding="utf-8")
    assert read_conll(path, columns=(1, 2)) == ([["vamos", "nos"]], [["VERB", "PRON"]])


def test_empty_columns_stay_between_tabs():
    assert read_conll(["a\t\tO", "b\tc d\tO"]) == [[("a", "", "O"), ("b", "c d", "O")]]


def test_other_kinds_of_space_are_part_of_words():
    sentences = [[("10\u00a0000", "O"), ("a\u3000b", "B")]]
    file = io.StringIO()
    write_conll(file, sentences)
    assert read_conll(file.getvalue().split("\n")) == sentences
    assert read_conll(["  a   b ", ""]) == [[("a", "b")]]
    tabs = io.StringIO()
    write_conll(tabs, [[("New York", "LOC")]], separator="\t")
    assert read_conll(tabs.getvalue().split("\n")) == [[("New York", "LOC")]]


def test_errors_name_the_line(tmp_path):
    with pytest.raises(ValueError, match="line 3: 1 columns where 2 are expected: 'c'"):
        read_conll(["a O", "", "c"])
    with pytest.raises(ValueError, match="there is no column 2; the source has 2"):
        read_conll(["a O"], columns=(2,))
    (tmp_path / "latin").write_bytes(b"caf\xe9 O\n")
    with pytest.raises(ValueError, match="not in the encoding utf-8-sig"):
        read_conll(tmp_path / "latin")
    assert read_conll(tmp_path / "latin", encoding="latin-1") == [[("café", "O")]]
    with pytest.raises(FileNotFoundError):
        read_conll(tmp_path / "none")


def test_what_cannot_be_written_is_refused():
    with pytest.raises(ValueError, match="'a b' cannot be a column"):
        write_conll(io.StringIO(), [["a b"]])
    for value, separator in (("a\nb", ","), ("a,b", ","), ("a\tb", " "), ("a b", "\t"), ("", " ")):
        with pytest.raises(ValueError, match="cannot be a column"):
            write_conll(io.StringIO(), [[value]], separator=separator)
    with pytest.raises(ValueError, match=r"Sentence 0 has \[2, 1\] words"):
        write_conll(io.StringIO(), [["a", "b"]], [["O"]])
    with pytest.raises(ValueError, match=r"\[1, 2\] sentences"):
        write_conll(io.StringIO(), [["a"]], [["O"], ["O"]])
    with pytest.raises(ValueError, match="at least one column"):
        write_conll(io.StringIO())

"""Nothing is left out: families, public names, languages."""

from docs.site import DOCS
from docs.site.book_pages import book_modules, chapters, extras
from docs.site.completeness import families, missing_pages
from docs.site.public_names import Name, names, pages
from docs.site.reference import example_source, kind

import tercet.tree


def test_families_have_guide_page_gallery_script_and_chinese_page():
    assert missing_pages(DOCS) == []


def test_a_family_without_pages_is_named(tmp_path):
    for folder in ("guide", "gallery", "zh/guide"):
        (tmp_path / folder).mkdir(parents=True)
    (tmp_path / "guide" / "svm.md").write_text("# SVM\n", encoding="utf-8")
    lacking = missing_pages(tmp_path)
    assert "tree: there is no docs/guide/tree.md" in lacking
    assert "tree: no script of docs/gallery uses it" in lacking
    assert "there is no docs/zh/guide/svm.md" in lacking
    assert not any(line.startswith("svm: there is no") for line in lacking)
    assert "svm" in families()


def test_every_public_name_has_a_page_and_an_example():
    homes = {name.path for name in pages()}
    assert [name.path for name in names() if f"{name.home}.{name.name}" not in homes] == []
    assert [name.path for name in pages() if not example_source(name)] == [], "write an Examples section"


def test_a_public_name_without_an_example_is_found(monkeypatch):
    def bare():
        """It has no example."""

    monkeypatch.setattr(tercet.tree, "grow_tree", bare)
    assert example_source(Name("tercet.tree", "grow_tree", "tercet.tree")) is None


def test_types_are_shown_as_they_are():
    assert kind(tercet.tree.MaxFeatures) == kind(tercet.tree.AtLeastTwo) == "data"
    assert kind(tercet.tree.Tree) == "class"


def test_the_reference_has_names_of_ours_only():
    homes = {name.path: getattr(name.load(), "__module__", None) for name in names()}
    assert [path for path, home in homes.items() if str(home).startswith("sklearn")] == []
    assert {"tercet.metrics.roc_auc_score", "tercet.io.save_model"} <= set(homes)
    assert "tercet.preprocessing.KBinsDiscretizer" in homes
    assert not {"tercet.metrics.accuracy_score", "tercet.preprocessing.StandardScaler"} & set(homes)


def test_pages_of_names_differ_without_their_case():
    found = [name.page.lower() for name in pages()]
    assert len(found) == len(set(found))


def test_films_and_exercises_belong_to_chapters_and_speak_both_languages():
    known = {" ".join(chapter) for chapter in chapters()}
    assert set(extras()) <= known
    for extra in extras().values():
        for entry in [*extra.get("film", []), *extra.get("exercise", [])]:
            assert entry["en"]
            assert any("\u4e00" <= sign <= "\u9fff" for sign in entry["zh"])


def test_chapters_with_examples_have_exercises():
    with_examples = {" ".join(chapter) for chapter in book_modules()}
    having = {key for key, extra in extras().items() if extra.get("exercise")}
    assert sorted(with_examples - having) == []

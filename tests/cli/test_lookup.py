"""`tercet info` by the names that people use for algorithms."""

from __future__ import annotations

import json

import pytest

from tercet.cli import lookup
from tercet.cli.errors import Refusal
from tercet.cli.lookup import algorithm_numbers, find, literal_strings, look_up, synonyms
from tercet.core.catalog import methods

from .running import refused, tercet


def found(query):
    return {match.card.name: match.how for match in look_up(query)}


@pytest.mark.parametrize(
    ("query", "name", "how"),
    [
        ("Baum-Welch", "CategoricalHMM", "algorithm Baum-Welch"),
        ("baum welch", "GaussianHMM", "algorithm Baum-Welch"),
        ("IIS", "MaxEnt", "algorithm='iis'"),
        ("IIS", "LogisticRegression", "solver='iis'"),
        ("迭代尺度法", "MaxEnt", "algorithm='iis'"),
        ("SMO", "SVC", "algorithm='smo'"),
        ("Viterbi", "CategoricalHMM", "algorithm='viterbi'"),
        ("维特比", "CategoricalHMM", "algorithm='viterbi'"),
        ("DFP", "MaxEnt", "algorithm='dfp'"),
        ("CART", "DecisionTreeClassifier", "algorithm='cart'"),
        ("ID3", "DecisionTreeClassifier", "algorithm='id3'"),
        ("C4.5", "DecisionTreeClassifier", "algorithm='c45'"),
        ("EM", "GaussianMixture", "algorithm='em'"),
        ("Algorithm 7.5", "SVC", "Li ch. 7, Alg 7.1-7.5"),
        ("Alg 10.4", "CategoricalHMM", "Li ch. 10, Alg 10.1-10.5"),
        ("算法 B.2", "dfp", "Li app. B, Alg B.2"),
        ("OLS", "LinearRegression", "by a synonym"),
        ("K均值", "KMeans", "by a synonym"),
        ("k-medoids", "KMedoids", "by a synonym"),
        ("PAM", "KMedoids", "algorithm='pam'"),
        ("k-modes", "KModes", "by a synonym"),
        ("spherical k-means", "SphericalKMeans", "by a synonym"),
        ("学习向量量化", "LVQ", "by its name"),
        ("learning vector quantization", "LVQ", "by a synonym"),
        ("DIANA", "DivisiveClustering", "algorithm='diana'"),
        ("AGNES", "AgglomerativeClustering", "by a synonym"),
        ("层次聚类", "DivisiveClustering", "by a synonym"),
        ("最短距离法", "AgglomerativeClustering", "linkage='single'"),
        ("密度聚类", "HDBSCAN", "by a synonym"),
        ("principal component analysis", "PCA", "by a synonym"),
        ("奇异值分解", "svd", "by its name"),
        ("singular value decomposition", "TruncatedSVD", "by a synonym"),
        ("non-negative matrix factorization", "NMF", "by a synonym"),
        ("多维缩放", "MDS", "by its name"),
        ("PCoA", "ClassicalMDS", "by a synonym"),
    ],
)
def test_look_up(query, name, how):
    assert found(query)[name] == how


@pytest.mark.parametrize(
    "query", ["Algorithm 7.5", "algorithm7.5", "Alg. 7.5", "Alg 7.5", "算法7.5", "Li Alg 7.5"]
)
def test_places_in_any_spelling(query):
    assert list(found(query)) == ["SVC", "smo"]


@pytest.mark.parametrize(
    ("query", "name"),
    [
        ("前向算法", "forward"),
        ("Viterbi", "viterbi"),
        ("SMO", "smo"),
        ("DFP", "dfp"),
        ("EM", "em"),
        ("CRF", "CRF"),
    ],
)
def test_a_name_comes_first(query, name):
    first = look_up(query)[0]
    assert (first.card.name, first.by) == (name, "name")
    assert first.card == find(query)


def test_every_place_can_be_asked_for():
    for card in methods():
        for place in card.texts:
            for number in algorithm_numbers(place):
                assert card in [match.card for match in look_up(f"Algorithm {number}")]


def test_every_algorithm_finds_its_method():
    for card in methods():
        for name in filter(None, card.algorithms):
            assert card in [match.card for match in look_up(name)]


def test_synonyms_name_methods_and_their_values():
    terms = [lookup._letters(term) for entry in synonyms() for term in entry.terms]
    assert len(set(terms)) == len(terms)
    for entry in synonyms():
        for name, value in entry.methods:
            card = lookup._card(name)
            assert value is None or lookup._parameter(card, value) is not None, (name, value)
        assert look_up(entry.terms[0])


@pytest.mark.parametrize("query", ["svm", "SVM", "support vector machine", "支持向量机"])
def test_svc_is_the_first_support_vector_machine(query):
    assert look_up(query)[0].card.name == "SVC"


def test_a_synonym_is_no_name_but_says_which_are_meant():
    with pytest.raises(Refusal, match="there is no method 'svm'; near it: SVC, LinearSVC"):
        find("svm", estimator=True)


def test_literal_strings():
    from typing import Literal

    assert literal_strings(Literal["a", "b", 1] | None) == ["a", "b"]


def test_one_match_is_its_page_and_several_are_listed():
    page = tercet("info", "C4.5")
    assert page.stdout.startswith("DecisionTreeClassifier")
    assert "C4.5 is DecisionTreeClassifier: algorithm='c45'" in page.stderr
    several = tercet("info", "Algorithm 7.5", "--lang", "zh")
    assert several.returncode == 0
    assert "svm.SVC" in several.stdout
    assert "匹配方式" in several.stdout
    also = tercet("info", "SMO")
    assert also.stdout.startswith("smo")
    assert "SVC  algorithm='smo'" in also.stdout


def test_as_json():
    several = json.loads(tercet("info", "IIS", "--json").stdout)
    assert several["query"] == "IIS"
    assert {"name": "MaxEnt", "parameter": "algorithm", "value": "iis"}.items() <= next(
        match.items() for match in several["matches"] if match["name"] == "MaxEnt"
    )
    one = json.loads(tercet("info", "ID3", "--json").stdout)
    assert one["name"] == "DecisionTreeClassifier"
    assert one["matched"]["value"] == "id3"
    assert json.loads(tercet("info", "DFP", "--json").stdout)["also"]


def test_unknown_names_have_suggestions():
    assert "near it: Baum-Welch" in refused(tercet("info", "Baum-Welsh"), 2)
    with pytest.raises(Refusal, match=r"no method is Algorithm 99\.1"):
        look_up("Alg 99.1")

"""Words and names of version 0.1: each is refused with its new spelling."""

import importlib
import re

import numpy as np
import pytest

import fewatoms as fa
from fewatoms import _renamed

SMALL = np.array([[1.0, 2, 0, 1], [0, 1, 3, 1], [2, 0, 1, 0]])
DATA = np.array([1.0, 2.0, 3.0])
ONE = fa.SignedOneHot(4)
TWICE = np.ones((3, 2))
DOORS = {
    "fit": lambda **words: fa.fit(SMALL, DATA, atoms=ONE, k=1, **words),
    "fit_path": lambda **words: fa.fit_path(SMALL, DATA, atoms=ONE, k=[1], **words),
    "fit_many": lambda **words: fa.fit_many(SMALL, TWICE, atoms=ONE, k=1, **words),
    "choose_k": lambda **words: fa.choose_k(SMALL, DATA, atoms=ONE, k=[1, 2], **words),
}
SPELLED = {
    "include": ([0], r"atoms\.restricted\(include="),
    "exclude": ([0], r"atoms\.restricted\(exclude="),
    "biases": (True, r'free="biases"'),
    "nonnegative": (True, r"RankOne\(p, q, nonnegative=True\)"),
    "joint": (True, r"atoms=Joint\(atoms\)"),
    "oracle": (fa.LevelSet(), r"method=General\(oracle, retrieval\).*method=Paper\(\)"),
    "retrieval": (fa.paper_rule(), r"method=General\(oracle, retrieval\)"),
}


@pytest.mark.parametrize("word", SPELLED)
@pytest.mark.parametrize("door", DOORS)
def test_old_spellings_say_the_new_one(door, word):
    value, spelled = SPELLED[word]
    with pytest.raises(TypeError, match=rf"^{word} is spelled .*{spelled}.* since version 0\.2$"):
        DOORS[door](**{word: value})


def test_every_renamed_word_is_tried():
    assert SPELLED.keys() == _renamed.WORDS.keys()


@pytest.mark.parametrize("door", DOORS)
def test_unknown_words_are_refused(door):
    with pytest.raises(TypeError, match="colour"):
        DOORS[door](colour="red")
    with pytest.raises(TypeError, match="atoms"):
        {"fit": fa.fit, "fit_path": fa.fit_path, "fit_many": fa.fit_many, "choose_k": fa.choose_k}[door](
            SMALL, DATA if door != "fit_many" else TWICE, k=1 if door in ("fit", "fit_many") else [1]
        )


@pytest.mark.parametrize(("module", "name"), [(m, n) for m, names in _renamed.NAMES.items() for n in names])
def test_names_that_have_moved_say_where_they_are(module, name):
    where = _renamed.NAMES[module][name]
    with pytest.raises(ImportError, match=rf"has no '{name}': it is {re.escape(where)} since version 0\.2$"):
        getattr(importlib.import_module(module), name)
    if where.startswith("fewatoms."):
        home, _, new = where.rpartition(".")
        assert hasattr(importlib.import_module(home), new)


def test_other_spellings_of_version_one():
    with pytest.raises(TypeError, match=r"^Problem\(M, b, \.\.\.\) is spelled Problem\.of\(M, b, \.\.\.\) since"):
        fa.Problem(SMALL, DATA, atoms=ONE, k=1)
    with pytest.raises(TypeError, match=r"^LowRank\.load\('x'\) is spelled fewatoms\.load\('x'\) since"):
        fa.LowRank.load("x")
    entries = fa.Sampling([0, 1, 2], [0, 1, 1], (3, 2))
    with pytest.raises(
        TypeError, match=r"^ridge must be .*: that of biases is told by free=fa\.Biases\(ridge=\.\.\.\), and"
    ):
        fa.fit(entries, DATA, atoms=fa.RankOne(3, 2), k=1, free="biases", ridge=(1.0, 2.0))


def test_a_door_passes_everything_else_on():
    @_renamed.renamed
    def door(M, b, **words):
        """A door."""
        return M, b, words

    assert door(1, 2, atoms="A", k=3) == (1, 2, {"atoms": "A", "k": 3})
    assert (door.__name__, door.__doc__) == ("door", "A door.")
    with pytest.raises(TypeError, match=r"^joint is spelled atoms=Joint\(atoms\) since version 0\.2$"):
        door(1, 2, joint=True)


def test_names_that_never_were_are_missed_as_usual():
    with pytest.raises(AttributeError, match=r"^module 'fewatoms\.oracles' has no attribute 'Nobody'$"):
        _ = fa.oracles.Nobody
    with pytest.raises(AttributeError, match=r"^module 'elsewhere' has no attribute 'Alternating'$"):
        _renamed.moved("elsewhere")("Alternating")


def test_a_class_made_by_of_is_otherwise_as_it_was():
    @_renamed.made_by_of
    class Thing:
        def __init__(self, one, two=2, atoms=None):
            """Made of two."""
            self.both = one, two, atoms

    assert Thing(1).both == (1, 2, None)
    assert Thing(1, two=3).both == (1, 3, None)
    assert Thing(1, atoms="a").both == (1, 2, "a")
    assert Thing.__init__.__doc__ == "Made of two."
    for words in ({"k": 1}, {"loss": None}, {"M": 1, "b": 2}, {"ridge": 0}):
        with pytest.raises(TypeError, match=r"^Thing\(M, b, \.\.\.\) is spelled Thing\.of\(M, b, \.\.\.\) since"):
            Thing(1, **words)
    with pytest.raises(TypeError, match=r"is spelled Thing\.of"):
        Thing(1, 2, atoms="a")

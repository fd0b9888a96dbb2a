"""Names of columns and atoms: in order, found, nearly found, kept."""

import json

import numpy as np
import pytest

from fewatoms import names
from fewatoms.names import UNCALLED, Called


def test_labels_that_only_number_the_columns_are_no_names():
    assert names.of_labels("M", [0, 1, 2]) is None
    assert names.of_labels("M", [np.int64(0), np.int64(1)]) is None
    assert names.of_labels("M", [1, 0]) == ("1", "0")
    assert names.of_labels("M", ["0", "1"]) == ("0", "1")
    assert names.of_labels("M", ["a", 1, None, (2, "b")]) == ("a", "1", "None", "(2, 'b')")


def test_order_is_a_permutation_or_says_who_is_missing():
    rng = np.random.default_rng(0)
    mine = tuple(f"c{i}" for i in range(12))
    for _ in range(10):
        theirs = tuple(mine[i] for i in rng.permutation(12))
        assert tuple(theirs[i] for i in names.order("M", mine, theirs)) == mine
    for theirs, told in (
        (mine[1:], "'c0' is missing"),
        (mine[2:], "'c0' and 'c1' are missing"),
        ((*mine, "x"), "'x' is not among them"),
        (("x", "y", "z", *mine[1:]), "'c0' is missing, 'x', 'y' and 'z' are not among them"),
        (tuple(n.upper() for n in mine), "'c0', 'c1', 'c2', 'c3', 'c4' and 7 more are missing, 'C0',"),
    ):
        with pytest.raises(ValueError) as refused:
            names.order("M_new", mine, theirs)
        assert str(refused.value).startswith(f"M_new must have the columns that the model was fitted to; {told}")


def test_places_are_found_and_near_misses_told():
    known = ("age", "sex", "BMI", "bp", "s1", "s2")
    assert names.places("include", ["bp", "age", "bp"], known).tolist() == [3, 0, 3]
    assert names.places("include", [], known).tolist() == []
    for asked, told in (
        (["bmi"], "'bmi' is not: did you mean 'BMI'?"),
        (["agee", "bp"], "'agee' is not: did you mean 'age'?"),
        (["s", "bqp"], "'s' and 'bqp' are not: did you mean 's2', 's1' and 'bp'?"),
        (["glucose"], "'glucose' is not: they are called 'age', 'sex', 'BMI', 'bp', 's1' and 1 more"),
    ):
        with pytest.raises(ValueError) as refused:
            names.places("include", asked, known)
        assert str(refused.value) == f"include must name columns that are there; {told}"


@pytest.mark.parametrize(
    "called",
    [
        UNCALLED,
        Called(("a", "b"), ("a", "b")),
        Called(("a", "b"), ("p", "q", "r"), free=("one",)),
        Called(
            ("é\n", '"'), parts=(Called(("é\n", '"'), ("é\n", '"')), Called(parts=(Called(atoms=("x",)), UNCALLED)))
        ),
    ],
    ids=["nothing", "columns", "dictionary", "sums"],
)
def test_what_is_called_is_read_again(called):
    assert Called.read(json.loads(json.dumps(called.plain()))) == called


def test_columns_that_are_atoms_are_told_once():
    columns = tuple(f"column {i}" for i in range(100))
    both, one = (json.dumps(Called(columns, atoms).plain()) for atoms in (columns, None))
    assert len(both) == len(one)


def test_labels_of_atoms():
    called = Called(("a", "b", "c"), ("a", "b", "c"))
    assert called.labels(np.array([2, 0])).tolist() == ["c", "a"]
    assert called.labels(np.zeros(0, dtype=np.intp)).tolist() == []
    assert called.labels(np.array(["x", "y"])).tolist() == ["x", "y"]  # words are names
    assert called.labels(np.array([[0, 1]])) is None  # (row, column) pairs
    assert UNCALLED.labels(np.array([2, 0])) is None


def test_names_of_atoms_are_plain_strings():
    for numbers in (np.array([1, 0]), np.array(["b", "a"])):
        told = Called(atoms=("a", "b")).labels(numbers)
        assert repr(list(told)) == "['b', 'a']"

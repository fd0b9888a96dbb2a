"""Bad words at the doors are named, with what is asked for and what came."""

from __future__ import annotations

import re

import numpy as np
import pytest
import scipy.sparse as sp

import fewatoms as fa

# Bad arguments --------------------------------------------------------------------------------------------------------

SMALL = np.array([[1.0, 2, 0, 1], [0, 1, 3, 1], [2, 0, 1, 0]])
DATA = np.array([1.0, 2.0, 3.0])
EARLIER = fa.fit(np.eye(3), DATA, atoms=fa.SignedOneHot(3), k=1)


ONE = fa.SignedOneHot(4)


@pytest.mark.parametrize(
    ("options", "kind", "message"),
    [
        ({"k": None}, TypeError, r"^k must say how many atoms are allowed, unless a bound .* is given; got None$"),
        (
            {"free": "slope"},
            ValueError,
            r'^free must be "intercept", .* or an array of columns of length 3; got \'slope\'$',
        ),
        ({"free": fa.Biases}, ValueError, r"^free must be .*; got the class Biases: pass free=fa.Biases\(\)$"),
        ({"free": True}, ValueError, r"^free must be .*; got True$"),
        ({"free": ["intercept"]}, ValueError, r"^free must be .*; got \['intercept'\]$"),
        ({"free": [[1.0], [1.0, 2.0], [3.0]]}, ValueError, r"^free must be .*; got rows of different lengths$"),
        ({"ridge": [0.1, 1]}, TypeError, r"^ridge must be .*; got \[0.1, 1\]: lists of ridges belong to fit_path"),
        ({"ridge": np.ones(2)}, TypeError, r"^ridge must be .* shape \(2,\): lists of ridges belong to fit_path"),
        ({"free": np.ones(4)}, ValueError, r"^free must be .* columns of length 3; got shape \(4,\)$"),
        ({"free": np.ones((3, 3))}, ValueError, r"^free must have fewer columns than there are data, 3; got 3$"),
        ({"free": np.zeros(3)}, ValueError, r"^free must not hold a column of zeros$"),
        ({"free": [1.0, np.nan, 0.0]}, ValueError, r"^free must hold finite numbers only; it contains nan$"),
        ({"free": 1j * np.ones(3)}, TypeError, r"^free must be real; got an array of complex128$"),
        (
            {"free": "intercept", "loss": fa.Logistic()},
            ValueError,
            r"^free must be the column of labels .*free=labels$",
        ),
        ({"atoms": ONE.restricted(include=[0, 1])}, ValueError, r"^include must name at most k = 1 atoms; got 2$"),
        (
            {"cap": 1.0, "atoms": fa.RankOne(2, 2)},
            ValueError,
            r"^cap is for sets whose atoms can be listed; got RankOne",
        ),
        ({"cap": 0.0}, ValueError, r"^cap must be a positive finite number; got 0.0$"),
        ({"cap": -1}, ValueError, r"^cap must be a positive finite number; got -1$"),
        ({"cap": "big"}, TypeError, r"^cap must be a positive finite number; got 'big'$"),
        ({"cap": 1.0, "method": fa.Paper()}, ValueError, r"^ridge and cap must be left out for Paper; got"),
        (
            {"cap": 1.0, "method": fa.General(retrieval=fa.paper_rule())},
            ValueError,
            r"^cap needs a vector model, the default method",
        ),
        (
            {"atoms": ONE.restricted(include=[0]), "method": fa.General(retrieval=fa.paper_rule())},
            ValueError,
            r"^atoms\.restricted\(\.\.\.\) needs a vector model, the default method",
        ),
        ({"atoms": fa.Joint(ONE)}, ValueError, r"^b must have a column per data vector for Joint.*; got shape \(3,\)$"),
        ({"start": np.ones(4)}, TypeError, r"^start must be the Solution of an earlier fit; got ndarray$"),
        ({"start": EARLIER}, ValueError, r"^start must be a model .*; got one .*3"),
        ({"misfit": 0.1, "loss": fa.Huber()}, ValueError, r"^misfit is a bound for least squares; .* got misfit=0.1$"),
        ({"k": None, "atoms": fa.RankOne(2, 2)}, TypeError, r"^k must "),
        ({"method": "paper"}, TypeError, r"^method must be a Method such as Paper\(\), .*; got 'paper'$"),
    ],
    ids=lambda value: "-".join(value) if isinstance(value, dict) else "",
)
def test_bad_arguments_are_named(options, kind, message):
    with pytest.raises(kind, match=message):
        fa.fit(SMALL, DATA, **{"atoms": ONE, "k": 1, **options})


@pytest.mark.parametrize(
    ("restrict", "kind", "message"),
    [
        (lambda: ONE.restricted(include=[4]), ValueError, r"^include must lie between 0 and 3; got 4$"),
        (lambda: ONE.restricted(exclude=[-1]), ValueError, r"^exclude must lie between 0 and 3; got -1$"),
        (lambda: ONE.restricted(include=[0.5]), TypeError, r"^include must hold integers; got an array of float64$"),
        (
            lambda: ONE.restricted(include=1, exclude=[1]),
            ValueError,
            r"^include and exclude must not share atoms; both name 1$",
        ),
        (
            lambda: ONE.restricted(exclude=range(4)),
            ValueError,
            r"^exclude must leave at least one atom; it names all of them$",
        ),
        (
            lambda: fa.Groups(list("aabb")).restricted(include=["x"]),
            ValueError,
            r"^include must hold labels of groups; .*'x'",
        ),
        (
            lambda: fa.RankOne(2, 2).restricted(include=[0]),
            ValueError,
            r"^include is for sets whose atoms can be listed; got",
        ),
        (
            lambda: fa.RankOne(2, 2).restricted(exclude=[0]),
            ValueError,
            r"^exclude is for sets whose atoms can be listed; got RankOne",
        ),
        (
            lambda: fa.PSDRankOne(2).restricted(include=[0], exclude=["a"]),
            ValueError,
            r"^include and exclude are for sets whose atoms can be listed; got PSDRankOne",
        ),
        (
            lambda: fa.Joint(fa.NonnegativeOneHot(4)),
            ValueError,
            r"^Joint is for SignedOneHot\(n\) and Groups\(labels\)",
        ),
    ],
    ids=["beyond", "below", "fraction", "both", "all", "label", "matrices", "exclude", "two words", "one-sided"],
)
def test_bad_restrictions_are_named(restrict, kind, message):
    with pytest.raises(kind, match=message):
        fa.fit(SMALL, DATA, atoms=restrict(), k=1)


TWICE = np.ones((3, 2))


@pytest.mark.parametrize(
    ("door", "b", "options", "message"),
    [
        (fa.fit_many, np.ones((2, 3)), {}, r"^B must have m = 3 rows, .*; got shape \(2, 3\): pass B\.T$"),
        (fa.fit_many, np.ones((3, 0)), {}, r"^B must have m = 3 rows, one column per data vector; got shape \(3, 0\)$"),
        (fa.fit_many, DATA, {}, r"^B must have a column per data vector; got shape \(3,\): fit takes a single one$"),
        (
            fa.fit_many,
            np.ones((3, 2, 1)),
            {},
            r"^B must have a column per data vector; got shape \(3, 2, 1\): fit takes",
        ),
        (fa.fit, TWICE, {}, r"^b must be one data vector; got shape \(3, 2\): fit_many\(M, b, \.\.\.\) fits each"),
        (
            fa.fit,
            TWICE,
            {"atoms": fa.Joint(fa.SignedOneHot(5))},
            r"^atoms must live in the space that M takes, 4",
        ),
        (fa.fit, TWICE, {"atoms": fa.Joint(ONE), "free": np.ones(4)}, r"^free must be .*length 3; got shape \(4,\)$"),
        (fa.fit, TWICE, {"atoms": fa.Joint(ONE), "free": np.zeros(3)}, r"^free must not hold a column of zeros$"),
        (fa.fit, TWICE, {"atoms": fa.Joint(ONE), "free": "interceptt"}, r"^free must be .*; got 'interceptt'$"),
        (
            fa.fit,
            np.full((3, 2), np.nan),
            {"atoms": fa.Joint(ONE)},
            r"^b must hold finite numbers only; it contains nan$",
        ),
    ],
    ids=["rows", "no columns", "one vector", "a box", "several", "size", "free", "zeros", "word", "joint nan"],
)
def test_bad_arguments_with_several_data_vectors(door, b, options, message):
    with pytest.raises(ValueError, match=message):
        door(SMALL, b, **{"atoms": ONE, "k": 1, **options})


def test_several_data_vectors_in_a_sparse_matrix():
    with pytest.raises(
        TypeError, match=r"^B must be an array; got a sparse matrix of shape \(3, 2\): pass B.toarray\(\)$"
    ):
        fa.fit_many(SMALL, sp.csr_array(TWICE), atoms=ONE, k=1)


@pytest.mark.parametrize("door", [fa.fit, fa.fit_many, fa.fit_path])
@pytest.mark.parametrize(
    ("word", "here"),
    [
        ("tol", ""),
        ("fit_intercept", 'free="intercept" here'),
        ("sample_weight", "loss=LeastSquares"),
        ("seed", "rng here"),
    ],
)
def test_words_of_other_packages(door, word, here):
    with pytest.raises(TypeError, match=rf"^{word} is no word of .*max_iterations.*{re.escape(here)}"):
        door(SMALL, TWICE if door is fa.fit_many else DATA, atoms=ONE, k=[1], **{word: 1})


@pytest.mark.parametrize("door", [fa.fit, fa.fit_many, fa.fit_path, fa.choose_k])
def test_what_is_said_by_position_and_what_is_forgotten(door):
    with pytest.raises(
        TypeError, match=rf"^{door.__name__} takes M and [bB] by position and the rest by name.*; got 4"
    ):
        door(SMALL, DATA, ONE, 2)
    with pytest.raises(TypeError, match=r"^atoms must be given, an atomic set such as SignedOneHot\(n\)$"):
        door(SMALL, DATA, k=[2])


NAN, LOGISTIC, MULTINOMIAL = float("nan"), fa.Logistic(), fa.Multinomial()


@pytest.mark.parametrize(
    ("labels", "loss", "kind", "told"),
    [
        (
            [1, 1, 1, 1],
            LOGISTIC,
            ValueError,
            r"^b must hold labels of two classes or more with Logistic\(\); got only 1",
        ),
        (["a"] * 4, LOGISTIC, ValueError, r"^b must hold labels of two classes or more with Log.*; got only 'a'$"),
        ([False] * 4, LOGISTIC, ValueError, r"^b must hold labels of two classes or more with Log.*; got only False$"),
        ([0, 1, 2, 1], LOGISTIC, ValueError, r"^b must hold labels of two classes with .*; got 3, .*Multinomial\(\)"),
        ([0.0, 1.0, 2.0, 1.0], LOGISTIC, ValueError, r"^b must hold labels of two classes .* got 3, .*Multinomial\(\)"),
        (list("abca"), LOGISTIC, ValueError, r"got 3, 'a', 'b', 'c': loss=Multinomial\(\) takes more$"),
        (
            [0.0, 1.0, NAN, 1.0],
            LOGISTIC,
            ValueError,
            r"^b must have a label for every datum; 1 are missing",
        ),
        ([True, None, False, None], LOGISTIC, ValueError, r"^b must have a label for every datum; 2 are missing"),
        (["a", "b", NAN, "b"], MULTINOMIAL, ValueError, r"^b must have a label for every datum; 1 are missing"),
        ([[1], [2], [1], [2, 3]], LOGISTIC, TypeError, r"^b must hold labels such as numbers or strings; got \[1\]$"),
        ([0, 0, 0, 0], MULTINOMIAL, ValueError, r"^b must hold labels of two classes or more with Mult.*; got only 0$"),
        ([0, 1, 1], LOGISTIC, ValueError, r"^b must have 4 entries \(the rows of M\); got shape \(3,\)$"),
        ([0, 1, 2], MULTINOMIAL, ValueError, r"^b must have 4 entries \(the rows of M\); got shape \(3,\)$"),
        (
            np.eye(4, 2),
            MULTINOMIAL,
            ValueError,
            r"^b must be one vector of labels with Multin.*shape \(4, 2\)",
        ),
        (np.eye(4, 2), LOGISTIC, ValueError, r"^b must be one data vector; got shape \(4, 2\): fit_many"),
    ],
)
@pytest.mark.parametrize("door", [fa.fit, fa.fit_path], ids=lambda door: door.__name__)
def test_labels_that_are_no_data(door, labels, loss, kind, told):
    X = np.random.default_rng(0).standard_normal((4, 4))
    b = np.array(labels, dtype=object) if isinstance(labels[0], list) else labels
    with pytest.raises(kind, match=told):
        door(X, b, atoms=ONE, k=[1] if door is fa.fit_path else 1, loss=loss, cap=10.0)


def test_what_classes_cannot_have():
    X, labels = np.random.default_rng(0).standard_normal((6, 4)), [0, 1, 2, 0, 1, 2]
    for atoms in (fa.NonnegativeOneHot(4), fa.NonnegativeOneHot(4).restricted(exclude=[1]), fa.RankOne(2, 2)):
        told = r"^atoms must be SignedOneHot\(n\) or Groups\(labels\) with Multinomial\(\), .*; got "
        with pytest.raises(ValueError, match=told + re.escape(repr(atoms))):
            fa.fit(X, labels, atoms=atoms, k=1, loss=MULTINOMIAL)
    with pytest.raises(ValueError, match=r"^k must be .* atoms of SignedOneHot\(4\) with 3 coefficients each; got 5$"):
        fa.fit(X, labels, atoms=ONE, k=5, loss=MULTINOMIAL)
    with pytest.raises(ValueError, match=r"^free: biases are for sampled entries of a matrix; got 'biases' for 3 data"):
        fa.fit(X, labels, atoms=ONE, k=1, loss=MULTINOMIAL, free="biases")
    with pytest.raises(ValueError, match=r"^weights of the loss must have 6 entries, one per row of M; got 5$"):
        fa.fit(X, labels, atoms=ONE, k=1, loss=fa.Multinomial(np.ones(5)))
    with pytest.raises(ValueError, match=r"^misfit is a bound for least squares; with Multinomial\(\) give alpha"):
        fa.fit(X, labels, atoms=ONE, k=1, loss=MULTINOMIAL, misfit=0.1)
    with pytest.raises(ValueError, match=r"^B must hold labels of 3 classes; got 2$"):
        fa.fit_many(X, np.column_stack([labels, [0, 1, 1, 0, 1, 0]]), atoms=ONE, k=1, loss=MULTINOMIAL)
    with pytest.raises(ValueError, match=r"^B must hold labels of two classes with Logistic\(\); got 3"):
        fa.fit_many(X, np.column_stack([[0, 1, 1, 0, 1, 0], labels]), atoms=ONE, k=1, loss=LOGISTIC)
    plain = fa.fit(X, X[:, 0], atoms=ONE, k=1)
    assert plain.classes is None
    with pytest.raises(ValueError, match=r"^probabilities are for answers to labels"):
        plain.predict_proba(X)


def test_lists_of_ridges_where_they_belong():
    X, b = np.random.default_rng(0).standard_normal((9, 4)), np.arange(9.0)
    for ridges in ((1, 0.1), range(2), np.array([0.5, 0.0]), {0.1, 0.2}):
        assert fa.fit_path(X, b, atoms=ONE, k=[1, 2], ridge=ridges).ridges == sorted(ridges)
    for wrong, kind in (([], ValueError), ([[1.0]], TypeError), ([1, "a"], TypeError), ([1, -1], ValueError)):
        with pytest.raises(kind, match=r'^ridge must be a nonnegative number, a list of them, or "auto"; got'):
            fa.fit_path(X, b, atoms=ONE, k=[1, 2], ridge=wrong)
    for call in (fa.fit_many, fa.fit):
        with pytest.raises(TypeError, match=r"^ridge must be .*: lists of ridges belong to fit_path"):
            call(X, b[:, None] if call is fa.fit_many else b, atoms=ONE, k=1, ridge=(0.1, 1))
    entries = fa.Sampling([0, 1, 2], [0, 1, 2], (3, 3)), [1.0, 2.0, 3.0]
    with pytest.raises(
        TypeError, match=r"^ridge must be .*; got \[0.1, 1\]: .*lists are for atoms that can be listed$"
    ):
        fa.fit_path(*entries, atoms=fa.RankOne(3, 3), k=[1], ridge=[0.1, 1])


def test_a_set_needs_a_number_and_no_array():
    for set_of in (fa.SignedOneHot, fa.NonnegativeOneHot, fa.NonnegativeCone, fa.Identity):
        name = "shape" if set_of is fa.Identity else "n"
        told = rf"^{name} must be an integer, or a pair .*; got an array of shape \(3, 4\): for its columns pass 4$"
        with pytest.raises(TypeError, match=told):
            set_of(SMALL)
    with pytest.raises(TypeError, match=r"^rows must be an integer of at least 1; got an array of shape \(3, 4\)$"):
        fa.RankOne(SMALL, 3)


@pytest.mark.parametrize(
    ("new", "told"),
    [
        (SMALL[0], r"must be a matrix \(2 axes\); got shape \(4,\)"),
        (SMALL[:, :2], r"must have 4 columns, .*; got shape \(3, 2\)"),
        (SMALL * np.nan, r"must hold finite numbers only"),
        (SMALL * 1j, r"must be real"),
        (SMALL.astype(object), r"must hold real numbers"),
        ([[1.0], [1.0, 2.0]], r"must be a matrix, with rows of one length"),
        (SMALL[:0], r"must have at least one row"),
        ("rows", r"must be an array, .*; got str"),
        (None, r"must be an array, .*; got NoneType"),
        (np.ma.masked_array(SMALL, SMALL > 1), r"must not have masked entries"),
        (sp.csr_array(np.full((3, 4), np.inf)), r"must hold finite numbers only"),
    ],
)
def test_new_data_are_called_by_their_own_name(new, told):
    one = fa.fit(SMALL, DATA, atoms=ONE, k=1)
    many = fa.fit_many(SMALL, np.column_stack([DATA, DATA[::-1]]), atoms=ONE, k=1)
    for answer in (one, many):
        with pytest.raises((ValueError, TypeError), match=f"^M_new {told}"):
            answer.predict(new)

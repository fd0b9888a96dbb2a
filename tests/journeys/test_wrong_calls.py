"""Calls as somebody makes them who comes from elsewhere: each is answered as the plain call is, or refused in a
sentence that names the argument, the demand and what came. Nothing warns, nothing is printed, no input changes."""

from __future__ import annotations

import io
import pathlib
import re
import warnings

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp

import fewatoms as fa

RNG = np.random.default_rng(0)
M = RNG.standard_normal((30, 12))
b = M[:, 3] - 2 * M[:, 7] + 0.3 * RNG.standard_normal(30) + 1.0
B = np.column_stack([b, b[::-1]])
TWO = np.where(b > 1, "yes", "no")
THREE = np.digitize(b, [0.0, 2.0])
ATOMS = fa.SignedOneHot(12)
FRAME = pd.DataFrame(M, columns=[f"c{i}" for i in range(12)])
LABELS = {"loss": fa.Logistic(), "ridge": 0.1}
CLASSES = {"loss": fa.Multinomial(), "ridge": 0.1}
for array in (M, b, B, TWO, THREE):
    array.flags.writeable = False  # whoever writes there raises


def fit(A=M, y=b, **words):
    return fa.fit(A, y, **{"atoms": ATOMS, "k": 2, **words})


def path(A=M, y=b, **words):
    return fa.fit_path(A, y, **{"atoms": ATOMS, "k": [1, 2], **words})


def many(A=M, Y=B, **words):
    return fa.fit_many(A, Y, **{"atoms": ATOMS, "k": 2, **words})


def choose(A=M, y=b, **words):
    return fa.choose_k(A, y, **{"atoms": ATOMS, "k": [1, 2], **words})


ONE, MANY, PATH, SURE = fit(), many(), path(), fit(y=TWO, **LABELS)
FREE = fit(free=np.column_stack([b**2, np.sin(b)]))


@pytest.fixture(autouse=True)
def silence(capfd):
    """A warning is an error, and what is printed is as well."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        yield
    assert capfd.readouterr() == ("", "")


def holding(shape, value, dtype=np.float64):
    array = np.ones(shape, dtype=dtype)
    array[0] = value
    return array


# Other clothes --------------------------------------------------------------------------------------------------------

SAME = {
    "lists": (M.tolist(), b.tolist()),
    "list of arrays": (list(M), tuple(b)),
    "fortran": (np.asfortranarray(M), b),
    "strided": (np.repeat(M, 2, axis=1)[:, ::2], np.repeat(b, 2)[::2]),
    "big endian": (M.astype(">f8"), b.astype(">f8")),
    "long double": (M.astype(np.longdouble), b.astype(np.longdouble)),
    "nothing masked": (np.ma.masked_array(M), np.ma.masked_array(b)),
    "sparse": (sp.coo_array(M), b),
    "frame": (FRAME, pd.Series(b)),
    "frame of one column": (FRAME, pd.DataFrame({"y": b})),
    "index of its own": (FRAME.set_axis(range(30, 0, -1)), pd.Series(b, index=range(7, 37))),
}


@pytest.mark.parametrize("name", SAME)
def test_the_same_in_other_clothes(name):
    A, y = SAME[name]
    np.testing.assert_allclose(fit(A, y).x, ONE.x, atol=1e-12)
    np.testing.assert_allclose(path(A, y)[2].x, ONE.x, atol=1e-12)
    np.testing.assert_allclose(ONE.predict(A), ONE.predict(M), atol=1e-12)
    np.testing.assert_allclose(many(A, np.column_stack([np.ravel(y), b[::-1]])).x, MANY.x, atol=1e-12)


@pytest.mark.parametrize("kind", [np.float32, np.float16, np.int64, np.int8, np.uint8, bool, "Int64"])
def test_numbers_of_other_types(kind):
    if kind == "Int64":
        A, y = FRAME.round().astype(kind), pd.Series(np.round(b).astype(int), dtype=kind)
        plain = np.round(M), np.round(b)
    else:
        A, y = (np.abs(v * 3).astype(kind) for v in (M, b))
        plain = A.astype(np.float64), y.astype(np.float64)
    before = A.copy(), y.copy()
    np.testing.assert_allclose(fit(A, y).x, fit(*plain).x, atol=1e-12)
    np.testing.assert_allclose(ONE.predict(A), ONE.predict(plain[0]), atol=1e-12)
    for now, then in zip((A, y), before, strict=True):
        assert now.equals(then) if kind == "Int64" else np.array_equal(now, then)


@pytest.mark.parametrize("labels", [TWO, list(TWO), TWO == "yes", pd.Series(TWO), pd.Series(TWO).astype("category")])
def test_labels_in_other_clothes(labels):
    s = fit(y=labels, **LABELS)
    np.testing.assert_allclose(s.x, SURE.x, atol=1e-12)
    np.testing.assert_allclose(s.predict_proba(FRAME), SURE.predict_proba(M), atol=1e-12)


# What is refused ------------------------------------------------------------------------------------------------------

RAGGED = [[1.0], [1.0, 2.0]] * 15
MASKED = np.ma.masked_array(B, B > 1)
REFUSED = {
    # M
    "M, one row": (lambda: fit(M[0]), "M must be a matrix (2 axes); got shape (12,)"),
    "M, turned": (lambda: fit(M.T), "b must have 12 entries (the rows of M); got shape (30,)"),
    "M and b, exchanged": (lambda: fit(b, M), "M must be a matrix (2 axes); got shape (30,)"),
    "M, few columns": (lambda: fit(M[:, 1:]), "atoms must live in the space that M takes, 11 entries"),
    "M, a word": (lambda: fit("M"), "M must be an array, a SciPy sparse matrix, a data frame"),
    "M, nothing": (lambda: many(None), "M must be an array, a SciPy sparse matrix, a data frame"),
    "M, nan": (lambda: path(holding((30, 12), np.nan)), "M must hold finite numbers only; it contains nan"),
    "M, empty": (lambda: fit(M[:0]), "M must have at least one row and one column; got shape (0, 12)"),
    "M, objects": (lambda: fit(M.astype(object)), "M must hold real numbers; got an array of object: if they are num"),
    "M, words": (lambda: fit(M.astype(str)), "M must hold real numbers; got an array of <U"),
    "M, complex": (lambda: many(M + 0j), "M must be real; got complex128"),
    "M, masked": (lambda: fit(np.ma.masked_array(M, M > 1)), "M must not have masked entries"),
    "M, ragged": (lambda: fit(RAGGED), "M must be a matrix, with rows of one length"),
    "M, text": (lambda: fit(FRAME.assign(c3="a")), "M must have numbers in all columns; these hold others: 'c3'"),
    "M, missing": (lambda: fit(FRAME.assign(c3=np.nan)), "M must have no missing values; got 30 in column 'c3'"),
    # b
    "b, a column": (lambda: fit(y=b[:, None]), "b must be one data vector; got shape (30, 1): pass b.ravel()"),
    "b, a row": (
        lambda: fit(y=b[None]),
        "b must have m = 30 rows, one column per data vector; got shape (1, 30): pass",
    ),
    "b, short": (lambda: choose(y=b[1:]), "b must have 30 entries (the rows of M); got shape (29,)"),
    "b, a number": (lambda: fit(y=1.0), "b must be a vector of length m = 30; got 1.0"),
    "b, nothing": (lambda: fit(y=None, **LABELS), "b must be a vector of length m = 30; got None"),
    "b, a word": (lambda: fit(y="yes", **CLASSES), "b must be a vector of length m = 30; got 'yes'"),
    "b, a mapping": (lambda: fit(y={"y": b}), "b must be a vector of length m = 30; got {'y': array(["),
    "b, empty": (lambda: path(y=[]), "b must have at least one entry; got shape (0,)"),
    "b, nan": (lambda: fit(y=holding(30, np.nan)), "b must hold finite numbers only; it contains nan"),
    "b, complex": (lambda: fit(y=b + 1j), "b must be real; got an array of complex128"),
    "b, words": (lambda: fit(y=TWO), "b must hold real numbers; got an array of <U"),
    "b, objects": (
        lambda: fit(y=b.astype(object)),
        "b must hold real numbers; got an array of object: if they are num",
    ),
    "b, ragged": (lambda: fit(y=RAGGED), "b must be an array, with rows of one length; got rows of different lengths"),
    "b, masked": (lambda: fit(y=np.ma.masked_array(b, b > 1)), "b must not have masked entries"),
    "b, sparse": (
        lambda: fit(y=sp.csr_array(b[:, None])),
        "b must be a dense array; got a sparse one: pass b.toarray()",
    ),
    "b, joint sparse": (
        lambda: fit(y=sp.csr_array(B), atoms=fa.Joint(ATOMS)),
        "b must have a column per data vector for Joint(SignedOneHot(12)); got a sparse array: pass b.toarray()",
    ),
    "b, dates": (
        lambda: fit(y=np.arange(30).astype("M8[D]")),
        "b must hold real numbers; got an array of datetime64[D]",
    ),
    # labels
    "labels, numbers": (
        lambda: fit(y=b, **CLASSES),
        "b must hold labels, several data in a class; got 30 numbers, all",
    ),
    "labels, complex": (
        lambda: fit(y=b + 0j, **CLASSES),
        "b must hold labels such as numbers or strings with Multinom",
    ),
    "labels, infinite": (
        lambda: fit(y=holding(30, np.inf), **CLASSES),
        "b must hold finite numbers only; it contains inf",
    ),
    "labels, missing": (
        lambda: fit(y=holding(30, None, object), **LABELS),
        "b must have a label for every datum; 1 are",
    ),
    "labels, three": (lambda: fit(y=THREE, **LABELS), "b must hold labels of two classes with Logistic(); got 3"),
    "labels, one": (
        lambda: fit(y=["a"] * 30, **CLASSES),
        "b must hold labels of two classes or more with Multinomial()",
    ),
    # several data vectors
    "B, masked": (lambda: many(Y=MASKED), f"B must not have masked entries; {MASKED.mask.sum()} are masked"),
    "B, one": (lambda: many(Y=b), "B must have a column per data vector; got shape (30,): fit takes a single one"),
    "B, turned": (
        lambda: many(Y=B.T),
        "B must have m = 30 rows, one column per data vector; got shape (2, 30): pass B.T",
    ),
    "B, objects": (
        lambda: many(Y=B.astype(object)),
        "B must hold real numbers; got an array of object: if they are num",
    ),
    "B, complex": (lambda: many(Y=B + 0j), "B must be real; got an array of complex128"),
    "B, ragged": (lambda: many(Y=RAGGED), "B must be an array, with rows of one length; got rows of different lengths"),
    "B, three classes": (lambda: many(Y=THREE[:, None], **LABELS), "B must hold labels of two classes with Logistic()"),
    "B, sparse": (lambda: many(Y=sp.csr_array(B)), "B must be an array; got a sparse matrix of shape (30, 2)"),
    # k
    "k, none": (
        lambda: fit(k=0),
        "k must be an integer between 1 and 12, the number of atoms of SignedOneHot(12); got 0",
    ),
    "k, too many": (
        lambda: many(k=13),
        "k must be an integer between 1 and 12, the number of atoms of SignedOneHot(12)",
    ),
    "k, a float": (
        lambda: fit(k=2.0),
        "k must be an integer between 1 and 12, the number of atoms of SignedOneHot(12)",
    ),
    "k, a word": (lambda: fit(k="2"), "k must be an integer between 1 and 12, the number of atoms of SignedOneHot(12)"),
    "k, an array": (
        lambda: fit(k=np.array([2])),
        "k must be an integer between 1 and 12, the number of atoms of Signed",
    ),
    "k, one for a path": (lambda: path(k=3), "k must be an iterable of budgets such as range(1, 51); got 3"),
    "k, an array for a path": (
        lambda: path(k=np.array(3)),
        "k must be an iterable of budgets such as range(1, 51); got",
    ),
    "k, word for a path": (lambda: choose(k="12"), "k must be an iterable of budgets such as range(1, 51); got '12'"),
    "k, from nothing": (
        lambda: path(k=range(3)),
        "k must be an integer between 1 and 12, the number of atoms of Signed",
    ),
    "k, twice": (
        lambda: choose(k=[1, 1]),
        "k must be an iterable of budgets such as range(1, 51), each once; got [1, 1]",
    ),
    # other words
    "alpha, an array": (
        lambda: fit(alpha=np.ones(1)),
        "alpha must be a nonnegative finite number; got an array of shape",
    ),
    "alpha, beyond floats": (lambda: fit(alpha=10**400), "alpha must be a nonnegative finite number; got 1000"),
    "atoms, a matrix": (
        lambda: fit(atoms=M),
        "atoms must be an atomic set such as SignedOneHot(n); got an array of shape",
    ),
    "atoms, a class": (
        lambda: fit(atoms=fa.SignedOneHot),
        "atoms must be an atomic set such as SignedOneHot(n); got the c",
    ),
    "loss, a class": (
        lambda: fit(loss=fa.Logistic),
        "loss must be a Loss such as LeastSquares(), Huber(1.0) or Logistic()",
    ),
    "rng, a word": (
        lambda: many(rng="a"),
        "rng must be None, a seed or a generator that numpy.random.default_rng accepts",
    ),
    "callback, a number": (
        lambda: PATH.choose_k("cv", callback=3),
        "callback must be callable, a function of a Progress",
    ),
    "by, unknown": (lambda: choose(by="aic"), "by must be one of 'cv', 'held-out', 'bic', 'ebic', 'elbow'; got 'aic'"),
    "folds, one": (lambda: choose(folds=1), "folds must be an integer between 2 and 30; got 1"),
    "fit_intercept": (lambda: fit(fit_intercept=True), "fit_intercept is no word of fit, which takes M, b, atoms"),
    # predictions
    "new, one row": (lambda: SURE.predict_proba(M[0]), "M_new must be a matrix (2 axes); got shape (12,)"),
    "new, missing name": (lambda: fit(FRAME).predict(FRAME.drop(columns="c3")), "M_new must have the columns that the"),
    "new, numbers": (lambda: ONE.predict_proba(M), "probabilities are for answers to labels"),
    "free, not there": (
        lambda: ONE.predict(M, free=b),
        "free must be left out: nothing was fitted beside the atoms; got an",
    ),
    "free, missing": (lambda: FREE.predict(M), "free must give the 2 free columns for the new data; got None"),
    "free, one": (
        lambda: FREE.predict(M, free=b),
        "free must have shape (30, 2), a column per free coefficient; got shape",
    ),
    "free, a word": (
        lambda: FREE.predict(M, free="intercept"),
        "free must have shape (30, 2), a column per free coeff",
    ),
    "free, nan": (lambda: FREE.predict(M, free=B * np.nan), "free must hold finite numbers only; it contains nan"),
    "free, complex": (lambda: FREE.predict(M, free=B + 0j), "free must be real; got an array of complex128"),
    "free, masked": (lambda: FREE.predict(M, free=MASKED), "free must not have masked entries"),
    "free, objects": (
        lambda: FREE.predict(M, free=B.astype(object)),
        "free must hold real numbers; got an array of obj",
    ),
    "free, ragged": (lambda: FREE.predict(M, free=RAGGED), "free must be an array, with rows of one length"),
    # files
    "file, nothing": (lambda: ONE.save(None), "file must be the name of a file, a string or a pathlib.Path; got None"),
    "file, a number": (lambda: PATH.save(3), "file must be the name of a file, a string or a pathlib.Path; got 3"),
    "file, bytes": (
        lambda: MANY.save(b"abc"),
        "file must be the name of a file, a string or a pathlib.Path; got b'abc'",
    ),
    "file, no name": (lambda: ONE.save(""), "file must be the name of a file, a string or a pathlib.Path; got ''"),
    "file, zero": (
        lambda: fa.load("a\0b"),
        "file must be the name of a file, a string or a pathlib.Path; got 'a\\x00b'",
    ),
    "file, a stream": (
        lambda: fa.load(io.BytesIO()),
        "file must be the name of a file, a string or a pathlib.Path; got <",
    ),
    "file, not ours": (lambda: fa.load(pathlib.Path(__file__)), "file must be one that save() wrote; "),
}


@pytest.mark.parametrize("name", REFUSED)
def test_wrong_calls_are_told_what_is_wrong(name):
    call, told = REFUSED[name]
    with pytest.raises((ValueError, TypeError), match=f"^{re.escape(told)}"):
        call()


def test_folders_are_no_files(tmp_path):
    with pytest.raises(IsADirectoryError, match=r"^file must be the name of a file; got the folder"):
        ONE.save(tmp_path)
    assert list(tmp_path.iterdir()) == []


def test_what_is_not_on_a_path():
    for k in (9, "a", [1]):
        with pytest.raises(KeyError, match=r"is not on this path; it has \[1, 2\]"):
            PATH[k]
        assert k not in PATH

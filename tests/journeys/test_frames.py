"""With data frames from end to end: names in, names out, names checked."""

import copy
import pickle

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import fewatoms as fa

NAMES = ["age", "sex", "bmi", "bp", "s1", "s2", "s3", "s4"]
N = len(NAMES)
FORMS = {"pandas": lambda f: f, "polars": pl.from_pandas, "pyarrow": pa.Table.from_pandas}


def table(seed=0, m=40):
    """A frame, and data that bmi and s4 explain."""
    rng = np.random.default_rng(seed)
    X = pd.DataFrame(rng.standard_normal((m, N)), columns=NAMES)
    return X, 3.0 * X["bmi"] - 2.0 * X["s4"] + 0.01 * rng.standard_normal(m)


def shuffled(X, seed=1):
    return X[list(np.random.default_rng(seed).permutation(X.columns))]


WORDS = {
    "signed": {"atoms": fa.SignedOneHot(N), "free": "intercept"},
    "nonnegative": {"atoms": fa.NonnegativeOneHot(N), "free": "intercept"},
    "multiple": {"atoms": -2.0 * fa.SignedOneHot(N), "free": "intercept"},
    "restricted": {"atoms": fa.SignedOneHot(N).restricted(include=[1]), "free": "intercept"},
    "huber": {"atoms": fa.SignedOneHot(N), "free": "intercept", "loss": fa.Huber(1.0)},
    "plain": {"atoms": fa.SignedOneHot(N)},
    "single groups": {"atoms": fa.Groups(range(N))},
}


@pytest.mark.parametrize(
    ("name", "form"), [*((name, "pandas") for name in WORDS), ("signed", "polars"), ("signed", "pyarrow")]
)
def test_an_answer_is_that_of_the_array_and_knows_the_columns(name, form):
    X, y = table()
    s = fa.fit(FORMS[form](X), y, k=2, **WORDS[name])
    twin = fa.fit(X.to_numpy(), y.to_numpy(), k=2, **WORDS[name])
    assert s.loss == pytest.approx(twin.loss, rel=1e-9)
    np.testing.assert_array_equal(s.indices, twin.indices)
    assert s.names.tolist() == [NAMES[i] for i in s.indices]
    assert twin.names is None
    new = shuffled(table(1)[0])
    expected = twin.predict(new[NAMES].to_numpy())
    for theirs in FORMS.values():
        np.testing.assert_allclose(s.predict(theirs(new)), expected, rtol=1e-9)
    np.testing.assert_allclose(s.predict(new[NAMES].to_numpy()), expected, rtol=1e-9)  # an array is taken as it is
    np.testing.assert_allclose(s.predict(pd.DataFrame(new[NAMES].to_numpy())), expected, rtol=1e-9)


def test_atoms_are_forced_in_and_left_out_by_name():
    X, y = table()
    one = fa.SignedOneHot(N)
    for atoms, same in (
        (one.restricted(include=["age"]), one.restricted(include=[0])),
        (one.restricted(include="age", exclude=["bmi", 3]), one.restricted(include=[0], exclude=[2, 3])),
        (one.restricted(exclude=[2]).restricted(include="age"), one.restricted(include=[0], exclude=[2])),
        (one.restricted(include="age").restricted(exclude=[2]), one.restricted(include=[0], exclude=[2])),
        (2.0 * one.restricted(include=["age"]), 2.0 * one.restricted(include=[0])),
        ((2.0 * one).restricted(include=["age"]), (2.0 * one).restricted(include=[0])),
        ((2.0 * one.restricted(include="age")).restricted(exclude=2), 2.0 * one.restricted(include=[0], exclude=[2])),
        (one.restricted(exclude=pd.Index(["bmi", "s4"])), one.restricted(exclude=[2, 7])),
        (one.restricted(include={"s1", "bp"}), one.restricted(include=[3, 4])),
        (one.restricted(include=["s1"], exclude=np.arange(N) == 2), one.restricted(include=[4], exclude=[2])),
    ):
        mine, twin = fa.Problem.of(X, y, atoms=atoms).atoms.listing(), same.listing()
        assert (mine.forced.tolist(), mine.barred.tolist()) == (twin.forced.tolist(), twin.barred.tolist())
    s = fa.fit(X, y, atoms=one.restricted(include=["age"], exclude="bmi"), k=2)
    assert set(s.names) == {"age", "s4"}
    union = one.restricted(exclude=["bmi"]) | fa.NonnegativeOneHot(N)
    s = fa.fit(X, y, atoms=union, k=(1, 1))
    assert "bmi" not in s.parts[0].names
    path = fa.fit_path(X, y, atoms=one.restricted(include="age"), k=[1, 2])
    assert path[1].names.tolist() == ["age"]
    many = fa.fit_many(X, y.to_frame("y"), atoms=one.restricted(include="age"), k=1)
    assert many["y"].names.tolist() == ["age"]


def test_names_nobody_has_are_told_with_near_misses():
    X, y = table()
    one = fa.SignedOneHot(N)
    with pytest.raises(
        ValueError, match=r"^include must name columns that are there; 'BMI' is not: did you mean 'bmi'\?$"
    ):
        fa.fit(X, y, atoms=one.restricted(include=["BMI", "age"]), k=2)
    with pytest.raises(
        ValueError, match=r"^exclude must name columns that are there; 'glu' is not: they are called 'age'"
    ):
        fa.fit(X, y, atoms=2.0 * one.restricted(exclude="glu"), k=2)
    told = r"^include must hold numbers of columns unless they have names, as those of a data frame do; got 'bmi'$"
    for M in (X.to_numpy(), pd.DataFrame(X.to_numpy())):
        with pytest.raises(ValueError, match=told):
            fa.fit(M, y, atoms=one.restricted(include=["bmi"]), k=2)
    with pytest.raises(ValueError, match=r"^include must lie between 0 and 7; got 9$"):
        fa.fit(X, y, atoms=one.restricted(include=["bmi", 9]), k=2)
    with pytest.raises(ValueError, match=r"^include and exclude must not share atoms; both name 2$"):
        fa.fit(X, y, atoms=one.restricted(include=["bmi"], exclude=["bmi"]), k=2)
    with pytest.raises(ValueError, match=r"^include is for a set by itself, not for a part of a sum or union"):
        fa.fit(X, y, atoms=one.restricted(include=["bmi"]) + one, k=(1, 1))
    with pytest.raises(ValueError, match=r"restricted\(include=\['bmi'\]\) needs M, a data frame"):
        one.restricted(include=["bmi"]).support(np.zeros(N))


def test_columns_that_are_missing_extra_or_twice_are_told():
    X, y = table()
    s = fa.fit(X, y, atoms=fa.SignedOneHot(N), k=2)
    for new, told in (
        (X.drop(columns=["bmi"]), r"the columns that the model was fitted to; 'bmi' is missing$"),
        (X.assign(id="x"), r"the columns that the model was fitted to; 'id' is not among them$"),
        (X.rename(columns={"bmi": "BMI"}), r"; 'bmi' is missing, 'BMI' is not among them$"),
        (X.rename(columns={"age": "bmi"}), r"columns of different names; 'bmi' is there more than once"),
        (fa.Counting(X[NAMES[::-1]]), r"its columns in the order of M's: a data frame by itself is put in order$"),
        (fa.Counting(X[NAMES[1:]]), r"the columns that the model was fitted to; 'age' is missing$"),
        (X.to_numpy()[:, :5], r"8 columns"),
    ):
        with pytest.raises(ValueError, match=rf"^M_new must have .*{told}"):
            s.predict(new)
    with pytest.raises(ValueError, match=r"^M_new must have no missing values; got 1 in column 's1'"):
        s.predict(X.assign(s1=[np.nan, *X["s1"][1:]]))
    with pytest.raises(TypeError, match=r"a lazy one, polars.LazyFrame: pass M_new.collect\(\)$"):
        s.predict(pl.from_pandas(X).lazy())
    many = fa.fit_many(X, pd.DataFrame({"y": y}), atoms=fa.SignedOneHot(N), k=2)
    with pytest.raises(ValueError, match=r"^M_new must have the columns .*; 'bmi' is missing$"):
        many.predict(X.drop(columns=["bmi"]))


def test_free_columns_have_names_too():
    X, y = table()
    rng = np.random.default_rng(3)
    F = pd.DataFrame({"one": np.ones(40), "day": rng.standard_normal(40)})
    s = fa.fit(X, y + F["day"], atoms=fa.SignedOneHot(N), k=2, free=F)
    np.testing.assert_allclose(s.free_coefficients, [0.0, 1.0], atol=0.02)
    assert s.predict(X, free=F[["day", "one"]]) == pytest.approx(s.predict(X, free=F.to_numpy()))
    assert s.predict(X, free=pl.from_pandas(F)) == pytest.approx(s.predict(X, free=F.to_numpy()))
    with pytest.raises(
        ValueError, match=r"^free must have the columns .*; 'day' is missing, 'week' is not among them$"
    ):
        s.predict(X, free=F.rename(columns={"day": "week"}))
    read = pickle.loads(pickle.dumps(s))
    assert read.predict(X, free=F[["day", "one"]]) == pytest.approx(s.predict(X, free=F.to_numpy()))
    alone = fa.fit(X, y, atoms=fa.SignedOneHot(N), k=2, free=F["day"])
    assert alone.predict(X, free=F["day"]) == pytest.approx(alone.predict(X, free=F[["day"]].to_numpy()))


# Who atoms are --------------------------------------------------------------------------------------------------------


def test_dictionaries_have_names():
    rng = np.random.default_rng(4)
    D = pd.DataFrame(rng.random((30, 6)), columns=["quartz", "gypsum", "calcite", "illite", "talc", "opal"])
    b = 2.0 * D["calcite"] + D["opal"]
    for atoms in (
        fa.Dictionary(D, symmetric=False),
        fa.Dictionary(pl.from_pandas(D), symmetric=True),
        fa.Mapped(D, fa.SignedOneHot(6)),
        3.0 * fa.Dictionary(D, symmetric=True),
    ):
        s = fa.fit(fa.Identity(30), b, atoms=atoms, k=2)
        assert set(s.names) == {"calcite", "opal"}
        kept = pickle.loads(pickle.dumps(s))
        assert_same_names(kept, s)
        forced = fa.fit(fa.Identity(30), b, atoms=atoms.restricted(include=["talc"], exclude="opal"), k=2)
        assert "talc" in forced.names
        assert "opal" not in forced.names
    with pytest.raises(ValueError, match=r"'talk' is not: did you mean 'talc'\?"):
        fa.Dictionary(D, symmetric=True).restricted(include="talk")
    with pytest.raises(ValueError, match=r"^include must hold numbers of columns unless they have names"):
        fa.Dictionary(D.to_numpy(), symmetric=True).restricted(include="talc")
    inside = fa.Mapped(D, fa.SignedOneHot(6).restricted(exclude=["calcite"]))
    assert "calcite" not in fa.fit(fa.Identity(30), b, atoms=inside, k=2).names
    with pytest.raises(ValueError, match=r"^D must have no missing values; got 1 in column 'talc'"):
        fa.Dictionary(D.assign(talc=[None, *D["talc"][1:]]), symmetric=True)


def test_a_dictionary_over_a_frame_has_its_own_names():
    X, y = table()
    D = pd.DataFrame(np.eye(N)[:, ::-1] + 0.1, columns=[f"d{i}" for i in range(N)])
    s = fa.fit(X, y, atoms=fa.Dictionary(D, symmetric=True), k=2)
    assert all(name.startswith("d") for name in s.names)
    np.testing.assert_allclose(s.predict(shuffled(X)), s.predict(X.to_numpy()))
    union = fa.fit(X, y, atoms=fa.SignedOneHot(N) | fa.Dictionary(D, symmetric=True), k=(1, 1))
    assert union.names is None
    assert [part.names[0][0] in "abs" for part in union.parts] == [True, False]
    np.testing.assert_allclose(union.parts[0].predict(shuffled(X)), union.parts[0].predict(X.to_numpy()))
    for part, twin in zip(pickle.loads(pickle.dumps(union)).parts, union.parts, strict=True):
        assert_same_names(part, twin)


def test_labels_of_groups_that_are_words_are_names():
    X, y = table()
    labels = np.array(["body", "body", "body", "blood", "blood", "blood", "serum", "serum"])
    s = fa.fit(X, y, atoms=fa.Groups(labels), k=2)
    assert set(s.names) == {"body", "serum"}
    columns = tuple(NAMES)
    assert fa.Groups(range(N)).called(columns).atoms == columns
    assert fa.Groups([0, 0, 1, 1, 2, 2, 3, 3]).called(columns).atoms is None
    assert fa.Groups([1, 0, 2, 3, 4, 5, 6, 7]).called(columns).atoms is None  # numbers, but of groups
    assert fa.Problem.of(X, y, atoms=fa.Groups(labels).restricted(include="blood")).atoms.listing().forced == [0]


def test_rows_that_data_vectors_share_are_called_as_columns():
    X, y = table()
    B = pd.DataFrame({"y": y, "z": X["age"] + X["bmi"]})
    s = fa.fit(X, B, atoms=fa.Joint(fa.SignedOneHot(N)), k=3, free="intercept")
    assert set(s.names) == {"bmi", "s4", "age"}
    np.testing.assert_allclose(s.predict(shuffled(X)), s.predict(X.to_numpy()))
    np.testing.assert_allclose(s.predict(X), B.to_numpy(), atol=0.2)
    forced = fa.fit(X, B, atoms=fa.Joint(fa.SignedOneHot(N).restricted(include=["s2"])), k=3)
    assert "s2" in forced.names
    again = fa.fit(X, B, atoms=fa.Joint(fa.SignedOneHot(N)).restricted(include=["s2"]), k=3)
    assert_same_names(again, forced)
    one = fa.fit(X, B[["y"]], atoms=fa.Joint(fa.SignedOneHot(N)), k=2)
    assert one.x.shape == (N, 1)


# Data, many of them, paths --------------------------------------------------------------------------------------------


def test_data_may_be_a_series_or_a_frame_of_one_column():
    X, y = table()
    expected = fa.fit(X, y.to_numpy(), atoms=fa.SignedOneHot(N), k=2)
    for b in (
        y,
        y.to_frame(),
        pl.Series(y.to_numpy()),
        pl.DataFrame({"y": y.to_numpy()}),
        pa.table({"y": y.to_numpy()}),
    ):
        s = fa.fit(X, b, atoms=fa.SignedOneHot(N), k=2)
        assert s.loss == expected.loss
    turned = fa.fit(X, y[::-1], atoms=fa.SignedOneHot(N), k=2)  # an index is not looked at
    assert turned.loss == fa.fit(X, y.to_numpy()[::-1], atoms=fa.SignedOneHot(N), k=2).loss
    with pytest.raises(ValueError, match=r"^b must have no missing values; got 1 in column"):
        fa.fit(X, y.where(y.index > 0), atoms=fa.SignedOneHot(N), k=2)
    with pytest.raises(ValueError, match=r"b must be one data vector; got shape \(40, 2\)"):
        fa.fit(X, pd.DataFrame({"y": y, "z": y}), atoms=fa.SignedOneHot(N), k=2)


def test_answers_for_the_columns_of_a_frame(tmp_path):
    X, y = table()
    B = pd.DataFrame({"y": y, "z": X["age"] - X["s1"], "w": X["sex"]})
    many = fa.fit_many(X, B, atoms=fa.SignedOneHot(N), k=2)
    assert many.data_names == ("y", "z", "w")
    assert_same_names(many["z"], many[1])
    assert set(many["z"].names) == {"age", "s1"}
    assert [sorted(names) for names in many.names] == [sorted(s.names) for s in many]
    assert many[1:].data_names == ("z", "w")
    assert many[1:]["w"].loss == many[2].loss
    np.testing.assert_allclose(many.predict(shuffled(X)), many.predict(X.to_numpy()))
    many.save(tmp_path / "answers")
    for other in (fa.load(tmp_path / "answers"), pickle.loads(pickle.dumps(many)), copy.copy(many)):
        assert other.data_names == many.data_names
        assert_same_names(other["z"], many["z"])
        np.testing.assert_array_equal(other.r2, many.r2)
        np.testing.assert_allclose(other.predict(shuffled(X)), many.predict(X))
    again = fa.load(tmp_path / "answers").attach(shuffled(X), B[["w", "y", "z"]])  # both are put in order
    assert again["z"].certificate.attached
    with pytest.raises(ValueError, match=r"'Z' is not: did you mean 'z'\?"):
        many["Z"]
    with pytest.raises(ValueError, match="answers have names where B is a data frame; got 'z': give a number"):
        fa.fit_many(X, B.to_numpy(), atoms=fa.SignedOneHot(N), k=2)["z"]
    assert fa.fit_many(X, B[["y"]], atoms=fa.SignedOneHot(N), k=2).data_names == ("y",)


def test_paths_know_the_columns(tmp_path):
    X, y = table()
    path = fa.fit_path(X, y, atoms=fa.SignedOneHot(N), k=[1, 2, 3], free="intercept")
    assert path.choose_k("bic") == 2
    assert set(path[2].names) == {"bmi", "s4"}
    path.save(tmp_path / "path")
    read = fa.load(tmp_path / "path")
    for k in path:
        assert_same_names(read[k], path[k])
        np.testing.assert_allclose(read[k].predict(shuffled(X)), path[k].predict(X))


def assert_same_names(s, t):
    assert s.names.tolist() == t.names.tolist()


# Kept -----------------------------------------------------------------------------------------------------------------


def test_names_are_kept(tmp_path):
    X, y = table()
    s = fa.fit(X, y, atoms=fa.SignedOneHot(N), k=2, free="intercept")
    s.save(tmp_path / "answer")
    for other in (fa.load(tmp_path / "answer"), pickle.loads(pickle.dumps(s)), copy.copy(s), copy.deepcopy(s)):
        assert_same_names(other, s)
        np.testing.assert_array_equal(other.predict(shuffled(X)), s.predict(X))
        assert str(other) == str(s)
        with pytest.raises(ValueError, match="'bmi' is missing"):
            other.predict(X.drop(columns=["bmi"]))
    read = fa.load(tmp_path / "answer").attach(shuffled(X), y)
    assert read.certificate.attached
    assert_same_names(read, s)
    assert fa.load(tmp_path / "answer").attach(X.to_numpy(), y).certificate.attached
    with pytest.raises(ValueError, match=r"^M must have the columns .*; 'bmi' is missing$"):
        fa.load(tmp_path / "answer").attach(X.drop(columns=["bmi"]), y)


def test_printing_shows_them():
    X, y = table()
    s = fa.fit(X, y, atoms=fa.SignedOneHot(N), k=2, free="intercept")
    first, *rows = str(s).splitlines()
    assert first == repr(s)
    assert [row.split() for row in rows] == [[n, f"{c:.6g}"] for n, c in zip(s.names, s.coefficients, strict=True)]
    plain = fa.fit(X.to_numpy(), y, atoms=fa.SignedOneHot(N), k=2)
    assert str(plain) == repr(plain)
    wide = pd.DataFrame(np.eye(30), columns=[f"c{i}" for i in range(30)])
    rows = str(fa.fit(wide, np.arange(1.0, 31.0), atoms=fa.SignedOneHot(30), k=30)).splitlines()
    assert len(rows) == 22
    assert rows[-1] == "  and 10 more"
    both = str(fa.fit(X, pd.DataFrame({"y": y, "z": y}), atoms=fa.Joint(fa.SignedOneHot(N)), k=1)).splitlines()
    assert both[1].startswith("  bmi  ")
    assert both[1].count(",") == 1


def test_frames_are_left_as_they_are():
    X, y = table()
    before, values = X.copy(), y.copy()
    s = fa.fit(X, y, atoms=fa.SignedOneHot(N).restricted(include="age"), k=2, free="intercept")
    s.predict(shuffled(X))
    pd.testing.assert_frame_equal(X, before)
    pd.testing.assert_series_equal(y, values)

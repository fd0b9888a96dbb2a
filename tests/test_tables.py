"""An answer atom by atom, in the form in which M came."""

import copy
import pickle
import sys

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import fewatoms as fa
from answers import NAMES, answer, cases
from fewatoms import frames, tables

FORMS = {"pandas": lambda f: f, "polars": pl.from_pandas, "pyarrow": pa.Table.from_pandas}
KEYS = ["contribution", "cost"]


def frame():
    case = cases()["signed"]
    return pd.DataFrame(case.M, columns=[f"x{i}" for i in range(20)]), case.b


def rows_of(table):
    """A frame of any kind as records."""
    if isinstance(table, pa.Table):
        return table.to_pylist()
    return table.to_dict("records") if isinstance(table, pd.DataFrame) else table.to_dicts()


@pytest.mark.parametrize("name", NAMES)
def test_every_answer_has_a_record_for_each_atom(name):
    s = answer(name)
    records = s.table()
    assert len(records) == s.cardinality
    at = 0
    for part in s.parts:
        mine = records[at : at + part.cardinality]
        at += part.cardinality
        told = [record.get("name", record.get("atom")) for record in mine]
        labels = part.indices if part.names is None else part.names
        assert told == [tuple(v) if isinstance(v, list) else v for v in labels.tolist()]
        if part.coefficients.ndim == 1 and part.coefficients.dtype.kind == "f":
            assert [record["coefficient"] for record in mine] == part.coefficients.tolist()
    assert all([*record][-2:] == KEYS for record in records)
    if records and s.compact[0].spans() is not None:
        assert sum(record["contribution"] for record in records) == pytest.approx(1.0, rel=1e-12)
        assert all(record["cost"] >= -1e-9 * s.objective for record in records)
    elif records:
        parts = {record.get("part", 0) for record in records}
        assert sum(record["contribution"] for record in records) == pytest.approx(len(parts), rel=1e-12)
        assert {record["cost"] for record in records} == {None}


@pytest.mark.parametrize("form", FORMS)
def test_a_frame_in_a_frame_out(form):
    X, b = frame()
    given = FORMS[form](X)
    s = fa.fit(given, b, atoms=fa.SignedOneHot(20), k=3)
    table, plain = s.table(), answer("signed").table()
    assert type(table) is type(given)
    for mine, theirs in zip(rows_of(table), plain, strict=True):
        assert mine["name"] == f"x{theirs['atom']}"
        for key in ("coefficient", *KEYS):
            assert mine[key] == pytest.approx(theirs[key], rel=1e-9)
    none = fa.fit(given, 0.0 * b, atoms=fa.SignedOneHot(20), k=3).table()
    assert type(none) is type(given)
    assert rows_of(none) == []
    many = fa.fit_many(given, np.column_stack([b, b]), atoms=fa.SignedOneHot(20), k=3)
    assert type(many[0].table()) is type(given)
    assert rows_of(many[1].table())[0]["cost"] == pytest.approx(plain[0]["cost"], rel=1e-9)


def test_frames_of_groups_pairs_and_classes():
    X, b = frame()
    s = fa.fit(X, b, atoms=fa.Groups(np.minimum(np.arange(20) // 3, 4)), k=2)
    table = s.table()
    assert [*table.columns] == ["atom", "length", "size", *KEYS]
    for (_, row), c in zip(table.iterrows(), s.coefficients, strict=True):
        assert (row["length"], row["size"]) == (pytest.approx(np.linalg.norm(c)), len(c))
    species = np.array(["a", "b", "c"])[np.digitize(b, [-3.0, 3.0])]
    s = fa.fit(X, species, atoms=fa.SignedOneHot(20), k=2, loss=fa.Multinomial(), ridge=0.1)
    table = s.table()
    assert [*table.columns] == ["name", *(f"coefficient of {c}" for c in "abc"), *KEYS]
    np.testing.assert_array_equal(table[[f"coefficient of {c}" for c in "abc"]].to_numpy(), s.coefficients)
    joint = fa.fit(X, np.column_stack([b, b[::-1]]), atoms=fa.Joint(fa.Groups(np.arange(20) // 2)), k=2)
    columns = joint.table()
    assert [*columns.columns] == ["atom", "length of 0", "length of 1", "size", *KEYS]
    first = joint.x[np.arange(20) // 2 == columns["atom"][0]]
    np.testing.assert_allclose(columns.iloc[0, 1:3].to_numpy(float), np.linalg.norm(first, axis=0), rtol=1e-12)
    assert columns["size"].tolist() == [2, 2]


def of_two_groups(form=lambda f: f, **more):
    """One group of a single column with a negative coefficient, one of two columns."""
    rng = np.random.default_rng(0)
    X = pd.DataFrame(rng.standard_normal((40, 6)), columns=[*"abcdef"])
    b = X.to_numpy() @ [-3.0, 0.0, 1.0, -2.0, 0.0, 0.0] + 0.1 * rng.standard_normal(40)
    return fa.fit(form(X), b, atoms=fa.Groups({"cd": ["c", "d"], "ef": ["e", "f"]}), k=2, **more)


@pytest.mark.parametrize("form", FORMS)
def test_coefficients_of_groups_keep_their_signs(form):
    s = of_two_groups(FORMS[form])
    single, pair = rows_of(s.table())
    assert single["name"] == "a"
    assert single["coefficient"] == s.x[0] < 0
    assert pair["name"] == "cd"
    assert pair["coefficient"] is None or np.isnan(pair["coefficient"])
    assert (pair["length"], pair["size"]) == (pytest.approx(np.linalg.norm(s.x[2:4])), 2)


def test_all_who_tell_of_groups_agree(tmp_path):
    s = of_two_groups()
    s.table()
    s.save(tmp_path / "s.npz")
    back = fa.load(tmp_path / "s.npz")
    listed = [f"  a   {s.x[0]:.6g}", f"  cd  c {s.x[2]:.6g}, d {s.x[3]:.6g}"]
    for answer_ in (s, back):
        assert str(answer_).splitlines()[1:] == listed
        assert f">{s.x[0]:.6g}</td>" in answer_._repr_html_()
        assert f"{s.x[0]:.6g}" in answer_.summary()
        assert answer_.members == [["a"], ["c", "d"]]
    assert back.by_atom == s.by_atom


def test_members_of_groups_one_by_one_and_sums_that_are_right():
    s = of_two_groups()
    told = tables.by_member(s, s.measures)
    assert told["group"] == ["a", "cd", "cd"]
    assert told["name"] == ["a", "c", "d"]
    assert told["coefficient"] == s.x[[0, 2, 3]].tolist()
    for key in KEYS:
        assert told[key] == [s.by_atom[key][0], s.by_atom[key][1], None]
    numbered = fa.fit(np.eye(4), [1.0, -2.0, 3.0, 0.0], atoms=fa.Groups([0, 1, 1, 2]), k=2)
    told = tables.by_member(numbered, numbered.measures)
    assert (told["group"], told["atom"], told["coefficient"]) == ([1, 1, 0], [1, 2, 0], [-2.0, 3.0, 1.0])
    joint = fa.fit(
        np.eye(4), np.outer([1.0, -2.0, 3.0, 0.0], [1.0, -1.0]), atoms=fa.Joint(fa.Groups([0, 1, 1, 2])), k=2
    )
    told = tables.by_member(joint, joint.measures)
    assert (told["atom"], told["coefficient of 1"]) == ([1, 2, 0], [2.0, -3.0, -1.0])
    plain = answer("signed")
    assert tables.by_member(plain, plain.measures) == plain.by_atom


@pytest.mark.parametrize("name", ["signed", "groups, numbers", "labels", "classes", "demixing"])
def test_files_keep_what_was_asked_for(name, tmp_path):
    s = cases()[name].fit()
    s.save(tmp_path / "before.npz")
    blank = fa.load(tmp_path / "before.npz").table()
    assert all(record["contribution"] is record["cost"] is None for record in blank)
    told = s.table()
    assert [{**record, "contribution": None, "cost": None} for record in told] == blank
    s.save(tmp_path / "after.npz")
    for back in (fa.load(tmp_path / "after.npz"), pickle.loads(pickle.dumps(s)), copy.deepcopy(s)):
        assert back.table() == told
    again = cases()[name].attach(fa.load(tmp_path / "before.npz"))
    for mine, theirs in zip(again.table(), told, strict=True):
        assert mine["cost"] == pytest.approx(theirs["cost"], rel=1e-6)


@pytest.mark.parametrize("form", FORMS)
def test_tables_after_a_pickle_are_frames_of_the_same_kind(form, tmp_path, monkeypatch):
    X, b = frame()
    path = fa.fit_path(FORMS[form](X), b, atoms=fa.SignedOneHot(20), k=[1, 2])
    known = path[2].table()
    path.save(tmp_path / "path.npz")
    for back in (fa.load(tmp_path / "path.npz"), pickle.loads(pickle.dumps(path))):
        assert type(back[2].table()) is type(known)
        assert rows_of(back[2].table()) == rows_of(known)
        assert type(back[1].table()) is type(known)  # nobody asked for its contributions
    monkeypatch.setitem(sys.modules, form, None)  # not installed where it is read
    assert back[2].table() == rows_of(known)


def test_files_name_no_other_kinds_of_frames():
    class Own(type(frame()[0])):
        pass

    X, b = frame()
    s = fa.fit(Own(X), b, atoms=fa.SignedOneHot(20), k=2)
    assert isinstance(s.table(), Own)
    assert isinstance(pickle.loads(pickle.dumps(s)).table(), list)
    assert frames.maker_of("os.system") is frames.maker_of(None) is None


def test_low_rank_answers_keep_their_shares(tmp_path):
    s = answer("completion")
    s.save(tmp_path / "s.npz")
    assert fa.load(tmp_path / "s.npz").table() == s.table()

"""Commands do what the doors do: the same atoms, equal coefficients, whatever file the data come in."""

import csv as text
import json
import signal
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import scipy.sparse as sp

import fewatoms as fa
from cli.small import SPECTRA, csv, flowers, houses, mixtures, ratings, sensors, video
from fewatoms import cli, io
from fewatoms.cli.session import Session


@pytest.fixture(autouse=True)
def here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return tmp_path


def told(capsys, *words):
    """The summary that a call prints, and its exit code."""
    code = cli.main([*map(str, words), "--json"])
    return json.loads(capsys.readouterr().out), code


def planted(seed=0, rows=40, columns=12):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((rows, columns))
    y = X[:, [2, 5, 7]] @ [1.0, -2.0, 0.5] + 3.0 + 0.1 * rng.standard_normal(rows)
    return X, y, tuple(f"x{j}" for j in range(columns))


def written(name, X, y, names):
    """The same data in a file of another kind; what the call is then."""
    if name == "data.npz":
        np.savez(name, X=X, y=y)
        return [name]
    if name == "data.svm":
        lines = [f"{b!r} " + " ".join(f"{j + 1}:{v!r}" for j, v in enumerate(row)) for b, row in zip(y, X, strict=True)]
        Path(name).write_text("\n".join(lines).replace("np.float64(", "").replace(")", ""))
        return [name]
    if name == "data.npy":
        np.save(name, np.column_stack([X, y]))
        return [name, "--target", str(X.shape[1] + 1)]
    if name == "data.mtx":
        import scipy.io

        scipy.io.mmwrite(name, sp.coo_array(np.column_stack([X, y])), precision=17)
        return [name, "--target", str(X.shape[1] + 1)]
    io.write_table(name, {**dict(zip(names, X.T, strict=True)), "y": y})
    return [name, "--target", "y"]


@pytest.mark.parametrize(
    "name", ["data.csv", "data.csv.gz", "data.tsv", "data.parquet", "data.npy", "data.npz", "data.mtx", "data.svm"]
)
def test_a_fit_is_that_of_the_door_in_every_kind_of_file(name, capsys):
    X, y, names = planted()
    call = written(name, X, y, names)
    s = fa.fit(X, y, atoms=fa.SignedOneHot(12), k=3, free="intercept")
    summary, code = told(capsys, "fit", *call, "-k", 3)
    assert code == 0
    table = summary["answer"]["table"]
    assert sorted(s.indices.tolist()) == [2, 5, 7]
    np.testing.assert_allclose([row["coefficient"] for row in table], s.coefficients, rtol=1e-9)
    assert summary["answer"]["intercept"] == pytest.approx(s.intercept, rel=1e-9)
    assert summary["answer"]["loss"] == pytest.approx(s.loss, rel=1e-9)
    if "csv" in name or name.endswith(("tsv", "parquet")):
        assert [row["name"] for row in table] == [names[i] for i in s.indices]


def test_a_range_is_chosen_as_the_path_chooses(capsys):
    X, y, names = planted(1)
    call = written("data.csv", X, y, names)
    path = fa.fit_path(X, y, atoms=fa.SignedOneHot(12), k=range(1, 7), free="intercept")
    path.choose_k("cv")
    summary, _ = told(capsys, "fit", *call, "-k", "1:6")
    assert summary["answer"]["atoms"] == path.chosen
    np.testing.assert_allclose([row["coefficient"] for row in summary["answer"]["table"]], path.best.coefficients)
    summary, _ = told(capsys, "path", *call, "-k", "1:6", "--table", "path.csv")
    assert summary["answer"]["chosen"] == path.chosen
    np.testing.assert_allclose(io.read_table("path.csv").columns["score"], path.scores["cv"])


def test_options_are_words_of_the_door(capsys):
    X, y, names = planted(2)
    weights = np.random.default_rng(3).uniform(0.5, 2.0, len(y))
    csv("data.csv", {**dict(zip(names, X.T, strict=True)), "w": weights, "y": y})
    call = ["fit", "data.csv", "--target", "y", "--weights", "w", "-k", 3]
    wanted = {
        ("--ridge", "0.5"): {"ridge": 0.5},
        ("--positive",): {"atoms": fa.NonnegativeOneHot(12)},
        ("--no-intercept", "--effort", "quick"): {"free": None, "effort": "quick"},
        ("--loss", "huber", "--delta", "0.2"): {"loss": fa.Huber(0.2, weights)},
        ("--misfit", "0.3"): {"misfit": 0.3},
    }
    for words, door in wanted.items():
        base = {"atoms": fa.SignedOneHot(12), "free": "intercept", "loss": fa.LeastSquares(weights)}
        s = fa.fit(X, y, k=3, **{**base, **door})
        summary, code = told(capsys, *call, *words)
        assert code == (0 if s.success else 1)
        assert summary["answer"]["loss"] == pytest.approx(s.loss, rel=1e-9)
        assert len(summary["answer"]["table"]) == s.cardinality


def test_a_bound_that_is_missed_is_exit_code_one(capsys):
    call = written("data.csv", *planted())
    summary, code = told(capsys, "fit", *call, "-k", 1, "--misfit", 1e-6, "--out", "model.npz")
    assert code == summary["exit_code"] == 1
    assert summary["answer"]["success"] is False
    assert Path("model.npz").exists()


def test_categories_missing_values_and_predictions(capsys):
    """A table with words, gaps and columns that say nothing; the model knows how to read another one."""
    rng = np.random.default_rng(4)
    table = houses(rng, 80)
    area = [("" if i % 9 == 0 else v) for i, v in enumerate(table["area"])]
    csv("homes.csv", {**table, "area": area, "one": np.ones(80, dtype=int), "none": [""] * 80})
    words = ["--target", "price", "-k", 3, "--categorical", "city", "--drop", "id", "--out", "model.npz"]
    summary, code = told(capsys, "fit", "homes.csv", *words, "--missing", "mean")
    assert code == 0
    assert len(summary["notes"]) == 2
    assert any("'one'" in note and "constant" in note for note in summary["notes"])
    known = np.array([v for v in area if v != ""], dtype=float)
    filled = np.array([known.mean() if v == "" else v for v in area], dtype=float)
    levels, counts = np.unique(table["city"], return_counts=True)
    dummies = [name for name in levels if name != levels[counts.argmax()]]
    X = np.column_stack([*(table["city"] == name for name in dummies), table["rooms"], table["age"], filled])
    s = fa.fit(
        X.astype(float),
        table["price"],
        atoms=fa.Groups(["city", "city", "rooms", "age", "area"]),
        k=3,
        free="intercept",
    )
    assert summary["answer"]["loss"] == pytest.approx(s.loss, rel=1e-8)
    rows = summary["answer"]["table"]
    assert {row["group"] for row in rows} == {"city", "area", "age"}
    assert sum(row["contribution"] or 0.0 for row in rows) == pytest.approx(1.0)
    for record in fa.load("model.npz").table():
        (*_, first) = (row for row in rows[::-1] if row["group"] == record["name"])
        assert record["coefficient"] == (first["coefficient"] if record["size"] == 1 else None)
    assert cli.main(["predict", "model.npz", "homes.csv", "--out", "p.parquet", "--quiet"]) == 0
    np.testing.assert_allclose(io.read_table("p.parquet").columns["price"], s.predict(X.astype(float)), rtol=1e-8)
    assert isinstance(fa.load("model.npz"), fa.Solution)  # the same file is an answer in Python


def test_rows_with_gaps_are_left_out_if_that_is_asked_for(capsys):
    X, y, names = planted(5)
    X[3, 2] = X[8, 11] = np.nan
    call = written("data.csv", X, y, names)
    summary, _ = told(capsys, "fit", *call, "-k", 3, "--missing", "drop", "--out", "model.npz")
    whole = ~np.isnan(X).any(axis=1)
    s = fa.fit(X[whole], y[whole], atoms=fa.SignedOneHot(12), k=3, free="intercept")
    assert summary["data"]["rows"] == whole.sum()
    assert summary["answer"]["loss"] == pytest.approx(s.loss)
    assert cli.main(["predict", "model.npz", "data.csv"]) == 0
    printed = list(text.DictReader(capsys.readouterr().out.splitlines()))
    assert [row["y"] == "" for row in printed] == (~np.isfinite(X[:, 2])).tolist()  # the other column is not used


@pytest.mark.parametrize("species", [2, 3])
def test_classes_with_probabilities(species, capsys):
    rng = np.random.default_rng(6)
    table = flowers(rng)
    if species == 3:
        table["species"] = np.where(table["x0"] > 0.8, "lily", table["species"])
    csv("flowers.csv", table)
    words = ["--target", "species", "--classes", "-k", 2, "--ridge", 0.05, "--out", "model.npz"]
    summary, code = told(capsys, "fit", "flowers.csv", *words)
    assert code == 0
    X = np.column_stack([table[f"x{j}"] for j in range(4)])
    loss = fa.Logistic() if species == 2 else fa.Multinomial()
    s = fa.fit(X, table["species"], atoms=fa.SignedOneHot(4), k=2, loss=loss, ridge=0.05, free="intercept")
    assert summary["data"]["classes"] == s.classes.tolist()
    assert cli.main(["predict", "model.npz", "flowers.csv", "--out", "p.csv", "--quiet"]) == 0
    told_so = io.read_table("p.csv")
    P = s.predict_proba(X)
    np.testing.assert_allclose(told_so.numeric([f"p({c})" for c in s.classes]), P, rtol=1e-6)
    assert told_so.columns["species"].tolist() == s.classes[P.argmax(axis=1)].tolist()


def test_groups_by_separator_and_by_file_are_the_same(capsys):
    table = sensors(np.random.default_rng(7))
    csv("sensors.csv", table)
    names = [name for name in table if name != "load"]
    csv("groups.csv", {"name": names, "group": [name.split("_")[0] for name in names]})
    call = ["fit", "sensors.csv", "--target", "load", "-k", 2, "--group-by"]
    one, two = (told(capsys, *call, how)[0]["answer"] for how in ("_", "groups.csv"))
    assert one == two
    assert {row["group"] for row in one["table"]} == {"wind", "rain"}


def test_complete_fills_predicts_recommends_and_saves(capsys):
    known = ratings(np.random.default_rng(8))
    csv("ratings.csv", known)
    users, i = np.unique(known["user"], return_inverse=True)
    items, j = np.unique(known["item"], return_inverse=True)
    s = fa.fit(fa.Sampling(i, j, (12, 9)), known["rating"], atoms=fa.RankOne(12, 9), k=2)
    X = s.left @ s.right.T
    summary, code = told(
        capsys, "complete", "ratings.csv", "--rank", 2, "--ridge", 0, "--out", "filled.parquet", "--model", "m.npz"
    )
    assert code == 0
    assert summary["answer"]["loss"] == pytest.approx(s.loss, rel=1e-6, abs=1e-9)
    filled = io.read_table("filled.parquet")
    at = np.searchsorted(users, filled.columns["user"].astype(str)), np.searchsorted(items, filled.columns["item"])
    expected = X.copy()
    expected[i, j] = known["rating"]
    np.testing.assert_allclose(filled.columns["rating"], expected[at], atol=1e-6)
    csv("pairs.csv", {"item": [104, 104, 999], "user": ["u3", "u0", "u3"]})
    assert cli.main(["predict", "m.npz", "pairs.csv", "--out", "p.csv", "--quiet"]) == 0
    values = io.read_table("p.csv").columns["rating"]
    col = np.searchsorted(items, 104)
    rows = np.searchsorted(users, ["u3", "u0"])
    np.testing.assert_allclose(values[:2], X[rows, col], atol=1e-6)
    np.testing.assert_allclose(values[2], known["rating"].mean(), rtol=1e-6)  # an id not known: as in Python
    assert cli.main(["complete", "ratings.csv", "--rank", "2", "--top", "2", "--out", "top.csv", "--quiet"]) == 0
    best = io.read_table("top.csv")
    seen = {*zip(known["user"], known["item"].tolist(), strict=True)}
    assert not seen & {*zip(best.columns["user"], best.columns["item"].tolist(), strict=True)}
    assert isinstance(fa.load("m.npz"), fa.LowRank)


def test_repeated_ids_are_averaged_and_values_kept_to_the_scale(capsys):
    known = ratings(np.random.default_rng(9))
    twice = {name: [*column, *list(column)[:10]] for name, column in known.items()}
    twice["rating"] = [*known["rating"], *(np.asarray(known["rating"])[:10] + 1)]
    csv("twice.csv", twice)
    words = ["--rank", "1", "--duplicates", "mean", "--clip", "2:4", "--out", "x.npy", "--quiet"]
    assert cli.main(["complete", "twice.csv", *words]) == 0
    X = np.load("x.npy")
    averaged = np.array(known["rating"]) + 0.5 * (np.arange(len(known["rating"])) < 10)
    _, i = np.unique(known["user"], return_inverse=True)
    _, j = np.unique(known["item"], return_inverse=True)
    given = np.zeros(X.shape, dtype=bool)
    given[i, j] = True
    assert np.sort(X[given]) == pytest.approx(np.sort(averaged))
    assert ((X >= 2) & (X <= 4))[~given].all()


@pytest.mark.parametrize("turned", [False, True])
def test_unmix_finds_bands_by_their_number(turned, capsys):
    library, scene = mixtures(np.random.default_rng(10))
    csv("spectra.csv", library)
    np.save("scene.npy", scene.T if turned else scene)
    summary, code = told(capsys, "unmix", "scene.npy", "--library", "spectra.csv", "-k", 2, "--out", "a.npy")
    assert code == 0
    D = np.column_stack([*library.values()])
    answers = fa.fit_many(D, scene.T, atoms=fa.NonnegativeOneHot(4), k=2)
    np.testing.assert_allclose(np.load("a.npy"), answers.sparse.toarray().T, atol=1e-9)
    assert {row["name"] for row in summary["answer"]["table"]} == {*SPECTRA[:2]}
    words = ["-k", "2", "--out", "a.csv", "--quiet"]
    assert cli.main(["unmix", "scene.npy", "--library", "spectra.csv", *words]) == 0
    listed = io.read_table("a.csv")
    assert listed.rows == answers.sparse.nnz


def test_split_writes_what_adds_up(capsys):
    frames = video(np.random.default_rng(11))
    np.save("video.npy", frames)
    summary, code = told(capsys, "split", "video.npy", "--rank", 1, "--entries", 16, "--out", "parts")
    assert code == 0
    assert summary["answer"]["entries"] <= 16
    background, foreground = (np.load(f"parts/{name}.npy") for name in ("background", "foreground"))
    assert np.linalg.matrix_rank(background.reshape(8, -1), tol=1e-6) == 1
    assert np.count_nonzero(foreground) <= 16
    assert np.linalg.norm(frames - background - foreground) < 0.05 * np.linalg.norm(frames)
    assert (foreground[0, 0, :2] > 50).all()
    summary, code = told(capsys, "split", "video.npy")
    assert (code, summary["asked"]["rank"], summary["answer"]["rank"]) == (0, None, 1)
    assert "a rank of 1 is what Schwarz's criterion speaks for" in summary["answer"]["message"]


# Around the work ------------------------------------------------------------------------------------------------------


def slow():
    """Data on which a search takes long."""
    rng = np.random.default_rng(12)
    X = rng.standard_normal((150, 400))
    return X, rng.standard_normal(150), tuple(f"x{j}" for j in range(400))


def test_ctrl_c_writes_the_best_so_far(monkeypatch, capsys):
    """Pressed once there is an answer; the search would go on."""
    call = written("data.npz", *slow())
    before, look = signal.getsignal(signal.SIGINT), Session._look

    def pressed(session, progress):
        if progress.cardinality and not session.interrupted:
            signal.raise_signal(signal.SIGINT)
        look(session, progress)

    monkeypatch.setattr(Session, "_look", pressed)
    summary, code = told(capsys, "fit", *call, "-k", 40, "--effort", "thorough", "--out", "model.npz")
    assert (code, summary["exit_code"], summary["interrupted"]) == (130, 130, True)
    assert summary["answer"]["status"] == "STOPPED"
    assert 0 < fa.load("model.npz").cardinality <= 40
    assert signal.getsignal(signal.SIGINT) is before


def test_ctrl_c_pressed_twice_ends_at_once(monkeypatch, capsys):
    call = written("data.npz", *slow())

    def pressed(session, progress):
        signal.raise_signal(signal.SIGINT)
        signal.raise_signal(signal.SIGINT)

    monkeypatch.setattr(Session, "_look", pressed)
    assert cli.main(["fit", *call, "-k", "40", "--out", "model.npz"]) == 130
    assert "nothing was written" in capsys.readouterr().err
    assert not Path("model.npz").exists()


def test_ctrl_c_while_a_file_is_read_writes_nothing(monkeypatch, capsys, tmp_path):
    written("data.csv", *planted())

    def interrupted(*_, **__):
        raise KeyboardInterrupt

    monkeypatch.setattr(io, "read_table", interrupted)
    assert cli.main(["fit", "data.csv", "--target", "y", "-k", "3", "--out", "model.npz"]) == 130
    assert capsys.readouterr().err.count("\n") == 1
    assert [p.name for p in tmp_path.iterdir()] == ["data.csv"]


def test_a_deadline_ends_the_work(capsys):
    call = written("data.npz", *slow())
    summary, _ = told(capsys, "fit", *call, "-k", 40, "--effort", "thorough", "--deadline", "0.001s")
    assert summary["answer"]["status"] == "STOPPED"
    assert summary["interrupted"] is False
    assert summary["seconds"]["work"] < 5


def test_quiet_says_nothing_and_notes_go_to_standard_error(capsys):
    X, y, names = planted()
    X[:, 4] = 1.0
    call = written("data.csv", X, y, names)
    assert cli.main(["fit", *call, "-k", "3", "--quiet", "--summary", "s.json"]) == 0
    assert capsys.readouterr() == ("", "")
    assert cli.main(["fit", *call, "-k", "3"]) == 0
    shown = capsys.readouterr()
    assert "'x4' is left out: constant" in shown.err
    assert "x5" in shown.out
    assert json.loads(Path("s.json").read_text())["notes"] == ["'x4' is left out: constant"]


def test_what_is_there_stays_unless_overwrite_says_so(capsys):
    call = written("data.csv", *planted())
    Path("atoms.csv").write_text("mine")
    assert cli.main(["fit", *call, "-k", "2", "--table", "atoms.csv"]) == 2
    assert Path("atoms.csv").read_text() == "mine"
    assert cli.main(["fit", *call, "-k", "2", "--table", "atoms.csv", "--overwrite"]) == 0
    assert io.read_table("atoms.csv").rows == 2


def test_the_summary_is_as_its_page_says(capsys):
    """Every field that the page of the schema names is there, and no other."""
    page = Path(__file__).parents[2] / "docs" / "summary-schema.md"
    text_of = page.read_text(encoding="utf-8")
    summary, _ = told(capsys, "fit", *written("data.csv", *planted()), "-k", 3)
    assert (summary["schema"], summary["version"]) == ("fewatoms-summary", 1)
    for part in (summary, summary["answer"], summary["answer"]["certificate"], summary["data"], summary["seconds"]):
        for name in part:
            assert f"`{name}`" in text_of, name


def in_a_process_of_its_own(*arguments, cwd):
    command = [sys.executable, "-m", "fewatoms", *arguments]
    return subprocess.run(command, cwd=cwd, capture_output=True, text=True, check=False)


def test_models_are_read_in_a_process_that_fits_nothing(tmp_path):
    rng = np.random.default_rng(0)
    X = rng.standard_normal((30, 4))
    table = np.column_stack([X, X[:, 1] - 2 * X[:, 3]])
    np.savetxt(tmp_path / "t.csv", table, delimiter=",", header="a,b,c,d,y", comments="")
    assert (
        in_a_process_of_its_own("fit", "t.csv", "--target", "y", "-k", "2", "--out", "m.npz", cwd=tmp_path).returncode
        == 0
    )
    done = in_a_process_of_its_own("predict", "m.npz", "t.csv", "--out", "p.csv", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    np.testing.assert_allclose(np.loadtxt(tmp_path / "p.csv", skiprows=1), table[:, 4], atol=1e-8)


def test_ids_that_are_the_same_number_are_not_mixed_up(tmp_path, capsys):
    (tmp_path / "q.csv").write_text("user,item,r\n007,0,1\n007,1,2\n7,0,2\n7,1,4\n8,0,3\n8,1,6\n")
    (tmp_path / "p.csv").write_text("user,item\n007,0\n8,0\n")
    words = ["complete", str(tmp_path / "q.csv"), "--rank", "1", "--ridge", "0", "--predict"]
    out = tmp_path / "o.csv"
    assert cli.main([*words, str(tmp_path / "p.csv"), "--out", str(out), "--quiet"]) == 2
    assert "'007' and '7' are the same number" in capsys.readouterr().err
    assert not out.exists()
    (tmp_path / "p.csv").write_text("user,item\n8,0\n8,1\n")
    assert cli.main([*words, str(tmp_path / "p.csv"), "--out", str(out), "--quiet"]) == 0
    rows = [line.split(",") for line in out.read_text().splitlines()[1:]]
    assert [row[0].strip('"') for row in rows] == ["8", "8"]
    np.testing.assert_allclose([float(row[2]) for row in rows], [3.0, 6.0], rtol=1e-6)

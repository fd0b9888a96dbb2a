"""What commands say about their answers, and what they take: choices, rows that do not count, ids, cubes."""

import json
import re

import numpy as np
import pytest

import fewatoms as fa
from cli.small import SPECTRA, csv, flowers, houses, mixtures, ratings
from fewatoms import cli, io
from fewatoms.cli.session import Session


@pytest.fixture(autouse=True)
def here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(0)
    table = houses(rng)
    csv("homes.csv", table)
    csv("houses.csv", {name: column for name, column in table.items() if name not in ("id", "city")})
    return tmp_path


def told(capsys, *words):
    code = cli.main([*map(str, words), "--json"])
    return json.loads(capsys.readouterr().out), code


def printed(capsys, *words):
    assert cli.main([*map(str, words)]) == 0
    return capsys.readouterr().out


def failed(capsys, *words):
    assert cli.main([*map(str, words)]) == 2
    return capsys.readouterr().err


# Choices --------------------------------------------------------------------------------------------------------------


def test_a_fit_says_how_k_was_chosen(capsys):
    summary, _ = told(capsys, "fit", "houses.csv", "--target", "price", "-k", "1:3")
    choice = summary["answer"]["choice"]
    X = io.read_table("houses.csv")
    M = X.numeric(["rooms", "age", "area"])
    path = fa.fit_path(M, X.column("price"), k=[1, 2, 3], atoms=fa.SignedOneHot(3), free="intercept")
    assert choice["k"] == path.choose_k("cv") == 3
    np.testing.assert_allclose([line["score"] for line in choice["scores"]], path.scores["cv"], rtol=1e-9)
    np.testing.assert_allclose([line["error"] for line in choice["scores"]], path.errors["cv"], rtol=1e-9)
    assert (choice["by"], choice["rule"]) == ("cv", "best")
    text = printed(capsys, "fit", "houses.csv", "--target", "price", "-k", "1:3")
    assert "chosen: k = 3 among 1 to 3, the lowest root mean square error on rows left out (5 folds)" in text
    assert "Asked: a number among 1 to 3. Chosen: at most 3 atoms." in text
    assert "cost: what the loss" in text
    assert re.search(r"3 +\S+ +\S+ +chosen", text)


def test_fewer_columns_that_are_about_as_good(capsys):
    rng = np.random.default_rng(3)
    X = rng.standard_normal((60, 12))
    y = X[:, 0] + rng.standard_normal(60)
    csv("noisy.csv", {**dict(zip("abcdefghijkl", X.T, strict=True)), "y": y})
    found = {}
    for rule in ("best", "1se"):
        summary, code = told(capsys, "fit", "noisy.csv", "--target", "y", "-k", "1:8", "--rule", rule)
        found[rule] = summary["answer"]["choice"]
        assert (code, found[rule]["rule"], summary["answer"]["atoms"]) == (0, rule, found[rule]["k"])
    scores, errors = ([line[name] for line in found["1se"]["scores"]] for name in ("score", "error"))
    lowest = int(np.argmin(scores))
    assert found["1se"]["k"] == 1 + next(i for i, s in enumerate(scores) if s <= scores[lowest] + errors[lowest])
    assert found["1se"]["k"] < found["best"]["k"]
    assert "within one error of the lowest" in found["1se"]["words"]


def test_a_single_k_is_no_choice(capsys):
    summary, _ = told(capsys, "fit", "houses.csv", "--target", "price", "-k", 2)
    assert summary["answer"]["choice"] is None
    assert "chosen" not in printed(capsys, "fit", "houses.csv", "--target", "price", "-k", 2)


def test_a_path_says_how_k_was_chosen(capsys):
    words = "path", "houses.csv", "--target", "price", "-k", "1:3"
    summary, _ = told(capsys, *words, "--rule", "1se")
    assert summary["answer"]["choice"]["k"] == summary["answer"]["chosen"]
    assert "within one error of the lowest" in summary["answer"]["choice"]["words"]
    assert all(line["error"] > 0 for line in summary["answer"]["path"])
    summary, _ = told(capsys, *words, "--choose", "bic")
    assert [line["error"] for line in summary["answer"]["path"]] == [None] * 3
    assert summary["answer"]["choice"]["words"] == "the lowest BIC"
    summary, _ = told(capsys, *words, "--choose", "none")
    assert summary["answer"]["choice"] is None


def test_a_rule_that_needs_errors_is_refused_without_them(capsys):
    assert "--choose cv" in failed(
        capsys, "path", "houses.csv", "--target", "price", "--choose", "bic", "--rule", "1se"
    )


def test_a_range_that_reaches_beyond_is_cut_and_a_number_is_refused(capsys):
    summary, code = told(capsys, "fit", "houses.csv", "--target", "price", "-k", "2:50")
    assert code == 0
    assert [line["k"] for line in summary["answer"]["choice"]["scores"]] == [2, 3]
    assert any("up to 3" in note for note in summary["notes"])
    assert "3; got 50" in failed(capsys, "fit", "houses.csv", "--target", "price", "-k", 50)
    assert "3; got 50" in failed(capsys, "path", "houses.csv", "--target", "price", "-k", 50)


# Figures --------------------------------------------------------------------------------------------------------------


def test_the_text_has_r2_and_for_classes_accuracy_and_all_intercepts(capsys):
    text = printed(capsys, "fit", "houses.csv", "--target", "price", "-k", 3)
    summary, _ = told(capsys, "fit", "houses.csv", "--target", "price", "-k", 3)
    assert f"R2 {summary['answer']['r2']:.4g}" in text
    assert summary["answer"]["accuracy"] is None
    table = flowers(np.random.default_rng(1), 90)
    table["species"] = np.where(table["x0"] > 0.5, "tulip", table["species"])
    csv("flowers.csv", table)
    text = printed(capsys, "fit", "flowers.csv", "--target", "species", "--classes", "-k", 2, "--ridge", 0.01)
    summary, _ = told(capsys, "fit", "flowers.csv", "--target", "species", "--classes", "-k", 2, "--ridge", 0.01)
    intercepts = dict(zip(("iris", "rose", "tulip"), summary["answer"]["intercept"], strict=True))
    assert f"intercepts: {', '.join(f'{name} {value:.4g}' for name, value in intercepts.items())}" in text
    assert f"accuracy {summary['answer']['accuracy']:.4g}" in text
    assert cli.main(["fit", "flowers.csv", "--target", "species", "--classes", "-k", "2", "--ridge", "0.01",
                     "--out", "m.npz", "--quiet"]) == 0  # fmt: skip
    assert cli.main(["predict", "m.npz", "flowers.csv", "--out", "p.csv", "--quiet"]) == 0
    right = io.read_table("p.csv").column("species") == table["species"]
    assert summary["answer"]["accuracy"] == pytest.approx(right.mean())


def test_the_certificate_of_a_fit_has_its_gap(capsys):
    summary, _ = told(capsys, "fit", "houses.csv", "--target", "price", "-k", 2)
    proven, answer = summary["answer"]["certificate"], summary["answer"]
    assert proven["gap"] == pytest.approx(proven["primal"] + proven["dual"], abs=1e-6 * proven["primal"])
    assert (proven["relaxation"], proven["meets_bound"]) == ("P1", None)
    assert proven["objective"] == pytest.approx(answer["loss"])
    assert proven["gauge"] == pytest.approx(sum(abs(row["coefficient"]) for row in answer["table"]))


# Rows that do not count -----------------------------------------------------------------------------------------------


def test_rows_of_weight_zero_do_not_count(capsys):
    from fewatoms.estimators import SparseRegressor

    table = houses(np.random.default_rng(3))
    weights = np.tile([1.0, 2.0, 0.0], 20)
    price = table["price"].copy()
    price[2::3] = 1e6
    plain = {name: table[name] for name in ("rooms", "age", "area")}
    csv("weighed.csv", {**plain, "w": weights, "price": price})
    summary, code = told(capsys, "fit", "weighed.csv", "--target", "price", "-k", 2, "--weights", "w")
    assert code == 0
    assert summary["data"]["rows"] == 40
    assert "20 of 60 rows have weight 0 and do not count" in summary["notes"]
    e = SparseRegressor(2).fit(np.column_stack([*plain.values()]), price, sample_weight=weights)
    assert summary["answer"]["intercept"] == pytest.approx(e.intercept_)
    assert {row["name"]: row["coefficient"] for row in summary["answer"]["table"]} == pytest.approx(
        {name: value for name, value in zip(plain, e.coef_, strict=True) if value}
    )


@pytest.mark.parametrize(("weights", "word"), [(0.0, "all 0"), (-1.0, "positive")])
def test_weights_that_mean_nothing_are_refused(weights, word, capsys):
    csv("weighed.csv", {**houses(np.random.default_rng(3)), "w": np.full(60, weights)})
    assert word in failed(capsys, "fit", "weighed.csv", "--target", "price", "--drop", "city,id", "--weights", "w")


# Deadlines ------------------------------------------------------------------------------------------------------------


def test_a_deadline_is_called_by_its_name_and_is_no_success(capsys):
    rng = np.random.default_rng(0)
    np.savez("data.npz", X=rng.standard_normal((150, 400)), y=rng.standard_normal(150))
    words = "fit", "data.npz", "-k", 40, "--effort", "thorough", "--deadline", "0.001s"
    summary, code = told(capsys, *words)
    assert code == 1
    assert summary["answer"]["success"] is False
    assert "The deadline came first" in summary["answer"]["message"]
    assert "callback" not in summary["answer"]["message"]


def test_a_deadline_in_the_middle_of_a_choice_is_told_too():
    parser = cli._parser()
    session = Session(parser.parse_args(["fit", "houses.csv", "--target", "price"]))
    assert session.said("All is well.") == "All is well."
    session.late = True
    assert session.said("All is well.") == "All is well. The deadline came first: not all was looked at."


# Columns by name ------------------------------------------------------------------------------------------------------


def test_columns_may_be_named_with_commas_between_them(capsys):
    words = "fit", "homes.csv", "--target", "price", "-k", 2
    one, _ = told(capsys, *words, "--drop", "id", "--drop", "city")
    other, _ = told(capsys, *words, "--drop", "id,city")
    assert one["answer"]["table"] == other["answer"]["table"]
    assert "'zebra'" in failed(capsys, *words, "--drop", "id,zebra")
    assert "--target must not be dropped" in failed(capsys, *words, "--drop", "id,price")


def test_a_column_whose_name_has_a_comma_is_that_column(capsys):
    table = houses(np.random.default_rng(0))
    csv("odd.csv", {"rooms": table["rooms"], '"age, area"': table["age"], "area": table["area"], "y": table["price"]})
    summary, code = told(capsys, "fit", "odd.csv", "--target", "y", "-k", 2, "--drop", "age, area")
    assert code == 0
    assert {row["name"] for row in summary["answer"]["table"]} == {"rooms", "area"}


def test_dates_have_advice_of_their_own(capsys):
    table = houses(np.random.default_rng(0))
    days = np.datetime64("2020-01-01") + np.arange(60)
    csv("dated.csv", {"sold": days, "area": table["area"], "price": table["price"]})
    text = failed(capsys, "fit", "dated.csv", "--target", "price")
    assert "dates must become numbers first" in text
    assert "--drop sold" in text
    assert "--categorical" not in text
    assert "days since" in failed(capsys, "fit", "dated.csv", "--target", "sold")


# Ids ------------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("form", ["csv", "parquet"])
def test_predictions_carry_the_ids_of_rows(form, capsys):
    table = houses(np.random.default_rng(0))
    words = np.array([f"{i:03d}" for i in range(60)], dtype=object)
    ids = words if form == "csv" else np.arange(60) + 2**60
    columns = {"house": ids, "area": table["area"], "age": table["age"], "price": table["price"]}
    io.write_table(f"data.{form}", columns)
    summary, _ = told(
        capsys, "fit", f"data.{form}", "--target", "price", "-k", 2, "--id", "house", "--out", "model.npz"
    )
    assert {row["name"] for row in summary["answer"]["table"]} == {"area", "age"}
    text = printed(capsys, "predict", "model.npz", f"data.{form}").splitlines()
    assert text[0] == "house,price"
    assert [line.split(",")[0] for line in text[1:]] == [str(i) for i in ids]
    assert cli.main(["predict", "model.npz", f"data.{form}", "--id", "age", "--out", "p.csv", "--quiet"]) == 0
    assert io.read_table("p.csv").names == ("age", "price")
    assert "'price'" in failed(capsys, "predict", "model.npz", f"data.{form}", "--id", "price")
    assert "zebra" in failed(capsys, "predict", "model.npz", f"data.{form}", "--id", "zebra")
    io.write_table("new.csv", {"area": table["area"], "age": table["age"]})
    assert printed(capsys, "predict", "model.npz", "new.csv").startswith("price\n")


def test_an_id_is_a_column_of_its_own(capsys):
    assert "--id" in failed(capsys, "fit", "homes.csv", "--target", "price", "--id", "price")


# Messages -------------------------------------------------------------------------------------------------------------


def test_one_ending_is_told_as_one(capsys):
    text = failed(capsys, "fit", "houses.csv", "--target", "price", "--out", "model.csv")
    assert "must end in .npz; it ends in '.csv'" in text


@pytest.mark.parametrize("words", [("--top", "3"), ("--predict", "pairs.csv")])
def test_what_out_gets_is_nothing_without_out(words, capsys):
    text = failed(capsys, "complete", "ratings.csv", *words)
    assert text.startswith(f"fewatoms complete: error: {words[0]} says what --out gets: say --out FILE as well")


# Cubes ----------------------------------------------------------------------------------------------------------------


def cube(name):
    """A scene of 5 x 6 pixels and 20 bands, in a file; the matrix of its pixels."""
    import scipy.io

    library, scene = mixtures(np.random.default_rng(10))
    csv("spectra.csv", library)
    values = scene.reshape(5, 6, 20)
    save = {
        "npy": np.save,
        "npz": lambda path, X: np.savez(path, cube=X),
        "mat": lambda path, X: scipy.io.savemat(path, {"cube": X}),
    }
    save[name](f"cube.{name}", values)
    np.save("scene.npy", scene)


@pytest.mark.parametrize("form", ["npy", "npz", "mat"])
def test_a_cube_is_unmixed_as_its_pixels_are(form, capsys):
    cube(form)
    words = "--library", "spectra.csv", "-k", 2, "--out"
    summary, code = told(capsys, "unmix", f"cube.{form}", *words, "a.npz")
    assert code == 0
    assert summary["data"]["pixels"] == 30
    assert summary["data"]["shape"] == [5, 6]
    told(capsys, "unmix", "scene.npy", *words, "flat.npz")
    flat = io.read_grid("flat.npz")
    assert flat.names == SPECTRA
    with np.load("a.npz") as found:
        assert found["names"].tolist() == [*SPECTRA]
        np.testing.assert_array_equal(found["X"], flat.values.toarray().reshape(5, 6, 4))
    told(capsys, "unmix", f"cube.{form}", *words, "a.npy")
    np.testing.assert_array_equal(np.load("a.npy"), flat.values.toarray().reshape(5, 6, 4))
    told(capsys, "unmix", f"cube.{form}", *words, "a.csv")
    table = io.read_table("a.csv")
    pixel, row, column = (table.column(name).astype(int) for name in ("pixel", "row", "column"))
    assert (pixel.min(), pixel.max()) == (1, 30)
    np.testing.assert_array_equal(pixel, (row - 1) * 6 + column)
    place = [SPECTRA.index(name) for name in table.column("spectrum")]
    np.testing.assert_allclose(table.column("amount"), np.load("a.npy")[row - 1, column - 1, place], rtol=1e-12)


def test_sparse_amounts_with_names_are_what_scipy_reads(capsys):
    import scipy.sparse as sp

    cube("npy")
    told(capsys, "unmix", "scene.npy", "--library", "spectra.csv", "-k", 2, "--out", "a.npz")
    assert sp.load_npz("a.npz").shape == (30, 4)


def test_the_last_axis_of_a_cube_counts_bands(capsys):
    cube("npy")
    np.save("turned.npy", np.load("cube.npy").transpose(2, 0, 1))
    text = failed(capsys, "unmix", "turned.npy", "--library", "spectra.csv", "-k", 2)
    assert "20 x 5 x 6, of whose three axes the last counts bands" in text
    assert "--pixels" in failed(capsys, "unmix", "cube.npy", "--library", "spectra.csv", "-k", 2, "--pixels", "columns")


# Completed matrices ---------------------------------------------------------------------------------------------------


def test_ridges_are_told_in_words_and_given_pairs_get_what_the_model_says(capsys):
    rng = np.random.default_rng(4)
    X = rng.standard_normal((12, 1)) @ rng.standard_normal((1, 9)) + 0.3 * rng.standard_normal((12, 9)) + 3
    i, j = np.nonzero(rng.random(X.shape) < 0.8)
    csv("ratings.csv", {"user": i, "item": j, "rating": X[i, j]})
    csv("pairs.csv", {"user": i[:5], "item": j[:5]})
    words = "complete", "ratings.csv", "--rank", 1, "--ridge", 0.5, "--overwrite", "--predict", "pairs.csv"
    text = printed(capsys, *words, "--out", "p.csv")
    assert "0.5 on factors" in text
    assert "on biases" not in text
    M, b = fa.Sampling(i, j, X.shape), X[i, j]
    s = fa.fit(M, b, atoms=fa.RankOne(*X.shape), k=1, ridge=0.5)
    np.testing.assert_allclose(io.read_table("p.csv").column("rating"), s.predict(i[:5], j[:5]), rtol=1e-6)
    assert re.search(r"on factors, \S+ on biases", printed(capsys, *words, "--biases", "--out", "p.csv"))


# What is said of files ------------------------------------------------------------------------------------------------


def test_a_missing_category_is_one_missing_value(capsys):
    csv("gaps.csv", {"city": ["a", "b", "c", "", "a", "b"], "area": [1, "", 3, 4, 5, 6], "y": [1, 2, 3, 4, 5, 7]})
    assert "2 values are missing, in 'city' and 'area'" in failed(
        capsys, "fit", "gaps.csv", "--target", "y", "--categorical", "city"
    )


def test_columns_that_tell_rows_apart_are_no_categories(capsys):
    city = ["Rome", "Bari"] * 6
    csv("ids.csv", {"house id": [f"h{i}" for i in range(12)], "my city": city, "y": range(12)})
    text = failed(capsys, "fit", "ids.csv", "--target", "y")
    assert "--categorical 'my city' makes" in text
    assert "--id 'house id' keeps it beside predictions, --drop 'house id' leaves it out" in text


def test_an_array_of_several_is_named_behind_a_colon(capsys):
    rng = np.random.default_rng(0)
    Y = rng.uniform(1, 2, (5, 8))
    np.savez("scene.npz", Y=Y, Z=Y[:, ::-1], lines=np.float64(3))
    csv("library.csv", {f"s{i}": rng.uniform(1, 2, 8) for i in range(3)})
    words = "--library", "library.csv", "-k", 1
    text = failed(capsys, "unmix", "scene.npz", *words)
    assert "it has Y (5 x 8), Z (5 x 8): name the one that is meant, such as scene.npz:Y" in text
    summary, _ = told(capsys, "unmix", "scene.npz:Z", *words)
    assert summary["data"]["pixels"] == 5
    np.testing.assert_array_equal(io.read_grid("scene.npz:Z").values, io.read_grid("scene.npz", key="Z").values)
    assert len(io.read_entries("scene.npz:Y").values) == 40
    assert io.read_table("scene.npz:Y").rows == 5


def test_wavelengths_among_spectra_are_told_of(capsys):
    rng = np.random.default_rng(0)
    csv("library.csv", {"wave length": range(8), "a": rng.uniform(1, 2, 8), "b": rng.uniform(1, 2, 8)})
    np.save("pixels.npy", rng.uniform(1, 2, (5, 8)))
    words = "unmix", "pixels.npy", "--library", "library.csv", "-k", 1
    summary, _ = told(capsys, *words)
    assert any("--drop 'wave length' leaves it out" in note for note in summary["notes"])
    summary, _ = told(capsys, *words, "--drop", "wave length")
    assert not summary["notes"]


def test_ranks_that_were_tried_are_told(capsys):
    csv("ratings.csv", ratings(np.random.default_rng(0)))
    text = printed(capsys, "complete", "ratings.csv")
    assert "root mean square error on entries held out (1: " in text
    assert "held-out RMSE" in text
    summary, _ = told(capsys, "complete", "ratings.csv")
    assert [line["rank"] for line in summary["answer"]["ranks"]][:2] == [1, 2]
    assert "higher ones may be better" in printed(capsys, "complete", "ratings.csv", "--rank", "1,2")


def test_the_best_of_some_users(capsys):
    csv("ratings.csv", ratings(np.random.default_rng(0)))
    words = "complete", "ratings.csv", "--rank", 1, "--top", 2, "--out", "best.csv", "--overwrite"
    told(capsys, *words, "--users", "u3,u1")
    assert [*dict.fromkeys(io.read_table("best.csv").column("user"))] == ["u3", "u1"]
    assert "'zebra' not among them" in failed(capsys, *words, "--users", "u1,zebra")
    assert "--top N as well" in failed(capsys, "complete", "ratings.csv", "--users", "u1")


@pytest.mark.parametrize("biases", [False, True])
def test_ids_that_are_not_known_get_what_the_estimator_says(capsys, biases):
    from fewatoms.estimators import MatrixCompletion

    given = ratings(np.random.default_rng(0))
    csv("ratings.csv", given)
    csv("pairs.csv", {"user": ["u1", "nobody"], "item": [100, 101]})
    words = "complete", "ratings.csv", "--rank", 1, "--ridge", 0.5, "--model", "model.npz", *["--biases"] * biases
    told(capsys, *words)
    summary, _ = told(capsys, "predict", "model.npz", "pairs.csv", "--out", "said.csv")
    assert "1 of 2 pairs have ids that the model does not know" in summary["notes"][0]
    pairs = np.array([[*map(str, given["user"])], [*map(str, given["item"])]], dtype=object).T
    model = MatrixCompletion(1, ridge=0.5, biases=biases).fit(pairs, given["rating"])
    expected = model.predict(np.array([["u1", "100"], ["nobody", "101"]], dtype=object))
    np.testing.assert_allclose(io.read_table("said.csv").column("rating"), expected, rtol=1e-4)

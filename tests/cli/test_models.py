"""Files of models that were changed: one line, whatever was done to them."""

import json
import zipfile
from io import BytesIO

import numpy as np
import pytest

from cli.small import csv, houses, ratings
from fewatoms import cli


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """A model of a table and one of pairs, with data for both."""
    folder, rng = tmp_path_factory.mktemp("models"), np.random.default_rng(0)
    csv(folder / "homes.csv", houses(rng))
    csv(folder / "ratings.csv", ratings(rng))
    fit = ["--target", "price", "--categorical", "city", "--drop", "id", "-k", "2", "--missing", "mean", "--quiet"]
    assert cli.main(["fit", f"{folder}/homes.csv", *fit, "--out", f"{folder}/table.npz"]) == 0
    words = ["--rank", "1", "--clip", "1:5", "--quiet", "--model", f"{folder}/pairs.npz"]
    assert cli.main(["complete", f"{folder}/ratings.csv", *words]) == 0
    return folder


def rewritten(source, target, members):
    """The same archive with some members changed."""
    with zipfile.ZipFile(source) as old, zipfile.ZipFile(target, "w") as new:
        for name in old.namelist():
            data = old.read(name)
            key = name.removesuffix(".npy")
            if key in members:
                stream = BytesIO()
                np.lib.format.write_array(stream, members[key](np.load(BytesIO(data))), allow_pickle=False)
                data = stream.getvalue()
            new.writestr(name, data)


def header(change):
    """How tables become matrices, changed."""

    def changed(array):
        told = json.loads(array.tobytes())
        text = change(told)
        return np.frombuffer((text or json.dumps(told)).encode(), dtype=np.uint8)

    return {"table": changed}


def without(name, inside=True):
    return header(lambda told: (told["how"] if inside else told).pop(name) and None)


def how(**new):
    return header(lambda told: told["how"].update(new))


def recipe(**new):
    return header(lambda told: told["how"]["recipe"].update(new))


TABLES = {
    "no format": without("format", inside=False),
    "no how": without("how", inside=False),
    "no kind": without("kind"),
    "no recipe": without("recipe"),
    "another kind": how(kind="pairs"),
    "a strange kind": how(kind="zebra"),
    "a recipe that is a word": how(recipe="yes"),
    "a column less": header(lambda told: told["how"]["recipe"]["columns"].pop() and None),
    "a strange way with gaps": recipe(missing="zebra"),
    "no means": header(lambda told: told["how"]["recipe"]["columns"][0].update(means=[])),
    "no JSON": header(lambda told: "{"),
    "nested deeply": header(lambda told: "[" * 100_000),
    "coefficients that are words": {"it.c": lambda c: np.array(["a"] * c.size)},
    "coefficients that are complex": {"it.c": lambda c: c + 1j},
    "a place that is negative": {"it.0.indices": lambda i: -i - 1},
    "a place outside": {"it.0.indices": lambda i: i + 1000},
}
PAIRS = {
    "no scale": without("scale"),
    "a scale the wrong way round": how(scale=[5, 1]),
    "a scale of one": how(scale=[5]),
    "too few rows": {"table rows": lambda ids: ids[1:]},
    "rows twice": {"table rows": lambda ids: np.repeat(ids[:1], ids.size)},
    "columns that are no ids": {"table cols": lambda ids: ids + 0.5},
    "another kind": how(kind="table", recipe=None),
}
CASES = [("table", words) for words in TABLES] + [("pairs", words) for words in PAIRS]


@pytest.mark.parametrize(("kind", "words"), CASES, ids=[f"{kind}, {words}" for kind, words in CASES])
def test_models_that_were_changed_are_refused_in_one_line(kind, words, made, tmp_path, capsys, recwarn):
    members = {"table": TABLES, "pairs": PAIRS}[kind][words]
    rewritten(made / f"{kind}.npz", tmp_path / "changed.npz", members)
    data = made / {"table": "homes.csv", "pairs": "ratings.csv"}[kind]
    assert cli.main(["predict", str(tmp_path / "changed.npz"), str(data)]) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert err.count("\n") == 1
    assert "changed.npz" in err
    assert "--debug shows where" not in err
    assert not recwarn.list


@pytest.mark.parametrize(("kind", "data"), [("table", "homes.csv"), ("pairs", "ratings.csv")])
def test_models_that_were_not_changed_predict(kind, data, made, tmp_path):
    rewritten(made / f"{kind}.npz", tmp_path / "same.npz", header(lambda told: None))
    assert cli.main(["predict", str(tmp_path / "same.npz"), str(made / data), "--quiet"]) == 0

"""Real data that come with the package: whole, as their sources have them, with a licence beside them."""

from importlib.resources import files

import numpy as np
import pytest

from fewatoms import datasets


def test_diabetes_is_that_of_its_source():
    sklearn = pytest.importorskip("sklearn.datasets", reason="scikit-learn is not installed")
    X, y = sklearn.load_diabetes(return_X_y=True, scaled=False)
    d = datasets.diabetes(products=False)
    np.testing.assert_array_equal(d.progression, y)
    np.testing.assert_allclose(d.columns, (X - X.mean(axis=0)) / X.std(axis=0), atol=1e-12)
    assert d.names == ("age", "sex", "bmi", "bp", "tc", "ldl", "hdl", "tch", "ltg", "glu")


def test_squares_and_products_have_names():
    d = datasets.diabetes()
    assert d.columns.shape == (442, 64)
    assert len(set(d.names)) == 64
    column = dict(zip(d.names, d.columns.T, strict=True))
    np.testing.assert_array_equal(column["bmi^2"], column["bmi"] ** 2)
    np.testing.assert_array_equal(column["age x sex"], column["age"] * column["sex"])
    assert "sex^2" not in column


def test_sea_temperatures():
    d = datasets.sea_temperatures()
    assert d.values.shape == (61, 12)
    assert (d.years[0], d.years[-1], d.months[0], d.months[-1]) == (1950, 2010, "Jan", "Dec")
    assert 15 < d.values.min() < d.values.max() < 32
    warm = np.argsort(d.values.mean(axis=1))[-2:]
    assert {d.years[i] for i in warm} == {1983, 1997}  # the two great El Niños


def test_handwriting():
    grey = datasets.handwriting()
    assert grey.shape == (172, 448)
    assert grey.dtype == np.uint8
    assert 50 < grey.mean() < 200


def test_every_file_has_a_source_and_a_licence():
    folder = files("fewatoms.datasets").joinpath("data")
    told = folder.joinpath("README.md").read_text(encoding="utf-8")
    names = [entry.name for entry in folder.iterdir() if entry.name != "README.md"]
    assert len(names) == 3
    for name in names:
        (line,) = (line for line in told.splitlines() if line.startswith(f"| `{name}`"))
        assert "public domain" in line or "BSD" in line


def test_data_print_short():
    assert repr(datasets.diabetes()).startswith("Diabetes(columns=<ndarray 442 x 64>")

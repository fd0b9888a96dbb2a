"""What is drawn is what the answer says: means of cells, entries that are known, atoms and paths in numbers."""

import numpy as np
import pytest

import fewatoms as fa
from answers import NAMES, answer, cases
from fewatoms.callbacks import Trace
from fewatoms.drawn.abundances import Abundances
from fewatoms.drawn.atoms import Atoms
from fewatoms.drawn.convergence import Convergence
from fewatoms.drawn.decomposition import Decomposition
from fewatoms.drawn.grids import Grid, scale, span
from fewatoms.drawn.matrix import Matrix
from fewatoms.drawn.path import Curve, Supports
from fewatoms.drawn.phases import Phases
from fewatoms.drawn.spectra import Spectra


def naive_cells(matrix, down, across):
    """Cell by cell: the mean of the entries that belong to it."""
    p, q = matrix.shape
    cells = [[[] for _ in range(across)] for _ in range(down)]
    for i in range(p):
        for j in range(q):
            if not np.isnan(matrix[i, j]):
                cells[i * down // p][j * across // q].append(matrix[i, j])
    return np.array([[np.mean(one) if one else np.nan for one in row] for row in cells])


@pytest.mark.parametrize("shape", [(3, 4), (7, 50), (23, 11), (1, 9)])
def test_cells_are_means_of_what_is_known(shape):
    rng = np.random.default_rng(0)
    matrix = rng.standard_normal(shape)
    matrix[rng.random(shape) < 0.6] = np.nan
    grid = Grid.of(matrix, 5)
    expected = naive_cells(matrix, min(shape[0], 5), min(shape[1], 5))
    np.testing.assert_allclose(grid.values, expected)
    assert grid.missing == bool(np.isnan(expected).any())
    assert grid.step == (-(-shape[0] // expected.shape[0]), -(-shape[1] // expected.shape[1]))


@pytest.mark.parametrize(("p", "q"), [(4, 6), (33, 17), (200, 161)])
def test_cells_of_factors_are_those_of_the_matrix(p, q):
    rng = np.random.default_rng(1)
    left, right = rng.standard_normal((p, 3)), rng.standard_normal((q, 3))
    for cells in (7, 160):
        np.testing.assert_allclose(
            Grid.of_factors(left, right, cells).values, Grid.of(left @ right.T, cells).values, atol=1e-12
        )


def test_scales_are_even_around_zero_and_leave_outliers_out():
    assert scale(np.array([1.0, 2.0, 3.0])) == pytest.approx((1.02, 2.98))
    low, high = scale(np.array([-1.0, 5.0] * 100 + [1e9]))
    assert (low, high) == (-5.0, 5.0)
    assert scale(np.full(4, np.nan)) == (0.0, 1.0)
    low, high = scale(np.full(4, 2.0))
    assert low < 2.0 < high


@pytest.mark.parametrize("name", NAMES)
def test_atoms_are_the_table(name):
    s = answer(name)
    atoms = Atoms.of(s)
    assert len(atoms.labels) == s.cardinality == len(atoms.values) == len(atoms.shares) == len(atoms.costs)
    assert np.abs(atoms.weights).max(initial=0.0) <= 1.0
    bare = Atoms.unmeasured(s)
    np.testing.assert_array_equal(bare.values, atoms.values)
    assert np.isnan(bare.costs).all()
    if s.cardinality and s.measures is not None:
        np.testing.assert_array_equal(atoms.shares, s.measures.contribution)
        np.testing.assert_array_equal(atoms.costs, s.measures.cost)


def test_names_for_atoms_that_have_none():
    s = answer("signed")
    assert Atoms.of(s, [f"n{i}" for i in range(20)]).labels == [f"n{i}" for i in s.indices]


@pytest.mark.parametrize("name", ["completion", "biases", "completion, ridge", "nonnegative factors"])
def test_matrices_with_their_data(name):
    s, case = answer(name), cases()[name]
    drawn = Matrix.of(s)
    i, j = case.M.rows, case.M.cols
    np.testing.assert_allclose(drawn.known.values[i, j], case.b)
    np.testing.assert_allclose(drawn.fitted.values[i, j], s.predict(i, j), atol=1e-12)
    np.testing.assert_allclose(drawn.left.values[i, j], case.b - s.predict(i, j), atol=1e-12)
    sizes = [abs(one.data - one.fit) for one in drawn.worst]
    assert sizes == sorted(sizes, reverse=True)
    assert sizes[0] == pytest.approx(np.abs(case.b - s.predict(i, j)).max())
    assert drawn.entries == case.b.size


def test_matrices_that_were_measured_otherwise_have_no_cells_of_data():
    drawn = Matrix.of(answer("low rank"))
    assert drawn.known is None
    assert drawn.worst == []
    np.testing.assert_allclose(drawn.fitted.values, answer("low rank").x, atol=1e-12)


@pytest.mark.parametrize("name", ["robust", "pursuit", "demixing"])
def test_parts_and_data(name):
    s = answer(name)
    drawn = Decomposition.of(s)
    assert drawn.titles[0] == "data"
    np.testing.assert_allclose(np.ravel(drawn.matrices[0]), np.ravel(cases()[name].b))
    np.testing.assert_allclose(sum(drawn.matrices[1:]), s.x, atol=1e-12)


def lit():
    """A face-like picture under lights, with shadows that only the low-rank part has below 0."""
    y, x = np.mgrid[-1:1:24j, -1:1:20j]
    face = 120 * np.exp(-(x**2) - y**2) + 40 * np.sin(4 * x) * np.cos(3 * y) + 80
    lights = np.stack([np.ones(16), np.linspace(-0.6, 0.6, 16)])
    X = np.stack([face.ravel(), (face * x).ravel()], axis=1) @ lights
    X[np.random.default_rng(0).random(X.shape) < 0.03] = 0.0
    return np.maximum(X, 0.0), (24, 20)


def test_data_and_low_rank_have_one_scale():
    X, shape = lit()
    low = X - X.mean()  # both signs, as an answer may have where data have one
    drawn = Decomposition(["data", "low rank", "few entries"], [X, low, X - low], [False, False, True])
    some = drawn.frames(shape)
    ends = drawn.shades([[parts[j] for _, parts in some] for j in range(3)])
    assert ends[0] == ends[1] == span(*[parts[0] for _, parts in some])
    assert ends[2][0] == -ends[2][1]
    assert ends[0][0] >= 0
    assert drawn.scales()[0] == drawn.scales()[1] == scale(drawn.grids[0])
    assert Decomposition(["few entries"], [X], [True]).scales()[0][0] < 0  # without data


def test_the_best_so_far_begins_with_the_first_answer_and_falls():
    case = cases()["biases"]
    trace = Trace()
    s = case.fit(callback=trace, ridge="auto")
    assert {"choosing the ridge"} <= set(trace.stage.tolist())
    run = Convergence.of(trace, s)
    assert run.label == "objective"
    assert (np.diff(run.heights) <= 1e-9 * run.heights[0]).all()
    assert "choosing the ridge" not in run.stages
    assert run.heights[-1] == s.objective
    assert len(Convergence.of(trace).heights) == len(run.heights) - 1


def test_bars_know_no_units():
    case = cases()["signed"]
    units = np.geomspace(1e-3, 1e3, 20)
    here, there = (Atoms.of(fa.fit(M, case.b, atoms=fa.SignedOneHot(20), k=3)) for M in (case.M, case.M * units))
    assert here.labels == there.labels
    np.testing.assert_allclose(here.weights, there.weights, rtol=1e-6)
    assert (np.sign(here.weights) == np.sign(here.sizes)).all()
    assert np.abs(here.weights).max() == 1.0


def test_groups_of_one_column_keep_their_sign():
    case = cases()["signed"]
    s = fa.fit(case.M, case.b, atoms=fa.SignedOneHot(20), k=3)
    grouped = fa.fit(case.M, case.b, atoms=fa.Groups(list(range(20))), k=3)
    assert sorted(s.coefficients) == pytest.approx(sorted(Atoms.of(grouped).sizes))


def test_frames_are_columns():
    drawn = Decomposition.of(answer("robust"))
    frames = drawn.frames((5, 2), most=4)
    assert [number for number, _ in frames] == [0, 2, 5, 7]
    for number, parts in frames:
        for part, matrix in zip(parts, drawn.matrices, strict=True):
            np.testing.assert_allclose(part.ravel(), matrix[:, number])
    wide = Decomposition(["data"], [np.arange(300.0 * 40)[:, None]], [False])
    assert wide.frames((40, 300))[0][1][0].shape == (17, 128)  # in its proportions
    with pytest.raises(ValueError, match="frame must be a height and a width"):
        drawn.frames((4, 4))


def test_phases_are_turned_to_one():
    drawn = Phases.of(answer("psd, complex"))
    v = drawn.vectors[:, 0]
    assert drawn.complex
    assert v[np.abs(v).argmax()].imag == pytest.approx(0.0, abs=1e-12)
    assert v[np.abs(v).argmax()].real > 0
    np.testing.assert_allclose(np.outer(v, v.conj()), answer("psd, complex").x, atol=1e-9)
    assert not Phases.of(answer("psd")).complex


def test_curves_and_supports_of_a_path():
    case = cases()["signed"]
    path = fa.fit_path(case.M, case.b, atoms=fa.SignedOneHot(20), k=[3, 1, 2])
    path.choose_k("bic")
    curve = Curve.of(path)
    assert curve.k == ["3", "1", "2"]
    np.testing.assert_array_equal(curve.heights, path.misfits)
    assert curve.scored[0] == "bic"
    assert path.k[curve.chosen] == path.chosen
    supports = Supports.of([{"a": 1.0, "b": 2.0}, {"b": -1.0}])
    assert supports.labels == ["b", "a"]
    np.testing.assert_array_equal(supports.values, [[2.0, -1.0], [1.0, np.nan]])


def test_many_data_vectors():
    rng = np.random.default_rng(0)
    M = rng.standard_normal((30, 8))
    X = np.zeros((8, 20))
    X[2], X[5, :5] = 1.0, 2.0
    B = M @ X
    B[0, 19] = np.nan
    answers = fa.fit_many(M, B, atoms=fa.SignedOneHot(8), k=2, misfit=1e-9)
    drawn = Abundances.of(answers, list("abcdefgh"))
    assert drawn.labels == ["c", "f"]
    assert drawn.used.tolist() == [19, 5]
    np.testing.assert_allclose(drawn.means, [1.0, 2.0])
    np.testing.assert_allclose(drawn.amounts[:, :19], X[[2, 5], :19], atol=1e-9)
    looked = drawn.looked_at()
    assert len(looked) == 12
    assert 19 not in looked


def test_contributions_to_data():
    case = cases()["signed"]
    drawn = Spectra.of(answer("signed"))
    np.testing.assert_allclose(drawn.fit, case.M @ answer("signed").x, atol=1e-12)
    np.testing.assert_allclose(drawn.residual, case.b - drawn.fit)
    lengths = np.linalg.norm(drawn.parts, axis=1)
    assert (np.diff(lengths) <= 0).all()

"""The examples run as they stand, and find what they say they find."""

import importlib.util
import math
from pathlib import Path

import numpy as np
import pytest

import fewatoms as fa
from fewatoms.atoms import Listing
from fewatoms.capabilities import ColumnBlocks
from fewatoms.testing import (
    check_atoms,
    check_capability,
    check_face,
    check_loss,
    check_method,
    check_operator,
    check_oracle,
)

FOLDER = Path(__file__).parent.parent / "docs" / "examples"
NAMES = sorted(path.stem for path in FOLDER.glob("*.py"))


def module(name):
    """An example, imported as it stands."""
    spec = importlib.util.spec_from_file_location(name, FOLDER / f"{name}.py")
    found = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(found)
    return found


def run(name, capsys):
    """What main() returns, and what it printed."""
    result = module(name).main()
    return result, capsys.readouterr().out


def test_every_example_is_tested_here():
    here = Path(__file__).read_text(encoding="utf-8")
    assert NAMES
    for name in NAMES:
        assert f"def test_{name}(" in here


@pytest.mark.parametrize("name", NAMES)
def test_examples_are_short_and_start_with_a_word(name):
    text = (FOLDER / f"{name}.py").read_text(encoding="utf-8")
    assert text.startswith('"""')
    assert text.count("\n") < (140 if name == "own_tensors" else 75)
    assert 'if __name__ == "__main__":\n    main()\n' in text


def test_spgl1_oracle(capsys):
    rows, out = run("spgl1_oracle", capsys)
    assert len(out.splitlines()) == 2 + len(rows)
    for data, iterations, recorded, paper, default in rows:
        assert recorded >= iterations
        assert default.success
        assert set(default.indices) == set(data.support)
        np.testing.assert_allclose(default.x, data.x, atol=1e-3)
        assert default.iterations <= paper.iterations <= recorded
    paper, iterations = rows[0][3], rows[0][1]
    assert paper.success
    assert paper.iterations < iterations  # an easy problem: the atoms are there long before the solver is done
    assert ("never" in out) == any(not row[3].success for row in rows)


def test_phase_retrieval(capsys):
    pairs, out = run("phase_retrieval", capsys)
    assert out.count("relative error") == 2
    for x, s in pairs:
        assert s.success
        assert s.cardinality == 1
        np.testing.assert_allclose(s.x, np.outer(x, x.conj()), atol=1e-5 * np.abs(x).max() ** 2)


def test_matrix_completion(capsys):
    (s, alone, error), out = run("matrix_completion", capsys)
    assert "1000 predicted entries" in out
    assert s.success
    assert s.left.shape == (200, 3)
    assert error < 0.01  # less than the noise: three factors average it out
    assert alone.loss <= s.loss


def test_distances(capsys):
    (places, covariances), out = run("distances", capsys)
    assert out.count("relative error") == 2
    points, found = places
    np.testing.assert_allclose(found.left @ found.left.T, points @ points.T, atol=1e-8)
    np.testing.assert_allclose(found.left.mean(axis=0), 0.0, atol=1e-10)
    np.testing.assert_allclose(covariances[1].x, covariances[0], atol=1e-8)


def test_robust_pca(capsys):
    (data, answers, errors), out = run("robust_pca", capsys)
    assert out.count("error of the first part") == 5
    for name, s in answers.items():
        assert s.success
        assert s.parts[0].cardinality == 2
        assert errors[name] <= (0.02 if name == "rank alone" else 1e-4)
    for name in ("nothing", "pursuit"):
        assert answers[name].parts[1].cardinality == data.sparse.nnz
    assert answers["pursuit"].certificate.gap <= 2e-3 * answers["pursuit"].gauge


def test_demixing(capsys):
    (s, errors), out = run("demixing", capsys)
    assert out.count("relative error") == 2
    assert s.success
    assert max(errors) <= 0.05


def test_pylops_deconvolution(capsys):
    (reflectivity, s), out = run("pylops_deconvolution", capsys)
    assert "products with the operator" in out
    assert s.success
    assert set(s.indices) == set(np.flatnonzero(reflectivity))
    np.testing.assert_allclose(s.x, reflectivity, atol=0.05)


def test_data_frame(capsys):
    (s, error, with_age), out = run("data_frame", capsys)
    assert list(s.names) == ["bmi", "s5", "sex"]
    assert error < 6
    assert "'bmi' is missing" in out
    assert "age" in with_age.names
    assert "s5" not in with_age.names


def test_own_oracle(capsys):
    (x, own, plain), out = run("own_oracle", capsys)
    assert "ProjectedGradient" in out
    for s in (own, plain):
        assert s.success
        np.testing.assert_allclose(s.x, x, atol=1e-5)
    np.testing.assert_allclose(own.x, plain.x, atol=1e-12)  # the same vectors, the same answer
    M = np.random.default_rng(1).random((12, 20))
    problem = fa.Problem.of(M, M[:, 3] + M[:, 7], atoms=fa.NonnegativeCone(20), k=2)
    check_oracle(module("own_oracle").ProjectedGradient(np.linalg.norm(M, 2) ** 2), problem)


def test_own_set(capsys):
    (traffic, shares, whole, seen), out = run("own_set", capsys)
    assert "shares of three matchings" in out
    for s in (whole, seen):
        np.testing.assert_allclose(s.coefficients, shares, atol=1e-6)
        np.testing.assert_allclose(s.x, traffic, atol=1e-6)
    assert seen.success
    check_atoms(module("own_set").Permutations(5))


def test_own_tensors(capsys):
    (X, factors, s), out = run("own_tensors", capsys)
    assert "three rank-one tensors" in out
    np.testing.assert_allclose(s.x, X, atol=1e-6)
    sizes = np.prod([np.linalg.norm(f, axis=1) for f in factors], axis=0)
    np.testing.assert_allclose(np.sort(s.coefficients), np.sort(sizes), rtol=1e-6)  # the decomposition is unique
    atoms = module("own_tensors").RankOneTensors(4, 3, 2)
    z = np.random.default_rng(0).standard_normal(atoms.shape)
    face = atoms.expose(z, 1)
    assert float(np.vdot(face.point(face.mean_atom()), z)) <= atoms.support(z)  # an upper bound
    check_atoms(atoms, trials=1)
    check_face(module("own_tensors").CPFace.of([face.atoms[0], atoms.expose(-z[::-1], 1).atoms[0]], atoms.shape))


def test_own_finite_set(capsys):
    (atoms, x, s), out = run("own_finite_set", capsys)
    assert "branches that end in [8, 13]" in out
    np.testing.assert_allclose(s.x, x, atol=1e-8)
    check_atoms(atoms)
    check_capability(atoms, Listing)


def test_own_operator(capsys):
    (x, plain, known), out = run("own_operator", capsys)
    assert out.count("spikes at [40, 120, 260, 333]") == 2
    for s in (plain, known):
        assert s.success
        np.testing.assert_allclose(s.x, x, atol=1e-4)
    n = 30
    blur = module("own_operator").KnownBlur(np.array([1.0, 0.5, 0.2]), n, np.arange(0, n, 2))
    check_operator(blur)
    check_capability(blur, ColumnBlocks)


def test_own_loss(capsys):
    (x, robust, plain), out = run("own_loss", capsys)
    assert "pseudo-Huber" in out
    assert np.abs(robust.x - x).max() < 0.05 < np.abs(plain.x - x).max()
    assert math.isfinite(robust.certificate.gap)
    check_loss(module("own_loss").PseudoHuber(0.7), m=9)


def test_own_method(capsys):
    (x, s), out = run("own_method", capsys)
    assert "The bound is met" in out
    np.testing.assert_allclose(s.x, x, atol=1e-6)
    rng = np.random.default_rng(1)
    M = rng.standard_normal((30, 40))
    problem = fa.Problem.of(M, M[:, :3].sum(axis=1), atoms=fa.SignedOneHot(40), k=3)
    check_method(module("own_method").HardThresholding(np.linalg.norm(M, 2) ** 2), problem)


def test_classes(capsys):
    (s, right, path, few), out = run("classes", capsys)
    assert sorted(s.indices.tolist()) == [5, 17, 31]
    assert s.classes.tolist() == ["iris", "lily", "rose"]
    assert right > 0.65
    assert path.chosen == 3
    assert few.status is fa.Status.SEPARABLE
    assert not few.success
    assert "feature 17: iris -" in out

"""A proof as a figure, in a report and in words: nothing is told that does not hold."""

import numpy as np
import pytest

import fewatoms as fa
from fewatoms import words
from fewatoms.figures import Decided
from fewatoms.proofs import families
from prove.twin import Exhaustive


@pytest.fixture
def proof(exhaustive):
    rng = np.random.default_rng(0)
    M = rng.standard_normal((30, 8))
    s = fa.fit(M, M[:, :3].sum(axis=1) + 0.5 * rng.standard_normal(30), atoms=fa.SignedOneHot(8), k=3, ridge=0.3)
    return fa.prove(s)


def test_both_bounds_are_drawn_against_time(proof):
    plt = pytest.importorskip("matplotlib.pyplot", reason="matplotlib is not installed")
    display = proof.plot()
    np.testing.assert_array_equal(display.lower_.get_ydata(), proof.trace[:, 1])
    np.testing.assert_array_equal(display.upper_.get_ydata(), proof.trace[:, 2])
    assert (np.diff(proof.trace[:, 0]) >= 0).all()
    assert (np.diff(proof.trace[:, 1]) >= 0).all()
    assert proof.trace[-1].tolist() == [proof.seconds, proof.lower, proof.upper]
    assert display.ax_.get_ylabel() == "objective"
    figure, ax = plt.subplots()
    assert fa.display.ProofDisplay.from_proof(proof).plot(ax=ax).figure_ is figure
    figure.canvas.draw()
    plt.close("all")


def test_a_report_tells_it_and_draws_it(proof, tmp_path):
    proof.solution.report(tmp_path / "with.html", proof=proof)
    text = (tmp_path / "with.html").read_text(encoding="utf-8")
    assert "Proven: no choice of 3 of the 8 atoms has an objective below" in text
    assert "it lies between the curves" in text
    proof.solution.report(tmp_path / "without.html")
    assert "it lies between the curves" not in (tmp_path / "without.html").read_text(encoding="utf-8")
    M, b = proof.solution.certificate.problem.measured, proof.solution.certificate.problem.data
    other = fa.fit(M, b, atoms=fa.SignedOneHot(8), k=2, ridge=0.3)
    with pytest.raises(ValueError, match=r"proof must be about this answer: proof.solution.report"):
        other.report(tmp_path / "other.html", proof=proof)


def test_an_open_proof_in_a_report(proof, monkeypatch, tmp_path):
    monkeypatch.setattr(families, "PROVERS", (Exhaustive(most=4),))
    open_ = fa.prove(proof.solution)
    open_.solution.report(tmp_path / "open.html", proof=open_)
    text = (tmp_path / "open.html").read_text(encoding="utf-8")
    assert "Not proven: that no other choice of 3 of the 8 atoms has a lower objective. Look at all of them." in text
    assert str(open_.solution.certificate).count("Not proven") == 1


# Numbers in words ----------------------------------------------------------------------------------------------------


def test_numbers_are_rounded_outwards():
    rng = np.random.default_rng(0)
    for _ in range(500):
        lower = float(10.0 ** rng.uniform(-12, 18))
        upper = lower * (1 + float(rng.choice([0.0, 10.0 ** rng.uniform(-14, 1)])))
        low, high = (float(text.replace(",", "")) for text in words.between(lower, upper))
        assert lower * (1 - 1e-5) <= low <= lower
        assert upper <= high <= upper * (1 + 1e-5)
        if 1e-10 < (upper - lower) / upper < 1e-5:  # and they are told apart
            assert high - low <= 3 * (upper - lower)


def test_numbers_as_they_are_read():
    assert words.between(571001.96, 571002.25) == ("571,001.95", "571,002.25")
    assert words.between(0.0, 2.0) == ("0", "2")
    assert words.between(3.0, 3.0) == ("3", "3")
    assert words.between(1.23456789e20, 1.3e20) == ("1.23456e+20", "1.30000e+20")
    assert words.tolerance(1e-4) == "1e-4"
    assert words.tolerance(2.5e-6) == "2.5e-6"
    assert words.tolerance(0.05) == "0.05"


def test_sentences():
    known = Decided(571001.96, 571002.25, 1e-4, True, "choice of 8 of the 64 features", "loss")
    assert words.decided(known) == (
        "Proven: no choice of 8 of the 64 features has a loss below 571,001.95; ours is 571,002.25: proven to 1e-4."
    )
    assert words.undecided(known) == ""
    half = known._replace(proven=False, lower=500000.0, what="objective", remedy="Give more.")
    assert words.decided(half).endswith(" below 500,000; ours is 571,003, of which 12.43% could be gained at most.")
    assert words.undecided(half) == (
        "Not proven: that no other choice of 8 of the 64 features has a lower objective. Give more."
    )
    nothing = half._replace(lower=0.0)
    assert words.decided(nothing) == ""

"""Displays: made of an answer, drawn where one says, with what is drawn in numbers."""

import subprocess
import sys

import numpy as np
import pandas as pd
import pytest

import fewatoms as fa
from answers import answer, cases
from fewatoms.callbacks import Trace
from fewatoms.display import (
    AtomsDisplay,
    ConvergenceDisplay,
    DecompositionDisplay,
    MatrixDisplay,
    PathDisplay,
    SpectraDisplay,
)

plt = pytest.importorskip("matplotlib.pyplot", reason="matplotlib is not installed")


@pytest.fixture(autouse=True)
def closed():
    yield
    plt.close("all")


@pytest.fixture(scope="module")
def path():
    case = cases()["signed"]
    found = fa.fit_path(case.M, case.b, atoms=fa.SignedOneHot(20), k=range(1, 6))
    found.choose_k("bic")
    return found


@pytest.fixture(scope="module")
def traced():
    trace = Trace()
    return cases()["nonnegative"].fit(callback=trace, misfit=0.2), trace


def displays(path, traced):
    return [
        ConvergenceDisplay.from_solution(*traced),
        ConvergenceDisplay.from_trace(traced[1]),
        PathDisplay.from_path(path),
        PathDisplay.from_solution(path),
        AtomsDisplay.from_solution(answer("signed")),
        AtomsDisplay.from_solution(answer("classes")),
        MatrixDisplay.from_solution(answer("completion")),
        SpectraDisplay.from_solution(answer("signed")),
        SpectraDisplay.from_solution(answer("cone")),
        DecompositionDisplay.from_solution(answer("demixing")),
    ]


def test_all_of_them_draw_where_one_says(path, traced):
    for display in displays(path, traced):
        figure, ax = plt.subplots()
        assert display.plot(ax=ax) is display
        assert display.ax_ is ax
        assert display.figure_ is figure
        figure.canvas.draw()
        assert display.plot().ax_ is not ax


def test_convergence_is_the_trace(traced):
    s, trace = traced
    display = ConvergenceDisplay.from_solution(s, trace).plot()
    np.testing.assert_array_equal(display.line_.get_xdata()[:-1], trace.seconds)
    assert display.line_.get_ydata()[-1] == s.misfit
    assert display.drawn.bound == 0.2
    with pytest.raises(ValueError, match="trace must have rows"):
        ConvergenceDisplay.from_trace(Trace())


def test_atoms_have_names_and_bars():
    case = cases()["signed"]
    names = [f"col $x_{i}$ {'long ' * 40}" for i in range(20)]
    s = fa.fit(pd.DataFrame(case.M, columns=names), case.b, atoms=fa.SignedOneHot(20), k=3)
    display = AtomsDisplay.from_solution(s).plot()
    display.figure_.canvas.draw()  # names that look like formulas are drawn as they are
    assert [bar.get_width() for bar in display.bars_] == s.coefficients.tolist()
    assert len(AtomsDisplay.from_solution(s).plot(most=2).bars_) == 2
    assert display.drawn.labels == s.names.tolist()


@pytest.mark.parametrize("kind", ["fitted", "known", "residuals", "singular values"])
def test_kinds_of_pictures_of_a_matrix(kind):
    s = answer("biases")
    display = MatrixDisplay.from_solution(s).plot(kind=kind)
    if kind == "singular values":
        assert [bar.get_height() for bar in display.ax_.patches] == pytest.approx(np.abs(s.coefficients))
    else:
        (image,) = display.ax_.images
        shown = np.ma.filled(image.get_array(), np.nan)
        assert shown.shape == (12, 10)
        assert np.isnan(shown).any() == (kind != "fitted")
    with pytest.raises(ValueError, match="kind must be one of"):
        MatrixDisplay.from_solution(s).plot(kind="nothing")


def test_a_matrix_without_data(tmp_path):
    s = answer("completion")
    s.save(tmp_path / "s.npz")
    display = MatrixDisplay.from_solution(fa.load(tmp_path / "s.npz"))
    display.plot()
    with pytest.raises(ValueError, match=r"attach\(M, b\)"):
        display.plot(kind="known")


def test_parts_side_by_side_and_as_frames():
    s = answer("robust")
    display = DecompositionDisplay.from_solution(s).plot()
    assert [ax.get_title() for ax in display.ax_] == display.drawn.titles
    assert display.drawn.titles == ["data", "low rank (1)", "few entries (5)"]
    frames = DecompositionDisplay.from_solution(s).plot(frame=(5, 2), column=3)
    (image,) = frames.ax_[0].images
    np.testing.assert_array_equal(np.ravel(image.get_array()), cases()["robust"].b[:, 3])
    with pytest.raises(ValueError, match="ax must be 3 axes"):
        display.plot(ax=plt.subplots()[1])
    with pytest.raises(ValueError, match="product is 10; got"):
        display.plot(frame=(3, 3))
    with pytest.raises(ValueError, match="column must"):
        display.plot(frame=(5, 2), column=8)


def test_frames_of_data_and_background_can_be_compared():
    s = answer("robust")
    data, low, few = (ax.images[0] for ax in DecompositionDisplay.from_solution(s).plot(frame=(5, 2)).ax_)
    assert data.get_clim() == low.get_clim()
    assert data.get_cmap().name == low.get_cmap().name == "gray"
    assert few.get_clim()[0] == -few.get_clim()[1]


def test_spectra_add_up():
    for name in ("signed", "box, free", "columns", "huber", "groups, numbers"):
        s = answer(name)
        drawn = SpectraDisplay.from_solution(s).drawn
        np.testing.assert_allclose(drawn.beside + drawn.parts.sum(axis=0), drawn.fit, atol=1e-9)
        assert drawn.others == 0
    s = answer("box, free")
    np.testing.assert_allclose(drawn_fit(s), s.predict(cases()["box, free"].M), atol=1e-9)
    with pytest.raises(ValueError, match=r"x must have shape \(30,\)"):
        SpectraDisplay.from_solution(s).plot(x=[1.0, 2.0])
    with pytest.raises(ValueError, match="one data vector of numbers"):
        SpectraDisplay.from_solution(answer("classes"))


def drawn_fit(s):
    return SpectraDisplay.from_solution(s).drawn.fit


def test_matplotlib_is_imported_when_something_is_drawn():
    script = "import sys; from fewatoms.display import PathDisplay; print('matplotlib' in sys.modules)"
    out = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True).stdout
    assert out == "False\n"


def test_without_matplotlib_the_remedy_is_told(path, monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib.pyplot", None)
    for display in (PathDisplay.from_path(path), DecompositionDisplay.from_solution(answer("robust"))):
        with pytest.raises(ImportError, match=r"pip install 'fewatoms\[plot\]'"):
            display.plot()


def test_names_that_begin_with_a_line_are_in_the_legend():
    case = cases()["nonnegative"]
    frame = pd.DataFrame(case.M, columns=[f"_{i}" for i in range(20)])
    s = fa.fit(frame, case.b, atoms=fa.NonnegativeOneHot(20), k=3)
    said = [text.get_text().strip() for text in SpectraDisplay.from_solution(s).plot().ax_.get_legend().get_texts()]
    assert {*s.names} <= {*said}

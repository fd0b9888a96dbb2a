"""Reports without a browser: one file, a policy with the hashes of its own parts, everything said and escaped."""

import base64
import hashlib
import json
import re
from html import unescape
from html.parser import HTMLParser

import numpy as np
import pandas as pd
import pytest

import fewatoms as fa
from answers import NAMES, answer, cases
from fewatoms import words
from fewatoms.drawn.grids import Grid
from fewatoms.drawn.spectra import Spectra
from fewatoms.report import cells, plots, png, shell

VOID = {"meta", "input", "img", "br"}
INSIDE_SVG = {"line", "rect", "circle", "path", "stop", "image"}
NASTY = "</script><script>alert(1)</script><b onclick='x'>&\"'"


class Page(HTMLParser):
    """Reads a page strictly: every tag is closed in its turn, and what could do harm is not there."""

    def __init__(self, text):
        super().__init__()
        self.open, self.ids, self.said, self.tables, self.scripts, self.policy = [], [], [], [], [], None
        self.feed(text)
        self.close()
        assert self.open == []
        assert len(self.ids) == len(set(self.ids))

    def handle_starttag(self, tag, attrs):
        found = dict(attrs)
        assert len(found) == len(attrs)
        assert "style" not in found  # the policy would refuse it
        assert not [name for name in found if name.startswith("on")]
        for name in ("href", "src"):
            value = found.get(name, "#")
            assert value.startswith(("#", "data:image/png;base64,")), value
        if "id" in found:
            self.ids.append(found["id"])
        if found.get("http-equiv") == "Content-Security-Policy":
            self.policy = found["content"]
        if tag == "svg":
            assert found.get("aria-hidden") == "true" or (found["role"] == "img" and found["aria-label"])
        if tag == "img":
            assert found["alt"]
        if tag == "script":
            self.scripts.append(found)
        if tag == "tbody":
            self.tables.append([])
        if tag == "tr" and "tbody" in self.open:
            self.tables[-1].append([])
        if tag == "td" and "tbody" in self.open:
            self.tables[-1][-1].append("")
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag, attrs):
        assert tag in INSIDE_SVG
        self.handle_starttag(tag, attrs)
        self.open.pop()

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        if {"style", "script"} & set(self.open):
            return
        self.said.append(data)
        if {"td", "tbody"} <= set(self.open):
            self.tables[-1][-1][-1] += data

    @property
    def words(self):
        return "".join(self.said)


def written(thing, tmp_path, **more):
    file = tmp_path / "report.html"
    thing.report(file, **more)
    return file.read_text(encoding="utf-8")


@pytest.mark.parametrize("name", NAMES)
def test_every_answer_has_a_report(name, tmp_path):
    s = answer(name)
    page = Page(written(s, tmp_path))
    assert s.message in page.words
    assert s.status.name in page.words
    for claim in words.claims(s.certificate):
        assert claim.text in page.words
        assert page.words.count(claim.text) == 1
    s.save(tmp_path / "s.npz")
    back = fa.load(tmp_path / "s.npz")
    alone = Page(written(back, tmp_path))  # without M and b
    assert s.message in alone.words


def hashed(part):
    return "sha256-" + base64.b64encode(hashlib.sha256(part.encode()).digest()).decode()


def test_the_policy_knows_style_and_script_by_their_hashes(tmp_path):
    text = written(answer("signed"), tmp_path)
    policy = Page(text).policy
    (style,), (script,) = (re.findall(f"<{tag}>(.*?)</{tag}>", text, flags=re.DOTALL) for tag in ("style", "script"))
    assert f"style-src '{hashed(style)}'" in policy
    assert f"script-src '{hashed(script)}'" in policy
    assert policy.startswith("default-src 'none';")
    assert "unsafe" not in policy
    assert not re.search(r"https?://(?!www\.w3\.org/2000/svg)", text)
    assert text.index("Content-Security-Policy") < text.index("<style>")


def test_the_script_is_small_and_makes_no_html_of_names():
    script = shell._part("script.js")
    assert len(script.splitlines()) < 100
    for word in ("innerHTML", "outerHTML", "insertAdjacentHTML", "document.write", "eval(", "fetch(", "import("):
        assert word not in script


def test_a_report_is_one_file_and_all_or_nothing(tmp_path, monkeypatch):
    answer("signed").report(tmp_path / "a.html")
    assert [file.name for file in tmp_path.iterdir()] == ["a.html"]
    before = (tmp_path / "a.html").read_bytes()
    monkeypatch.setattr(shell.Path, "write_text", lambda *_, **__: (_ for _ in ()).throw(OSError("full")))
    with pytest.raises(OSError, match="full"):
        answer("bound").report(tmp_path / "a.html")
    assert (tmp_path / "a.html").read_bytes() == before
    assert [file.name for file in tmp_path.iterdir()] == ["a.html"]


def test_a_report_is_the_same_twice(tmp_path):
    assert written(answer("signed"), tmp_path) == written(answer("signed"), tmp_path)


def test_names_are_escaped_everywhere(tmp_path):
    case = cases()["signed"]
    names = [NASTY + str(i) for i in range(18)] + ["x" * 10_000, "\ud800 \u202e\x00"]
    s = fa.fit(case.M, case.b, atoms=fa.SignedOneHot(20), k=20)
    text = written(s, tmp_path, names=names, title=NASTY, notes=[NASTY])
    page = Page(text)
    assert "<script>alert" not in text
    rows = {row[0] for row in page.tables[0]}
    assert {shell.cut(name) for name in names} == rows
    assert page.words.count(NASTY) >= 19
    frame = pd.DataFrame(case.M, columns=[NASTY + str(i) for i in range(20)])
    path = fa.fit_path(frame, case.b, atoms=fa.SignedOneHot(20), k=[1, 2])
    text = written(path, tmp_path, title=NASTY)
    assert "<script>alert" not in text
    assert text.count("</script>") == 2
    (data,) = re.findall(r'<script type="application/json" id="path-data">(.*?)</script>', text)
    assert NASTY in json.loads(data)["names"][0]
    many = fa.fit_many(frame, pd.DataFrame({NASTY: case.b}), atoms=fa.SignedOneHot(20), k=2)
    assert NASTY in Page(written(many, tmp_path)).words


def test_long_names_keep_both_ends():
    assert shell.cut("abc") == "abc"
    cut = shell.cut("a" * 5000 + "z" * 5000)
    assert len(cut) == shell.LONGEST + 1
    assert cut.startswith("aaa")
    assert cut.endswith("zzz")
    assert shell.cut("a\nb\x1b[31m") == "a b [31m"
    assert unescape(shell.text("<&>\"'")) == "<&>\"'"


def test_the_table_of_atoms_is_the_answer(tmp_path):
    s = answer("signed")
    rows = Page(written(s, tmp_path)).tables[0]
    for row, record in zip(rows, s.table(), strict=True):
        assert row[0] == str(record["atom"])
        assert float(row[2]) == pytest.approx(record["coefficient"], rel=1e-3)
        assert float(row[3].rstrip("%")) == pytest.approx(100 * record["contribution"], abs=0.06)
        assert float(row[4]) == pytest.approx(record["cost"], rel=1e-3)


def test_a_path_has_every_k_for_the_slider(tmp_path):
    case = cases()["signed"]
    path = fa.fit_path(case.M, case.b, atoms=fa.SignedOneHot(20), k=[4, 1, 2])
    path.choose_k("bic")
    text = written(path, tmp_path)
    page = Page(text)
    data = json.loads(re.findall(r'id="path-data">(.*?)</script>', text)[0])
    assert data["heads"] == ["coefficient", "contribution", "cost"]
    for k, told in zip(path.k, data["answers"], strict=True):
        s = path[k]
        assert [data["names"][row[0]] for row in told["rows"]] == [str(i) for i in s.indices]
        shares = s.measures.contribution
        assert [row[1] for row in told["rows"]] == pytest.approx(
            np.sign(s.coefficients) * shares / shares.max(), rel=1e-5
        )
        assert [row[2] for row in told["rows"]] == pytest.approx(s.coefficients.tolist(), rel=1e-5)
        assert [row[3] for row in told["rows"]] == pytest.approx(shares.tolist(), rel=1e-5)
        assert told["figures"]["loss"] == f"{s.loss:.4g}"
    assert [row[0] for row in page.tables[0]] == [str(i) for i in path.best.indices]  # what is read without a script
    assert [row[0] for row in page.tables[1]] == ["4", "1", "2"]
    assert f"What is proven for k = {path.chosen}, and what is not" in page.words
    unchosen = fa.fit_path(case.M, case.b, atoms=fa.SignedOneHot(20), k=[1, 2])
    assert "No k has been chosen yet." in Page(written(unchosen, tmp_path)).words


@pytest.mark.parametrize("name", ["classes", "completion", "robust", "psd", "groups, strings", "nothing"])
def test_paths_of_all_kinds(name, tmp_path):
    case = cases()[name]
    sizes = [(1, 2), (1, 4)] if name == "robust" else [1, 2]
    said = {word: value for word, value in case.words.items() if word not in ("k", "misfit")}
    path = fa.fit_path(case.M, case.b, k=sizes, **said)
    assert path[sizes[0]].message in Page(written(path, tmp_path)).words


def test_dear_measures_are_made_for_the_shown_k_alone(tmp_path, monkeypatch):
    from fewatoms.report import sizes

    monkeypatch.setattr(sizes, "MEASURED", 0.0)
    case = cases()["huber"]
    path = fa.fit_path(case.M, case.b, k=[1, 2], atoms=case.words["atoms"], loss=case.words["loss"])
    data = json.loads(re.findall(r'id="path-data">(.*?)</script>', written(path, tmp_path))[0])
    for place in (1, 3):  # the bar as well: coefficients would not be of the same kind
        assert [row[place] is None for told in data["answers"] for row in told["rows"]] == [False, True, True]


def test_convergence_is_drawn_where_a_trace_is_given(tmp_path):
    trace = fa.callbacks.Trace()
    s = cases()["nonnegative"].fit(callback=trace, misfit=0.2)
    assert "How it was found" in Page(written(s, tmp_path, trace=trace)).words
    assert "How it was found" not in Page(written(s, tmp_path)).words


def pictures(text):
    """Kinds of colours of all pictures: 0 is grey, 2 has colours."""
    return [base64.b64decode(found)[25] for found in re.findall(r'<img [^>]*src="data:image/png;base64,(.*?)"', text)]


def test_backgrounds_are_grey_as_the_data_are(tmp_path):
    s = answer("robust")  # its low-rank part has both signs
    text = written(s, tmp_path, frame=(5, 2))
    kinds = np.array(pictures(text)).reshape(8, 3)
    assert (kinds[:, :2] == 0).all()
    assert (kinds[:, 2] == 2).any()
    scales = re.findall(r"<figcaption>(data|low rank|few entries).*?\(([^()]* to [^()]*)\)</figcaption>", text)
    assert {ends for what, ends in scales if what == "data"} == {ends for what, ends in scales if what == "low rank"}


def test_a_sum_shows_pictures_before_numbers(tmp_path):
    text = written(answer("robust"), tmp_path, frame=(5, 2))
    assert text.index('class="step"') < text.index("<details>")
    assert "<title>Low rank (1) and few entries (5)</title>" in text
    page = Page(text)
    rows = {tuple(row[:3]) for row in page.tables[-1]}  # frame, row, column of the picture
    assert rows == {(str(j), str(i // 2), str(i % 2)) for i, j in answer("robust").parts[1].indices.tolist()}
    assert "all is counted from 0" in page.words
    named = Page(written(answer("robust"), tmp_path, frame=(5, 2), cols=[f"{j + 1}.png" for j in range(8)]))
    assert {(f"{int(j) + 1}.png", str(int(a) + 1), str(int(b) + 1)) for j, a, b in rows} == {
        tuple(row[:3]) for row in named.tables[-1]
    }
    assert "<title>A 12 x 10 matrix of rank" in written(answer("completion"), tmp_path)


def test_columns_of_a_table_of_atoms_are_explained(tmp_path):
    case = cases()["signed"]
    path = fa.fit_path(case.M, case.b, atoms=fa.SignedOneHot(20), k=[1, 2])
    for thing in (answer("signed"), path):
        said = Page(written(thing, tmp_path)).words
        assert said.count("contribution: the length of what an atom adds") == 1
        assert said.count("cost: what the objective would rise by") == 1
        assert "on the data that were fitted" in said


def test_data_have_names(tmp_path):
    s = answer("signed")
    rows = [f"patient {i}" for i in range(30)]
    case = cases()["signed"]
    left = np.abs(case.b - case.M @ s.x)
    page = Page(written(s, tmp_path, rows=rows))
    assert page.tables[1][0][0] == f"patient {left.argmax()}"
    bare = Page(written(s, tmp_path))
    assert bare.tables[1][0][0] == str(left.argmax())
    assert "The largest residuals; all is counted from 0" in bare.words
    path = fa.fit_path(case.M, case.b, atoms=fa.SignedOneHot(20), k=[1, 2])
    assert "patient " in Page(written(path, tmp_path, rows=rows)).words
    for thing in (s, path):
        with pytest.raises(ValueError, match="rows must have 30 entries; got 1"):
            thing.report(tmp_path / "no.html", rows=["a"])


@pytest.mark.parametrize("name", NAMES)
def test_what_is_proven_has_both_numbers(name, tmp_path):
    s = answer(name)
    said = Page(written(s, tmp_path)).words
    assert "in this range" not in said
    assert "{where}" not in said
    known = s.certificate.known().relaxed
    if known is not None and "The relaxation is an easier problem" in said:
        low, high = words.optimum(known)
        told = re.findall(r"lies between (\S+) and (\S+): the nearer", said)
        if np.isfinite(high - low):
            assert np.array(told, dtype=float) == pytest.approx(np.array([[low, high]]), rel=1e-5)


def test_frames_and_faces(tmp_path):
    s = answer("robust")
    text = written(s, tmp_path, frame=(5, 2))
    assert text.count('class="step"') == 8
    assert text.count("<img") == 24
    assert 'max="7"' in text
    text = written(answer("completion"), tmp_path, frame=(4, 3))
    assert text.count("<img") == 20  # what is known of a column, and the fit
    for name, frame, told in (
        ("robust", (3, 3), "product is 10; got"),
        ("robust", (5,), "frame must be a height and a width"),
        ("signed", (5, 4), "frame must be left out"),
    ):
        with pytest.raises(ValueError, match=told):
            answer(name).report(tmp_path / "no.html", frame=frame)
    assert not (tmp_path / "no.html").exists()


def test_rows_and_columns_have_names(tmp_path):
    page = Page(written(answer("completion"), tmp_path, rows=[f"user {i}" for i in range(12)], cols=list("abcdefghij")))
    assert all(row[0].startswith("user ") and row[1] in "abcdefghij" for row in page.tables[0])
    for words_ in ({"rows": ["a"]}, {"cols": ["a"] * 11}, {"names": ["a"]}):
        with pytest.raises(ValueError, match="must"):
            answer("completion").report(tmp_path / "no.html", **words_)
    with pytest.raises(ValueError, match="names must have 20 entries; got 1"):
        answer("signed").report(tmp_path / "no.html", names=["a"])


def test_many_data_vectors(tmp_path):
    rng = np.random.default_rng(0)
    M = np.abs(rng.standard_normal((30, 8)))
    B = M @ np.where(rng.random((8, 12)) < 0.3, 1.0, 0.0)
    B[0, 3] = np.nan
    answers = fa.fit_many(M, B, atoms=fa.NonnegativeOneHot(8), k=3)
    page = Page(written(answers, tmp_path, names=list("abcdefgh"), frame=(3, 4)))
    assert "BAD_DATA" in page.words
    assert {row[0] for row in page.tables[0]} <= set("abcdefgh")
    with pytest.raises(ValueError, match="product is 12"):
        answers.report(tmp_path / "no.html", frame=(3, 3))
    Page(written(fa.fit_many(M, B[:, 3:4], atoms=fa.NonnegativeOneHot(8), k=3), tmp_path))
    answers.save(tmp_path / "a.npz")
    Page(written(fa.load(tmp_path / "a.npz"), tmp_path))
    labels = np.where(B[:, :2] > np.nanmedian(B), "x", "y")
    Page(written(fa.fit_many(M, labels, atoms=fa.SignedOneHot(8), k=2, loss=fa.Logistic(), ridge=0.1), tmp_path))


# Pictures ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("low", "high"), [(0.0, 1.0), (-3.2, 7.9), (1e-9, 2e-9), (1e6, 1e6 + 1), (-1e-3, 0.0)])
def test_ticks_are_round_and_inside(low, high):
    ticks = plots._ticks(low, high, 4)
    assert 2 <= len(ticks) <= 11
    assert low - 1e-9 * abs(low) <= ticks[0] < ticks[-1] <= high + 1e-9 * abs(high)


@pytest.mark.parametrize("unit", [1e-140, 1e-14, 1e-7, 1.0, 1e120])
def test_numbers_at_axes_are_told_apart_in_any_units(unit):
    for low, high in ((0.2, 7.9), (-3.2, 1.1), (11.6414, 11.64146), (1.0, 1.0 + 1e-5)):
        x = np.array([low, high]) * unit
        picture = plots.curves([plots.Series(x, x)], "x", "y", label="l")
        for anchor in ("end", "middle"):
            said = re.findall(rf'<text class="quiet"[^>]*text-anchor="{anchor}">(.*?)<', picture)
            assert len({*said}) == len(said) >= 2
            assert all(low * unit - abs(unit) <= float(v) <= high * unit + abs(unit) for v in said)
        places = [float(v) for v in re.findall(r'x="([\d.]+)" y="214" text-anchor="middle"', picture)]
        assert min(np.diff(places)) > 7 * max(map(len, said))  # no two of them meet


@pytest.mark.parametrize("k", [[3], [1, 2], [1, 2, 3], range(1, 51)])
def test_there_are_no_numbers_between_whole_ones(k):
    x = np.array([*k], dtype=float)
    picture = plots.curves([plots.Series(x, 1 / x)], "atoms", "y", label="l")
    said = re.findall(r'y="214" text-anchor="middle">(.*?)<', picture)
    assert said
    assert {int(v) for v in said} <= {*k}


@pytest.mark.parametrize(
    "heights", [[1.0], [0.0, 0.0], [1e-30, 1.0], [np.nan, 2.0], [np.nan], [-5.0, 5.0], [3.0, 3.0 + 1e-15], [0.0, 1e9]]
)
def test_pictures_of_odd_numbers_have_finite_places(heights):
    y = np.array(heights)
    x = np.arange(y.size, dtype=float)
    drawn = [
        plots.curves([plots.Series(x, y, "a")], "x", "y", label="l", may_be_log=True, bound=1.0),
        plots.curves([plots.Series(x, y, "a", 0, "dots")], "x", "y", label="l"),
        plots.bars(np.nan_to_num(np.abs(y)), "x", "y", label="l", may_be_log=True),
        plots.stack(x, 0 * x, np.nan_to_num(y)[None], ["p"], np.nan_to_num(y), across="x", label="l"),
    ]
    for picture in drawn:
        assert "nan" not in picture
        assert "inf" not in picture


@pytest.mark.parametrize("heights", [[8.5e5, 6.1e5], [1.2e-7, 3e-7], [123456.0, 123457.0], [3.0, 4.0]])
def test_names_of_axes_stand_beside_their_numbers(heights):
    frame = plots.Frame.around(np.arange(2.0), np.array(heights))
    longest = max(map(len, plots._at_axis(frame.ticks)))
    assert frame.left - 6 - 7.2 * longest >= 12 + 4  # half a line of the name, which stands at 12
    assert "e+" not in frame.axes("x", "y")


def test_one_outlier_does_not_squash_a_histogram():
    values = np.append(np.random.default_rng(0).uniform(0.1, 0.2, 1000), 50.0)
    picture, said = plots.histogram(values, "misfit", label="l")
    assert "1 far out is not drawn" in said
    assert "to 50" in said
    assert sum(float(height) > 20 for height in re.findall(r'class="f0".*?height="(.*?)"', picture)) > 5
    assert plots.histogram(values[:-1], "misfit", label="l")[1] == ""
    plots.histogram(np.full(9, 2.0), "misfit", label="l")
    plots.histogram(np.array([0.3, np.nextafter(0.3, 1)]), "misfit", label="l")  # apart by rounding alone
    plots.histogram(np.zeros(3), "misfit", label="l")


def test_notes_are_no_string(tmp_path):
    with pytest.raises(TypeError, match="notes must be a sequence of strings; got the string 'one note'"):
        answer("signed").report(tmp_path / "a.html", notes="one note")
    assert not (tmp_path / "a.html").exists()


def test_many_atoms_whose_images_are_sparse(tmp_path):
    n = 560
    b = np.random.default_rng(0).standard_normal(n)
    s = fa.fit(fa.Identity(n), b, atoms=fa.SignedOneHot(n), k=510)
    page = Page(written(s, tmp_path))
    assert "and 10 more" in page.words
    drawn = Spectra.of(s)
    assert drawn.others == 510 - len(drawn.parts)
    np.testing.assert_array_equal(np.abs(drawn.parts).max(axis=1), np.sort(np.abs(b))[::-1][: len(drawn.parts)])
    np.testing.assert_array_equal(drawn.fit, s.x)


def test_scales_say_where_cells_lie_beyond_them():
    grid = Grid.of(np.arange(20.0).reshape(10, 2))
    for ends, signs in (((0.0, 19.0), ""), ((1.0, 19.0), "≤"), ((0.0, 18.0), "≥"), ((-9.0, 5.0), "≥")):
        drawn = cells.heat(grid, ends, "a", across="k", up="", label="l")
        assert "".join(re.findall("[≤≥]", drawn)) == signs


def test_cells_have_the_names_of_rows_and_columns():
    grid = Grid.of(np.arange(20.0).reshape(10, 2))
    names = [f"feature {i}" for i in range(10)]
    drawn = cells.heat(grid, (0.0, 1.0), "a", across="k", up="", label="l", rows=names, cols=[1, 2])
    assert re.findall(r">(feature \d)<", drawn) == names
    assert re.findall(r"small.*?>(\d)<", drawn) == ["1", "2"]
    years = cells.heat(Grid.of(np.ones((61, 12))), (0.0, 1.0), "a", across="", up="", label="l", rows=range(1950, 2011))
    assert 10 < len(re.findall(r">(19\d\d|20\d\d)<", years)) < 40
    bare = cells.heat(grid, (0.0, 1.0), "a", across="", up="", label="l", cols=["x" * 40, "y"])
    assert "xxx" not in bare


def test_signs_have_one_colour_in_bars_and_maps():
    assert "minus" in plots.bar(-1.0, 1.0)
    low, high = png.DIVERGING[0], png.DIVERGING[-1]
    assert low[0] > low[2]  # brown, as --two is, which bars below 0 have
    assert high[2] > high[0]
    style = shell._part("style.css")
    assert ".minus { fill: var(--two); }" in style
    assert "--two: #a04a00" in style


def test_marks_have_a_place_for_each_step():
    x, y = np.array([1.0, 2.0, 5.0]), np.array([3.0, 2.0, 1.0])
    picture = plots.curves([plots.Series(x, y)], "x", "y", label="l", marks=(x, y, 1))
    lines, dots = (json.loads(unescape(found)) for found in re.findall(r'data-marks="(.*?)"', picture))
    assert len(lines) == len(dots) == 3
    assert [place[0] for place in dots] == sorted(place[0] for place in dots)
    assert [place[1] for place in dots] == sorted(place[1] for place in dots)
    assert f"translate({dots[1][0]} {dots[1][1]})" in picture


@pytest.mark.parametrize("name", NAMES)
def test_no_character_of_a_name_changes_the_page(name, tmp_path):
    """Tags, quotes, control characters, marks that turn the direction of text, halves of characters."""
    nasty = [
        *(
            "<>&\"'`",
            NASTY,
            "]]>",
            "<!--",
            "\x00\x01\x1b\x7f\x85",
            "\u202e\u2066\u200f",
            "\ud800",
            "\u2028\u2029",
            "\ufeff",
        )
    ]
    found = answer(name)
    text = written(found, tmp_path, title="".join(nasty), notes=nasty)
    page = Page(text)  # strictly
    assert "<script>alert" not in text
    assert not [c for c in text if not (c.isprintable() or c == "\n")]
    assert page.policy.startswith("default-src 'none';")

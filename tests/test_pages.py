"""Answers in a notebook: one line, a few lines, and HTML that any theme can show."""

import re
from html.parser import HTMLParser

import numpy as np
import pandas as pd
import pytest

import fewatoms as fa
from answers import NAMES, answer, cases
from fewatoms import words


class Page(HTMLParser):
    """Reads a page strictly: every tag is closed in its turn, and nothing but these tags and inline styles is there."""

    tags = frozenset(["div", "p", "b", "table", "thead", "tbody", "tr", "th", "td", "details", "summary"])

    def __init__(self, text):
        super().__init__()
        self.open, self.rows, self.words = [], [], []
        self.feed(text)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag, attrs):
        assert tag in self.tags
        assert {name for name, _ in attrs} <= {"style", "open"}
        for _, value in attrs:
            assert not re.search(r"#|rgb|url|background|(?<!current)color", value or "", re.IGNORECASE)
        self.open.append(tag)
        if tag == "tr":
            self.rows.append([])
        if tag in ("td", "th"):
            self.rows[-1].append("")

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        self.words.append(data)
        if {"td", "th"} & set(self.open):
            self.rows[-1][-1] += data


def path_of(many=6):
    case = cases()["signed"]
    return fa.fit_path(case.M, case.b, atoms=fa.SignedOneHot(20), k=range(1, many + 1))


@pytest.mark.parametrize("name", NAMES)
def test_every_answer_has_a_line_a_summary_and_a_page(name, tmp_path):
    s = answer(name)
    answers = [s]
    if name in ("signed", "groups, tuples", "completion", "psd", "robust"):
        s.save(tmp_path / "s.npz")
        answers.append(fa.load(tmp_path / "s.npz"))
    for it in answers:
        for thing in (it, it.certificate, *it.parts):
            assert "\n" not in repr(thing)
            assert " at 0x" not in repr(thing)
        lines = it.summary().splitlines()
        assert lines[0] == it.message
        assert len(lines) <= 20
        assert lines[-1] == str(it.certificate).splitlines()[-1]
        page = Page(it._repr_html_())
        assert page.words[0] == it.status.name
        assert words.figures(it) in page.words[1]
        assert len(page.rows) == (it.cardinality + 1 if it.cardinality else 0)
        Page(it.certificate._repr_html_())


def test_a_page_is_the_table():
    s = answer("signed")
    head, *rows = Page(s._repr_html_()).rows
    assert head == ["atom", "coefficient", "contribution", "cost"]
    for row, record in zip(rows, s.table(), strict=True):
        assert row[0] == str(record["atom"])
        assert float(row[1]) == pytest.approx(record["coefficient"], rel=1e-5)
        assert float(row[2].rstrip("%")) == pytest.approx(100 * record["contribution"], abs=0.06)
        assert float(row[3]) == pytest.approx(record["cost"], rel=1e-3)
    text = s.summary()
    assert all(cell in text for row in rows for cell in row)


def test_names_are_escaped():
    case = cases()["signed"]
    bad = [f'<script>alert("{i}")</script>&' for i in range(20)]
    frame = pd.DataFrame(case.M, columns=bad)
    s = fa.fit(frame, case.b, atoms=fa.SignedOneHot(20), k=3, free="intercept")
    for it in (s, fa.fit_many(frame, pd.DataFrame({"<i>": case.b}), atoms=fa.SignedOneHot(20), k=3)):
        html = it._repr_html_()
        assert "<script" not in html
        Page(html)
    assert Page(s._repr_html_()).rows[1][0] == s.names[0]
    labels = np.where(case.b > 0, "<b>", "<u>")
    s = fa.fit(case.M, labels, atoms=fa.Joint(fa.SignedOneHot(20)), k=2, loss=fa.Multinomial(), ridge=0.1)
    assert Page(s._repr_html_()).rows[0][1:3] == ["coefficient of <b>", "coefficient of <u>"]


def test_long_answers_are_cut():
    rng = np.random.default_rng(0)
    M = rng.standard_normal((80, 60))
    s = fa.fit(M, M[:, :51].sum(axis=1), atoms=fa.SignedOneHot(60), k=51)
    page = Page(s._repr_html_())
    assert len(page.rows) == 1 + words.ROWS
    assert "and 31 more" in page.words
    assert "  and 46 more" in s.summary().splitlines()
    many = fa.fit_many(M, rng.standard_normal((80, 30)), atoms=fa.SignedOneHot(60), k=2)
    assert "and 10 more" in Page(many._repr_html_()).words


def test_paths_show_where_the_choice_is():
    path = path_of()
    assert Page(path._repr_html_()).rows[0] == ["k", "atoms", "loss", "misfit"]
    path.choose_k("bic")
    head, *rows = Page(path._repr_html_()).rows
    assert head == ["k", "atoms", "loss", "misfit", "bic", ""]
    assert [row[0] for row in rows if row[-1] == "chosen"] == [str(path.chosen)]
    assert path._repr_html_().count("<b>") == len(head)
    lines = path.summary().splitlines()
    assert lines[0] == repr(path)
    assert [line.split()[0] for line in lines[2:]] == [str(k) for k in path]
    assert [line for line in lines if line.endswith("chosen")] == [lines[1 + path.k.index(path.chosen) + 1]]
    assert "\n" not in repr(path)


def test_many_sizes_are_shown_around_the_choice():
    columns = {"k": list(range(50))}
    shown = {near: [row[0] for row in words.cells(columns, 20, near)[1]] for near in (0, 25, 49)}
    assert (shown[0][0], shown[25][10], shown[49][-1]) == ("0", "25", "49")
    assert {len(rows) for rows in shown.values()} == {20}
    assert words.cells(columns, 20, 25)[2] == 30


def test_several_ridges_and_many_vectors():
    case = cases()["signed"]
    path = fa.fit_path(case.M, case.b, atoms=fa.SignedOneHot(20), k=[1, 2], ridge=[0.0, 0.1])
    path.choose_k(folds=2, repeats=1)
    Page(path._repr_html_())
    assert "cv" in path.summary()
    B = np.column_stack([case.b, np.full(30, np.nan)])
    many = fa.fit_many(case.M, B, atoms=fa.SignedOneHot(20), k=2)
    head, good, bad = Page(many._repr_html_()).rows
    assert head == ["data", "ended", "atoms", "loss", "misfit"]
    assert (good[1], bad[1]) == ("SMALLEST_LOSS", "BAD_DATA")
    assert "\n" not in repr(many)
    for s in many:
        assert s.summary().startswith(s.message)
        Page(s._repr_html_())


def test_what_was_not_asked_for_is_told_with_the_remedy(tmp_path):
    s = cases()["signed"].fit()
    s.save(tmp_path / "s.npz")
    back = fa.load(tmp_path / "s.npz")
    remedy = "Contributions and costs were not asked for while M and b were there: attach(M, b) gives them back."
    assert remedy in back.summary().splitlines()
    assert remedy in Page(back._repr_html_()).words
    assert remedy not in cases()["signed"].attach(back).summary()
    assert Page(back._repr_html_()).rows[0] == ["atom", "coefficient"]

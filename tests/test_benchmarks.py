"""The benchmarks: every area runs, its smallest row at least; names are listed; bars, limits and comparisons judge."""

import json
import math
import subprocess
import sys
from dataclasses import replace
from importlib import import_module
from itertools import combinations
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from benchmarks import areas, cli, compare, data, report, runner
from benchmarks.batches import Batch
from benchmarks.peers import Adapter, brute
from benchmarks.peers.answers import Array
from benchmarks.problems import choice, exact, odd
from benchmarks.records import FIGURES, Bar, Case, Each, Limit, Part, Row, Slope, Who
from benchmarks.results import Results, judged, judged_each, slope, verdicts
from benchmarks.spelled import NotThere, spelled
from scipy.optimize import lsq_linear, minimize

ROOT = Path(__file__).resolve().parents[1]
SMALLEST = {
    "vectors.sparco": "blocksig",
    "completion.growth": "k = 5",
    "demixing.stars": "noise 0%",
    "phase.rates": "Gaussian, real, m = 6n",
}


def only(name, case, *whos):
    """A part with one of its cases, solved by ourselves, or by those who are named."""
    part = areas.part(name)
    (found,) = (c for c in part.cases if c.name == case)
    asked = tuple(w for w in found.who if (w.name in whos if whos else w.ours))
    return replace(part, cases=(replace(found, who=asked),))


def run(part, **wishes):
    skipped = []
    options = runner.Options(quick=True, seeds=1, **wishes)
    results = runner.rows_of(part, options, lambda text: None, lambda case, why: skipped.append((case, why)))
    return results, skipped


@pytest.mark.parametrize(("name", "case"), SMALLEST.items())
def test_the_smallest_row_of_each_area_runs_and_meets_its_bars(name, case, capsys):
    part = only(name, case)
    part = replace(part, cases=(replace(part.cases[0], who=part.cases[0].who[:1]),))
    results, skipped = run(part)
    assert not skipped
    assert [r.who for r in results.rows] == [w.name for w in part.cases[0].who]
    for row in results.rows:
        assert row.note == ""
        assert len(row.cpu) == 1
        assert set(row.figures) <= set(FIGURES)
        assert row.figures["products"] > 0
    # times are not judged here, nor those bars for which peers are missing
    bars = [v for v in verdicts(replace(part, slopes=()), results, True) if v.met is not None and "cpu" not in v.what]
    assert all(v.met for v in bars)
    shown = report.Report({})
    shown.begin(part)
    shown.show(part, results, True)
    assert part.cases[0].who[0].name in capsys.readouterr().out
    assert len(shown.document["rows"]) == len(results.rows)


# What is changed in a case to make it tiny, and who solves it: nobody who needs another package
TINY = {
    ("everyday.latency", "hard, 50 x 20, k=3"): ({"fits": (3, 3)}, ("fewatoms",)),
    ("everyday.signals", "Gaussian, k=5"): (
        {"quick": {"m": 16, "n": 24, "count": 4, "k": 2}},
        ("fewatoms", "truth"),
    ),
    ("everyday.groups", "correlation 0.9, k=10"): (
        {"fits": (2, 2), "quick": {"m": 40, "groups": 8, "size": 3, "k": 2}},
        ("fewatoms", "group OMP"),
    ),
    ("everyday.positive", "gaussian, noise 5%, k=20"): (
        {"fits": (2, 2), "quick": {"m": 30, "n": 40, "k": 3}},
        ("fewatoms", "NNLS + prune"),
    ),
    ("everyday.pictures", "drawn"): ({"quick": {"side": 16, "k": 60, "misfit": 0.2}}, ("fewatoms",)),
    ("choice.paths", "correlation 0.5"): ({"quick": {"m": 60, "n": 20, "k": 1}}, ("fewatoms",)),
    ("choice.separating", "correlation 0.5, k=10"): (
        {"fits": (2, 2), "quick": {"m": 80, "n": 12, "k": 2}},
        ("fewatoms, signs in M",),
    ),
    ("exact.families", "signed"): ({"fits": (3, 3)}, ("fewatoms", "brute force")),
    ("exact.families", "logistic, signs in M"): ({"fits": (2, 2)}, ("fewatoms", "brute force")),
    ("exact.fuzz", "all kinds"): ({"fits": (8, 8)}, ("fewatoms",)),
}


@pytest.mark.sampled(2)
@pytest.mark.parametrize(("name", "case"), TINY)
def test_tiny_rows_of_what_people_fit_every_day_run(name, case):
    changes, whos = TINY[name, case]
    part = only(name, case, *whos)
    results, skipped = run(replace(part, cases=(replace(part.cases[0], **changes),)))
    assert not skipped
    assert [r.who for r in results.rows] == list(whos)
    for row in results.rows:
        assert "failed" not in row.note
        assert row.figures
        assert set(row.figures) <= set(FIGURES)
        assert len(row.cpu) == (changes.get("fits", (1, 1))[1])
        assert all(len(series) in (len(row.cpu), 3) for series in row.series.values())  # 3: the k of the path


def test_every_part_has_its_pieces():
    """Generators, adapters, figures and rivals are named as data: each name must lead somewhere."""
    figures = import_module("benchmarks.figures")
    for part in areas.parts("all"):
        assert part.name.split(".")[0] in areas.AREAS
        assert not part.figure or part.figure in figures.DRAWN
        assert len({c.name for c in part.cases}) == len(part.cases)
        for case in part.cases:
            module, name = case.problem.split(".")
            assert callable(getattr(import_module(f"benchmarks.problems.{module}"), name))
            names = [w.name for w in case.who]
            assert len(set(names)) == len(names)
            for who in case.who:
                assert runner.adapter(who).package
            for bar in (*case.bars, *part.ratios, *part.totals):
                assert bar.figure in FIGURES
                assert bar.who in names
                assert "*" in bar.limit.rival or set(bar.limit.rival.split("|")) <= {"", *names}
            for demand in case.each:
                assert demand.figure in FIGURES
                assert demand.who in names
                assert "*" in demand.rival or set(demand.rival.split("|")) <= set(names)


def test_listing_names_every_part(capsys):
    cli.main([])
    lines = capsys.readouterr().out.splitlines()
    named = {line.split()[0] for line in lines}
    assert named == {"all", "bench", "page", "compare", *areas.AREAS, *(p.name for p in areas.parts("all"))}
    assert all(len(line.split()) > 1 for line in lines)


def test_names_that_are_none_are_refused(capsys):
    with pytest.raises(SystemExit):
        cli.main(["vectors.nothing"])
    assert "there is no benchmark 'vectors.nothing'" in capsys.readouterr().err
    with pytest.raises(SystemExit):
        cli.main(["compare"])
    assert "--before" in capsys.readouterr().err


def test_the_entry_runs_from_the_root_and_writes_its_rows(tmp_path):
    file = tmp_path / "rows.json"
    command = [sys.executable, "-m", "benchmarks", "vectors.sparco", "--quick", "--only", "fewatoms, k told", "--out"]
    done = subprocess.run([*command, str(file)], cwd=ROOT, capture_output=True, text=True, timeout=120, check=True)
    assert "vectors.sparco" in done.stdout
    rows = json.loads(file.read_text())["rows"]
    assert [r["case"] for r in rows] == [c.name for c in areas.part("vectors.sparco").cases]
    assert all(r["who"] == "fewatoms, k told" and r["misfit"] <= 1e-3 * (1 + 1e-9) for r in rows)


def test_rows_without_their_data_are_skipped_with_a_reason(tmp_path):
    results, skipped = run(areas.part("vectors.real"), folder=tmp_path / "nowhere")
    assert not results.rows
    assert [why for _, why in skipped] == ["no folder with the data; name one by --data or FEWATOMS_DATA"] * 5
    _, skipped = run(areas.part("demixing.video"), folder=tmp_path)
    assert skipped == [("hall", "no file hall_video.npz in the folder with the data")]


def test_peers_that_are_not_installed_are_said_to_be(monkeypatch):
    monkeypatch.setattr("benchmarks.peers.find_spec", lambda package: None)
    results, _ = run(only("vectors.sparco", "blocksig", "OMP"))
    assert [r.note for r in results.rows] == ["not installed"]


def test_peers_that_need_only_numpy_run():
    results, _ = run(only("phase.rates", "Gaussian, real, m = 6n", "TWF"))
    assert [r.figures["found"] for r in results.rows] == [1.0]


def test_somebody_who_fails_is_a_row_with_a_note():
    part = only("vectors.sparco", "blocksig")
    case = replace(part.cases[0], who=(Who("wrong", "ours.vector", {"k": -1}),))
    results, _ = run(replace(part, cases=(case,)))
    assert results.rows[0].note.startswith("failed: ValueError")


# Judging


def rows(case, who, figure, *values, cpu=1.0):
    return [Row("p", case, who, seed, (cpu,), {figure: value}) for seed, value in enumerate(values)]


def test_bars_and_limits():
    case = Case("c", "vectors.sparco", {}, ())
    found = Results(
        rows("c", "fewatoms", "misfit", 0.1, 0.2, 0.9) + rows("c", "A 1", "misfit", 0.3, 0.3, 0.3, cpu=5.0)
        + rows("c", "A 2", "misfit", 0.15, 0.15, 0.15, cpu=0.5) + rows("c", "truth", "misfit", 0.01, 0.01, 0.01)
    )  # fmt: skip

    def met(figure, limit, **how):
        return judged(case, Bar(figure, limit, **how), found)

    assert met("misfit", Limit(0.2)).met
    assert not met("misfit", Limit(0.2), over="max").met
    assert met("misfit", Limit(0.2), over=0.6).met
    assert not met("misfit", Limit(0.2), over=0.8).met
    assert not met("misfit", Limit(rival="*")).met  # the best peer's, and the truth is none
    assert met("misfit", Limit(rival="*")).limit == 0.15
    assert met("misfit", Limit(rival="A *", times=2.0)).limit == 0.3
    assert met("misfit", Limit(rival="A 1", plus=0.1)).limit == pytest.approx(0.4)
    assert met("cpu", Limit(rival="A *", by="misfit")).limit == 0.5
    assert met("cpu", Limit(rival="A *", by="cpu", among=("misfit", 0.2))).limit == 0.5
    assert met("misfit", Limit(rival="A 1"), paired=True).value == pytest.approx(0.6)
    assert met("misfit", Limit(rival="nobody")).met is None
    assert met("loss", Limit(1.0)).met is False  # a figure that is missing misses
    assert met("misfit", Limit(1.0), who="nobody") is None


def test_slopes_and_totals():
    cases = tuple(Case(f"n = {n}", "vectors.regression", {}, (), at=("n", n)) for n in (10, 100, 1000))
    found = Results(
        [Row("p", c.name, who, 0, (c.at[1] ** power,)) for c in cases for who, power in (("fewatoms", 1), ("celer", 2))]
    )
    assert slope(found, cases, "n", "fewatoms") == pytest.approx(1.0)
    part = Part("p", "", cases, totals=(Bar("cpu", Limit(rival="celer")),), slopes=(Slope("n", 0.9),))
    total, steep = verdicts(part, found, False)
    assert (total.value, total.limit, total.met) == (1110, 1_010_100, True)
    assert steep.met is False


def series(case, who, seed, *values):
    return Row("p", case, who, seed, (1.0,), {"loss": values[0]}, {"loss": values})


def test_demands_on_every_single_fit():
    case = Case("c", "vectors.sparco", {}, ())
    found = Results(
        [
            series("c", "fewatoms", 0, 1.0, 2.0), series("c", "fewatoms", 1, 3.3), series("c", "truth", 0, 0.1, 0.1),
            series("c", "A", 0, 1.0, 2.5), series("c", "A", 1, 3.0), series("c", "B", 0, 1.5, 1.9),
        ]
    )  # fmt: skip
    largest, share = judged_each(case, Each("loss", most=0.1, share=0.5), found)
    assert largest.value == pytest.approx(0.1)  # 3.3 against 3.0; the truth is no rival
    assert share.value == pytest.approx(2 / 3)  # 2.0 against 1.9 too
    assert not share.met
    assert judged_each(case, Each("loss", "A", most=0.2, floor=3.3), found)[0].value == 0.0
    assert judged_each(case, Each("loss", "nobody"), found)[0].met is None
    assert judged_each(case, Each("loss", who="nobody"), found) == []
    without = Results([row for row in found.rows if (row.who, row.seed) != ("fewatoms", 1)])
    assert judged_each(case, Each("loss", "A", most=9.0), without)[0].met is False  # no answer is the worst


def test_ratios_are_put_together_over_cases():
    cases = tuple(Case(name, "vectors.sparco", {}, ()) for name in "cd")
    theirs = {"c": 1.0, "d": 4.0}
    found = Results()
    for c, value in theirs.items():
        found.rows += rows(c, "fewatoms", "mse", 2.0) + rows(c, "A", "mse", value) + rows(c, "B", "mse", 8.0)

    def ratio(rival, results=found, most=1.0):
        (verdict,) = verdicts(
            Part("p", "", cases, ratios=(Bar("mse", Limit(rival=rival, times=most)),)), results, False
        )
        return verdict

    assert ratio("A|B").value == pytest.approx(1.0)
    assert ratio("A|B").met
    assert ratio("B").value == pytest.approx(0.25)
    assert ratio("nobody").met is None
    failed = Results(
        [r for r in found.rows if (r.case, r.who) != ("d", "fewatoms")] + [Row("p", "d", "fewatoms", 0, note="no")]
    )
    assert ratio("A", failed).met is False


class Fit:
    """A problem whose answer is a number, or an exception."""

    def __init__(self, answer):
        self.answer = answer

    def judge(self, answer):
        assert answer < 4, "too large"
        return {"loss": answer}, "odd" if answer > 2 else None


def test_a_batch_counts_what_crashes_and_judges_the_rest():
    def solve(problem, ready):
        if isinstance(problem.answer, Exception):
            raise problem.answer
        return problem.answer

    batch = Batch((Fit(1.0), Fit(RecursionError("too deep")), Fit(3.0), Fit(5.0)))
    tool = batch.one_by_one(Adapter(solve, "numpy"))
    answers = tool.solve(batch, tool.prepare(batch))
    figures, _ = batch.judge(answers)
    assert figures["crashes"] == 1
    np.testing.assert_array_equal(figures["loss"], [1.0, np.nan, 3.0, np.nan])
    assert len(answers.seconds) == 4
    told = "3 odd: 1 x RecursionError too deep (fits 1); 1 x odd (fits 2); 1 x AssertionError too large"
    assert batch.said(answers).startswith(told)
    hopeless = Batch((Fit(ValueError("none")),))
    with pytest.raises(ValueError, match="none"):  # where all fail, that is why there is no row
        hopeless.one_by_one(Adapter(solve, "numpy")).solve(hopeless, [None])


# What nobody can do better than


def least(problem):
    """Support by support, by SciPy."""
    M, b, best = problem.centred(problem.M), problem.centred(problem.b), np.inf
    low, high = 0.0 if problem.nonnegative else -np.inf, np.inf
    if problem.cap:
        low, high = max(low, -problem.cap), problem.cap
    for some in combinations(range(M.shape[1]), problem.k):
        if set(problem.include) <= set(some):
            x = np.zeros(M.shape[1])
            x[list(some)] = lsq_linear(M[:, some], b, (low, high), method="bvls", tol=1e-14).x
            best = min(best, problem.loss(x))
    return best


@pytest.mark.parametrize(
    "words", [{}, {"nonnegative": True}, {"capped": True}, {"capped": True, "nonnegative": True}, {"free": "intercept"},
              {"forced": 2, "nonnegative": True}],
)  # fmt: skip
def test_brute_force_finds_the_best(words):
    for seed in (1, 2, 5):
        problem = exact.columns(seed, most=(7, 3), **words)
        found = problem.judge(brute.search.solve(problem, None))[0]["loss"]
        assert found == pytest.approx(least(problem), rel=1e-6, abs=1e-12)


def test_brute_force_for_classes():
    problem = exact.classes(4, free="intercept")
    found = problem.judge(brute.search.solve(problem, None))[0]["loss"]
    losses = []
    for some in combinations(range(problem.M.shape[1]), problem.k):
        A = np.c_[problem.M[:, some], np.ones(problem.b.size)] * problem.b[:, None]
        losses.append(minimize(lambda v, A=A: np.logaddexp(0.0, -A @ v).sum(), np.zeros(A.shape[1])).fun)
    assert found == pytest.approx(min(losses) / (problem.b.size * np.log(2)), rel=1e-6)


def test_answers_that_are_not_what_they_say_are_noticed():
    M, b = np.eye(3), np.array([3.0, 2.0, 0.0])
    problem = odd.Odd(M, b, M, 1, "nonnegative", "fit", {"misfit": 0.6})

    def complaints(x, loss, **words):
        said = {"success": True, "status": SimpleNamespace(name="BOUND_MET"), "free_coefficients": np.zeros(0)}
        return problem.complaints(SimpleNamespace(x=np.array(x), loss=loss, **{**said, **words}), b)

    assert complaints([3.0, 0, 0], 2.0) == []
    assert complaints([3.0, 2.0, 0], 0.0) == ["more than k atoms"]
    assert complaints([3.0, 0, 0], 1.0) == ["a loss that is not its own"]
    assert "a negative coefficient" in complaints([0, 0, -1.0], 7.0)
    assert "a bound that is not met" in complaints([0, 2.0, 0], 4.5)
    unreachable = SimpleNamespace(name="UNREACHABLE")
    assert complaints([3.0, 0, 0], 2.0, success=False, status=unreachable) == ["a bound that can be met"]
    assert complaints([math.nan, 0, 0], 2.0) == ["not finite"]


def test_splits_show_no_row_twice_and_folds_spread_classes():
    for seed in range(3):
        split = choice._halved(*choice._labelled(50, 3, np.random.default_rng(seed)), (1,), seed, classes=True)
        assert split.y.size + split.y_new.size == 50
        assert not set(map(tuple, split.X)) & set(map(tuple, split.X_new))
        for label in (-1.0, 1.0):
            assert (split.y_new == label).any()
            assert np.ptp(np.bincount(split.folds[split.y == label], minlength=5)) <= 1
    table = choice.diabetes(2, (1,), 0) if runner.adapter(Who("", "sklearn.omp")).installed else None
    assert table is None or table.X.shape[1] == 64


def test_settings_go_on_until_enough(monkeypatch):
    part = only("phase.rates", "Gaussian, real, m = 6n")

    def solve(problem, ready, *, setting):
        return Array(problem.x * (1 + 1 / setting))

    monkeypatch.setattr("benchmarks.peers.plain.means", Adapter(solve, "numpy"))

    def at(limit, *settings):
        who = Who("more and more", "plain.means", settings=settings, enough=("error", Limit(limit)))
        (row,) = run(replace(part, cases=(replace(part.cases[0], who=(who,)),)))[0].rows
        assert row.figures["error"] == pytest.approx(1 / row.setting)
        return row.setting

    assert at(0.2, 2, 10, 100) == 10
    assert at(1e-9, 2, 100, 10) == 100  # nobody has it: the best


def test_files(tmp_path):
    document = {"rows": [{"who": "a", "cpu": [1.0, 2.0]}, {"who": "b", "cpu": [math.nan], "misfit": math.inf}]}
    report.write(str(tmp_path / "rows.json"), document)
    assert json.loads((tmp_path / "rows.json").read_text())["rows"][1] == {"who": "b", "cpu": [None], "misfit": None}
    report.write(str(tmp_path / "rows.csv"), document)
    assert (tmp_path / "rows.csv").read_text().splitlines() == ["who,cpu,misfit", "a,1.0 2.0,", "b,nan,inf"]


# Comparing


def side(*seconds, **figures):
    return compare.Side(seconds, figures)


def flags(before, after):
    return compare.Compared("p", "c", "fewatoms", before, after).flags()


def test_what_got_worse_is_flagged():
    fine = side(1.0, 1.0, 1.0, misfit=0.1, share=0.9, products=10)
    assert flags(fine, fine) == []
    assert flags(fine, side(1.06, 1.07, 1.06, misfit=0.1, share=0.9, products=10)) == ["slower: 1.06"]
    assert flags(fine, side(1.04, 1.04, 1.04, misfit=0.1, share=0.9, products=10)) == []
    assert flags(fine, side(1.0, 1.06, 1.2, misfit=0.1, share=0.9, products=10)) == []  # within the spread
    worse = flags(fine, side(1.0, misfit=0.2, share=0.8, products=11))
    assert worse == ["worse misfit: 0.1 -> 0.2", "worse share: 0.9 -> 0.8", "more products: 10 -> 11"]
    assert flags(fine, side(1.0, misfit=0.05, share=1.0, products=9)) == []
    assert flags(fine, side(1.0, misfit=0.1, share=0.9)) == ["more products: 10 -> -"]
    assert flags(side(misfit=1e-16), side(misfit=1e-15)) == []  # rounding
    assert flags(fine, compare.Side(note="failed: so")) == ["failed: so"]
    assert flags(compare.Side(note="failed: NotThere"), fine) == []


def test_a_version_beside_itself():
    part = only("vectors.sparco", "blocksig", "fewatoms, k told")
    (case,) = part.cases
    row = compare.compared(part, case, case.who[0], runner.Options(quick=True, repeat=2), (ROOT / "src", ROOT / "src"))
    assert (row.before.note, row.after.note) == ("", "")
    assert len(row.before.seconds) == len(row.after.seconds) == 2
    assert row.before.figures == row.after.figures
    assert row.after.figures["products"] > 0


def test_another_checkout_without_the_package_is_refused(tmp_path):
    with pytest.raises(SystemExit, match="no fewatoms could be imported"):
        compare.compare(tmp_path, runner.Options(quick=True), [], None)


class Version:
    def __init__(self, version):
        self.__version__ = version

    def __getattr__(self, name):
        return lambda *args, **kwargs: (name, *args)


def test_words_of_both_versions():
    old, new = Version("0.1.0"), Version("0.2.0")
    assert spelled(new, k=3, free="biases") == {"k": 3, "free": "biases"}
    assert spelled(old, k=3, free="biases") == {"k": 3, "biases": True}
    assert spelled(old, free="intercept") == spelled(new, free="intercept") == {"free": "intercept"}
    assert spelled(new, method="level set")["method"][0] == "General"
    assert set(spelled(old, method="level set")) == {"oracle", "retrieval"}
    assert spelled(new, method="paper", epsilon=1.0)["method"][0] == "Paper"
    assert spelled(old, loss="logistic") == {"loss": ("Logistic",)}
    with pytest.raises(NotThere):
        spelled(old, method="paper")


def test_the_environment_names_the_data(monkeypatch, tmp_path):
    monkeypatch.setenv("FEWATOMS_DATA", str(tmp_path))
    assert data.folder() == tmp_path
    assert data.folder("elsewhere") == Path("elsewhere")
    monkeypatch.delenv("FEWATOMS_DATA")
    assert data.folder() == data.BESIDE

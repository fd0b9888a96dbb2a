"""The benchmarks: every area runs, its smallest row at least; names are listed; bars, limits and comparisons judge."""

import json
import math
import subprocess
import sys
from dataclasses import replace
from importlib import import_module
from pathlib import Path

import pytest
from benchmarks import areas, cli, compare, data, report, runner
from benchmarks.peers import Adapter
from benchmarks.peers.answers import Array
from benchmarks.records import FIGURES, Bar, Case, Limit, Part, Row, Slope, Who
from benchmarks.results import Results, judged, slope, verdicts
from benchmarks.spelled import NotThere, spelled

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
            for bar in case.bars:
                assert bar.figure in FIGURES
                assert bar.who in names
                assert "*" in bar.limit.rival or bar.limit.rival in ("", *names)


def test_listing_names_every_part(capsys):
    cli.main([])
    lines = capsys.readouterr().out.splitlines()
    named = {line.split()[0] for line in lines}
    assert named == {"all", "compare", *areas.AREAS, *(p.name for p in areas.parts("all"))}
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

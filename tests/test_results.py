"""The page of results says what the files say, and nothing else; where a peer wins is told."""

import json
import math
import re
from pathlib import Path
from types import SimpleNamespace

import pytest
from benchmarks import areas, charts, cli, detail, front, kept, measure, page, report, runner
from benchmarks.records import FIGURES, Row
from benchmarks.results import Results, verdicts
from benchmarks.standing import compared, counts, middle, together

ROOT = Path(__file__).resolve().parents[1]

measured = pytest.mark.skipif(not any(kept.FOLDER.glob("*.json")), reason="nothing has been measured yet")


@measured
def test_page_and_pictures_are_those_of_the_files():
    readme = (ROOT / page.README).read_text(encoding="utf-8")
    for name, text in page.files(readme=readme).items():
        assert (ROOT / name).read_text(encoding="utf-8") == text, f"{name}: make results writes it anew"


@measured
def test_every_number_in_tables_of_answers_is_in_the_files():
    """Read back from the page, row by row."""
    for area, record in kept.read().items():
        text = (ROOT / detail.place(area)).read_text(encoding="utf-8")
        for part in record["parts"]:
            section = text.partition(f"\n## `{part['name']}`")[2].partition("\n## ")[0]
            rows = [line.split(" | ") for line in section.splitlines() if line.startswith("| ")]
            told = {(row[0].removeprefix("| "), row[1]): row for row in rows}
            for answer in part["answers"]:
                row = told[answer["case"].replace("|", "\\|"), answer["who"]]
                assert {cell.strip(" |") for cell in row[2:]} <= _said(answer), (part["name"], row)
                figures = {detail.shown(name, v) for name, v in answer["figures"].items() if name != "cpu"}
                assert figures <= {cell.strip(" |") for cell in row}


def _said(answer):
    """What a row may say, as it is written."""
    spread = "-" if answer["spread"] is None else report.number(100 * answer["spread"], 0)
    cpu = "-" if answer["cpu"] is None else report.number(answer["cpu"])
    figures = {detail.shown(name, v) for name, v in answer["figures"].items()}
    return {str(answer["runs"]), cpu, spread, answer["note"], "-", ""} | figures


@measured
def test_files_have_all_that_a_reader_needs():
    found = kept.read()
    assert {file.stem for file in kept.FOLDER.glob("*.json")} == set(found) <= set(areas.AREAS)
    for area, record in found.items():
        assert record["area"] == area
        assert record["versions"]["numpy"]
        assert {"processor", "cores", "memory_gb", "python"} <= set(record["machine"])
        names = [p["name"] for p in record["parts"]]
        assert names == [p.name for p in areas.parts(area) if p.name in names]
        for one in record["parts"]:
            assert one["form"] in ("quick", "full")
            assert re.fullmatch(r"\d{4}-\d\d-\d\d", one["date"])
            assert len(one["load"]) == 2
            assert "/" not in json.dumps(one["settings"])  # no path of the machine
            assert one["answers"] or one["skipped"]
            for found_by in one["answers"]:
                assert {"cpu", "spread", "runs", "least", "most"} <= set(found_by)


# Standing


def answer(case, who, cpu, **figures):
    return {"case": case, "who": who, "draws": 1, "runs": 3, "cpu": cpu, "spread": 0.1, "least": cpu, "most": cpu,
            "figures": figures, "note": ""}  # fmt: skip


def part(*answers, judged=("misfit",)):
    return {"name": "vectors.made", "title": "made here", "judged": list(judged), "remarks": [], "smaller": {},
            "answers": list(answers), "bars": [], "skipped": [], "seconds": 1.0, "load": [0.5, 9.0],
            "date": "2026-01-31", "form": "quick", "settings": {}}  # fmt: skip


def outcomes(*answers, judged=("misfit",)):
    return {f.figure: (f.outcome, f.peer) for f in compared(part(*answers, judged=judged))}


def test_who_wins():
    ours = answer("c", "fewatoms", 1.0, misfit=0.1)
    assert outcomes(ours, answer("c", "A", 2.0, misfit=0.2)) == {"misfit": ("ours", "A"), "cpu": ("ours", "A")}
    assert outcomes(ours, answer("c", "A", 0.5, misfit=0.1)) == {"misfit": ("equal", "A"), "cpu": ("peer", "A")}
    assert outcomes(ours, answer("c", "A", 0.5, misfit=0.2))["cpu"] == ("peer, but worse", "A")
    assert outcomes(ours, answer("c", "A", 1.05, misfit=0.05)) == {"misfit": ("peer", "A"), "cpu": ("equal", "A")}
    both = outcomes(ours, answer("c", "A", 0.1, misfit=0.2), answer("c", "B", 3.0, misfit=0.1))
    assert both == {"misfit": ("equal", "B"), "cpu": ("ours", "B")}  # the fastest of those who are as good


def test_more_may_be_better_and_nothing_is_the_worst():
    ours = answer("c", "fewatoms", 1.0, share=0.5)
    assert outcomes(ours, answer("c", "A", 2.0, share=0.6), judged=("share",))["share"] == ("peer", "A")
    missed = answer("c", "fewatoms", 1.0, atoms=None)
    assert outcomes(missed, answer("c", "A", 2.0, atoms=9), judged=("atoms",))["atoms"] == ("peer", "A")
    assert outcomes(answer("c", "fewatoms", 1.0, atoms=9), answer("c", "A", 2.0, atoms=None), judged=("atoms",)) == {
        "cpu": ("ours", "A")
    }


def test_the_truth_is_no_peer_and_our_own_name_comes_first():
    told = answer("c", "fewatoms, told more", 0.1, misfit=0.0)
    ours = answer("c", "fewatoms", 1.0, misfit=0.1)
    assert outcomes(told, ours, answer("c", "truth", 0.1, misfit=0.0)) == {}
    (first, _) = compared(part(told, ours, answer("c", "A", 2.0, misfit=0.2)))
    assert first.who == "fewatoms"
    assert counts([first])["ours"] == 1


def test_cases_of_one_figure_are_told_together():
    answers = [
        answer(case, who, cpu, misfit=misfit)
        for case, ours, theirs in (
            ("a", (1.0, 0.1), (0.5, 0.1)),
            ("b", (9.0, 0.1), (1.0, 0.1)),
            ("c", (1, 0.1), (2, 0.3)),
        )
        for who, (cpu, misfit) in (("fewatoms", ours), ("A", theirs))
    ]
    found = compared(part(*answers))
    (slower,) = together(found, "peer")
    assert (len(slower.cases), slower.of, slower.farthest.case, slower.farthest.ratio) == (2, 3, "b", 9.0)
    assert [(g.farthest.figure, len(g.cases), g.of) for g in together(found, "ours")] == [
        ("misfit", 1, 3),
        ("cpu", 1, 3),
    ]
    assert middle([f for f in found if f.figure == "cpu"]) == 2.0
    worse = compared(part(answer("c", "fewatoms", 1.0, misfit=0.1), answer("c", "A", 0.5, misfit=0.2)))
    assert middle([f for f in worse if f.figure == "cpu"]) is None  # nobody is as good


def test_pages_of_areas_that_are_gone_are_taken_away(tmp_path):
    kept.write(tmp_path, kept.document("vectors", [part(answer("c", "fewatoms", 1.0, misfit=0.1))]))
    old = tmp_path / detail.place("phase")
    old.parent.mkdir(parents=True)
    old.write_text("of yesterday")
    assert detail.place("vectors") in page.write(tmp_path, tmp_path)
    assert [file.name for file in old.parent.iterdir()] == ["vectors.md"]


def test_a_page_is_made_of_files_alone(tmp_path):
    record = kept.document(
        "vectors", [part(answer("c", "fewatoms", 1.0, misfit=0.1), answer("c", "A", 0.25, misfit=0.05))]
    )
    record["machine"]["cores"] = 2
    kept.write(tmp_path, record)
    readme = f"before\n{page.BEGIN}\nold\n{page.END}\nafter"
    made = page.files(tmp_path, readme)
    text = made[page.PAGE]
    link = "[vectors.made](results/vectors.md#vectorsmade)"
    assert f"| {link} | made here | misfit | 0, 0, **1** | 0, 0, **1** | 0 |" in text
    assert f"| {link} | CPU seconds | 1 of 1 | c | 1 | 0.25, A | 4 |" in text
    assert "- Slower: vectors (4.0 times)." in text
    assert "- Worse more often than better: vectors." in text
    assert (
        text.index("## Where a peer wins") < text.index("## Where ours wins\n\nNowhere") < text.index("## How to read")
    )
    cases = made[detail.place("vectors")]
    assert "| `vectors.made` | c | CPU seconds | fewatoms | 1 | A | 0.25 | 4 |" in cases
    assert "\n## `vectors.made`\n" in cases
    assert "The machine was shared while vectors was measured" in text
    assert "Not in these files, and so not on this page: `vectors.sparco`, `vectors.paper`" in text
    assert made[page.README].startswith(f"before\n{page.BEGIN}\n| area |")
    assert made[page.README].endswith(f"{page.END}\nafter")
    told = " ".join(made[page.README].split())
    assert "The load was 0.5 to 9.0 on 2 cores: the machine was shared, and times are noisy." in told
    assert (
        "Not measured yet: everyday, choice, exact, completion, demixing, phase, proofs, scale, giants and blocks, and"
        in told
    )
    assert "old" not in made[page.README]
    assert page.README not in page.files(tmp_path, "no block")
    assert made[page.PICTURES / "time.svg"].count("<title>") == 1
    with pytest.raises(SystemExit, match="make bench"):
        page.files(tmp_path / "nothing")


def test_how_often_the_answer_was_the_best_is_counted(tmp_path):
    answers = [
        {**answer("a", "fewatoms", 1.0, proven=1.0, already=0.75), "draws": 4},
        {**answer("b", "fewatoms", 1.0, proven=0.5, already=0.5), "draws": 2},
        {**answer("b", "A", 1.0, proven=1.0), "draws": 2},
    ]
    kept.write(tmp_path, kept.document("vectors", [part(*answers, judged=("proven",))]))
    text = page.files(tmp_path)[page.PAGE]
    rows = text.partition("## How often the answer was the best already")[2].partition("\n## ")[0].splitlines()
    assert [row for row in rows if "vectors.made" in row] == [
        "| [vectors.made](results/vectors.md#vectorsmade) | fewatoms | 6 | 5 | 4 |"
    ]
    kept.write(tmp_path, kept.document("vectors", [part(answer("a", "fewatoms", 1.0, misfit=0.1))]))
    assert "the best already" not in page.files(tmp_path)[page.PAGE]


QUICKLY = kept.Conditions({"quick": True}, 3.0, (0.1, 0.2))


def test_parts_that_are_not_measured_again_stay(tmp_path):
    def names():
        return [(p["name"], p["seconds"]) for p in kept.read(tmp_path)["vectors"]["parts"]]

    def record(name, seconds, **changes):
        one = {**part(), "name": name, "seconds": seconds}
        return {**kept.document("vectors", [one]), **changes}

    kept.write(tmp_path, record("vectors.real", 1.0))
    kept.write(tmp_path, record("vectors.sparco", 2.0))
    assert names() == [("vectors.sparco", 2.0), ("vectors.real", 1.0)]
    kept.write(tmp_path, record("vectors.real", 3.0))
    assert names() == [("vectors.sparco", 2.0), ("vectors.real", 3.0)]
    kept.write(tmp_path, record("vectors.real", 4.0, versions={"numpy": "99"}))  # the others are of another world
    assert names() == [("vectors.real", 4.0)]


def test_what_is_kept_of_rows():
    planted = areas.part("vectors.cases")
    case = planted.cases[0]
    rows = [
        Row(planted.name, case.name, "fewatoms", seed, cpu, {"misfit": misfit, "share": 1.0})
        for seed, (cpu, misfit) in enumerate([((1.0, 3.0, 2.0), 0.1234567891), ((4.0,), math.inf)])
    ]
    results = Results(rows)
    record = kept.rounded(kept.part_record(planted, results, verdicts(planted, results, True), [], QUICKLY))
    (found,) = record["answers"]
    assert (found["draws"], found["runs"], found["cpu"], found["least"], found["most"]) == (2, 4, 3.0, 1.0, 4.0)
    assert found["figures"] == {"misfit": None, "share": 1.0}
    assert record["judged"] == ["misfit", "share"]
    json.dumps(record, allow_nan=False)
    assert kept.rounded(0.123456789) == 0.123457


def test_judged_figures_have_a_better_side():
    for one in areas.parts("all"):
        judged = kept.judged(one)
        assert judged
        assert all(FIGURES[name].better for name in judged)
        assert not set(judged) & set(kept.TIMES)


def test_pictures_are_the_same_for_the_same_numbers():
    found = compared(part(answer("c & d", "fewatoms", 1.0, misfit=0.1), answer("c & d", "A", 1e9, misfit=1e-9)))
    once = charts.dots("title", found)
    assert once == charts.dots("title", found)
    assert "c &amp; d" in once
    places = [float(x) for x in re.findall(r'<circle cx="([\d.]+)" cy="[\d.]+" r="4" fill="[^"]+" fill-opacity', once)]
    assert all(0 < x < charts.WIDTH for x in places)  # even those beyond the scale
    assert places[0] > charts._place(1.0) > places[1]


def test_an_area_writes_its_file(tmp_path, capsys):
    cli.main(["vectors.sparco", "--quick", "--only", "fewatoms", "--results", str(tmp_path)])
    record = kept.read(tmp_path)["vectors"]
    assert [a["who"] for a in record["parts"][0]["answers"]] == ["fewatoms"] * 5
    assert record["parts"][0]["form"] == "quick"
    assert "Written to" in capsys.readouterr().out


def test_patience_grows_with_the_crowd(monkeypatch):
    monkeypatch.setattr(measure.os, "cpu_count", lambda: 2)
    for load, times in ((0.3, 1.0), (2.0, 1.0), (9.0, 4.5), (math.nan, 1.0)):
        monkeypatch.setattr(measure, "load", lambda load=load: load)
        assert measure.crowd() == times


def test_repetitions_end_when_enough_is_spent():
    case = areas.part("vectors.sparco").cases[0]
    problem = runner.drawn(case, 0, True, Path())
    row = Row("p", case.name, "fewatoms", 0)
    assert len(runner._tried(row, case, problem, case.who[0], 3).cpu) == 3
    assert len(runner._tried(row, case, problem, case.who[0], 3, 0.0).cpu) == 1


def test_the_front_door_measures_every_part_and_says_what_failed(monkeypatch, tmp_path, capsys):
    asked = []
    codes = {"phase": [1], "vectors": [-11], "vectors.cases": [-11, 0], "exact": [-6], "exact.fuzz": [-11, -11]}

    def ran(command, **how):
        asked.append(command)
        code = codes.get(command[3], [0])[sum(c[3] == command[3] for c in asked) - 1]
        return SimpleNamespace(returncode=code, stdout=f"figures of {command[3]}")

    monkeypatch.setattr(front.subprocess, "run", ran)
    monkeypatch.setattr(front.page, "write", lambda folder: [page.PAGE])
    assert front.run(True, "somewhere", tmp_path) == 2
    names = [command[3] for command in asked]
    for area in areas.AREAS:  # in one process; where that was ended, one after the other: they share a file
        in_turn = [p.name for p in areas.parts(area) if p.shown(True) and area in ("vectors", "exact")]
        assert list(dict.fromkeys(name for name in names if name.split(".")[0] == area)) == [area, *in_turn]
    assert {name: names.count(name) for name in codes} == {name: len(ends) for name, ends in codes.items()}
    assert all("--quick" in command and "somewhere" in command for command in asked)
    told = capsys.readouterr().out
    assert all(f"figures of {name}" in told for name in names)
    assert "phase ended with code 1" in told
    assert "exact.fuzz ended with code -11" in told


def test_the_full_form_measures_part_by_part(monkeypatch, tmp_path):
    asked = []

    def ran(command, **how):
        asked.append(command[3])
        return SimpleNamespace(returncode=0, stdout="")

    monkeypatch.setattr(front.subprocess, "run", ran)
    monkeypatch.setattr(front.page, "write", lambda folder: [])
    assert front.run(False, None, tmp_path) == 0
    assert sorted(asked) == sorted(p.name for p in areas.parts("all"))

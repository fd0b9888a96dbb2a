"""The three jobs of the demo: the same from one seed, done as asked, better than what one would do without."""

import numpy as np
import pytest

from fewatoms import demo
from fewatoms.demo import jobs


@pytest.fixture(scope="module")
def answers():
    """Of one seed, with what callbacks heard."""
    found = {}
    for job in jobs(0):
        heard = []
        found[job.kind] = job, job.solve(heard.append), heard
    return found


def test_every_job_holds_what_it_asks_and_is_heard(answers):
    assert list(answers) == ["features", "completion", "decomposition"]
    for job, s, heard in answers.values():
        assert s.success, job.title
        assert heard


def test_features_are_known_by_name_and_predict_patients_not_shown(answers):
    job, s, _ = answers["features"]
    assert s.cardinality in demo.FEW_SIZES
    assert {"bmi", "ltg"} <= set(s.names)
    assert 0.35 < job.data.explained(s) < 0.7
    nothing = _Saying(job.data.progression[~job.data.shown].mean())
    assert job.data.explained(nothing) == pytest.approx(0.0, abs=1e-12)
    equation, share = job.told(s)
    assert all(name in equation for name in s.names)
    assert f"{job.data.explained(s):.0%}" in share


class _Saying:
    def __init__(self, value):
        self.value = value

    def predict(self, rows):
        return np.full(len(rows), self.value)


def test_hidden_months_are_filled_in_much_better_than_by_their_means(answers):
    job, s, _ = answers["completion"]
    months = job.data
    assert months.seen.any(axis=0).all()
    assert months.seen.any(axis=1).all()
    assert months.error(months.filled(s)) < 0.5 * months.error(months.usual)
    assert months.error(months.values) == 0.0
    assert f"{months.error(months.filled(s)):.2f} °C" in job.told(s)[0]


def test_ink_is_dark_and_little(answers):
    job, s, _ = answers["decomposition"]
    paper, ink = s.parts
    assert paper.cardinality == 1
    assert 0.03 < len(ink.indices) / job.data.size < 0.15
    assert np.mean(ink.coefficients < 0) > 0.95
    assert str(len(ink.indices)) in job.told(s)[0]


def test_one_seed_is_one_set_of_jobs():
    once, again, other = jobs(4), jobs(4), jobs(5)
    for place, mask in ((0, "shown"), (1, "seen")):
        mine = getattr(once[place].data, mask)
        np.testing.assert_array_equal(mine, getattr(again[place].data, mask))
        assert not np.array_equal(mine, getattr(other[place].data, mask))


def test_lines_say_whose_they_are(answers):
    told = demo.lines([(job, s) for job, s, _ in answers.values()])
    assert [line.partition(":")[0] for line in told] == [
        "Diabetes",
        "Diabetes",
        "Sea temperatures with holes",
        "Ink and paper",
    ]

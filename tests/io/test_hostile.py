"""Hostile files, read in a process of its own with little memory: refused in one line that names the file, or read for
what they are; soon, within that memory, and without running anything that is in them."""

import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import fewatoms as fa
import hostile

READER = Path(hostile.__file__).with_name("attacked.py")
SECONDS, BYTES = 8, 200e6
pytestmark = pytest.mark.skipif(not Path("/proc/self/clear_refs").exists(), reason="memory is measured by /proc")


@pytest.fixture(scope="module")
def saved(tmp_path_factory):
    """Files of answers."""
    folder, rng = tmp_path_factory.mktemp("answers"), np.random.default_rng(0)
    M = rng.standard_normal((20, 12))
    b, atoms = M[:, :3].sum(axis=1), fa.SignedOneHot(12)
    shape, (rows, cols) = (9, 8), np.divmod(np.arange(72), 8)
    X = rng.standard_normal((9, 2)) @ rng.standard_normal((2, 8))
    answers = {
        "one": fa.fit(M, b, atoms=atoms, k=3),
        "path": fa.fit_path(M, b, atoms=atoms, k=[1, 2, 3]),
        "many": fa.fit_many(M, np.column_stack([b, 2 * b]), atoms=atoms, k=2),
        "matrix": fa.fit(fa.Sampling(rows, cols, shape), X.ravel(), atoms=fa.RankOne(*shape), k=2, free="biases"),
    }
    for name, answer in answers.items():
        answer.save(folder / name)
    return {name: (folder / name).read_bytes() for name in answers}


def whole(saved):
    """The sound files of which others are made."""
    files = {name: (reader, content) for name, (reader, content, _) in hostile.sound().items()}
    files |= {f"{name}.answer": ("load", content) for name, content in saved.items()}
    return [hostile.Attack(reader, name, content, "sound") for name, (reader, content) in files.items()]


def became(attacks, folder):
    """What became of each file; who kills the process that reads it has died, and the others are read by another."""
    found, left = {}, list(attacks)
    for attack in attacks:
        (folder / attack.name).write_bytes(attack.content)
    while left:
        lines = "".join(f"{attack.reader} {attack.name}\n" for attack in left)
        run = subprocess.run([sys.executable, READER, folder], input=lines, capture_output=True, text=True, check=False)
        told = [json.loads(line) for line in run.stdout.splitlines()]
        assert told, run.stderr
        last = next(line["began"] for line in reversed(told) if "began" in line)
        found |= {line["name"]: line for line in told if "name" in line}
        dead = {"outcome": "died", "words": run.stderr[-200:], "seconds": 0, "more": 0}
        found.setdefault(last, dead)
        left = left[1 + [attack.name for attack in left].index(last) :]
    return found


def complaint(attack, told, digests):
    """What is wrong with what became of a file; nothing, mostly."""
    outcome, words = told["outcome"], told["words"]
    if outcome not in ("read", "refused"):
        return outcome
    if outcome == "read" and attack.rule == "refused":
        return "read, and it lies"
    if outcome == "read" and attack.rule == "same" and words != digests[attack.base]:
        return "read for something else"
    if outcome == "refused" and (attack.name not in words or "\n" in words):
        return "not one line with the name"
    if told["seconds"] > SECONDS or told["more"] > BYTES:
        return f"{told['seconds']:.1f} s, {told['more'] / 1e6:.0f} MB"
    return ""


def refused(attacks, saved, folder):
    """Let all of them be read; says how many there were."""
    sound = whole(saved)
    found = became([*sound, *attacks], folder)
    digests = {attack.name: found[attack.name]["words"] for attack in sound}
    assert all(found[attack.name]["outcome"] == "read" for attack in sound)
    bad = [
        (a.reader, a.name, why, found[a.name]["words"][:200])
        for a in attacks
        if (why := complaint(a, found[a.name], digests))
    ]
    assert bad == []
    assert not (folder / hostile.MARK).exists()  # which what is in them would have made
    return len(found) - len(sound)


def test_hostile_files(saved, tmp_path):
    attacks = [*hostile.by_hand(saved), *hostile.bent(0, 1, saved)]
    assert refused(attacks, saved, tmp_path) >= 300


@pytest.mark.soak
@pytest.mark.parametrize("seed", range(4))
def test_many_hostile_files(saved, tmp_path, seed):
    attacks = [*(hostile.bombing(saved) if seed == 0 else ()), *hostile.bent(seed + 1, 30, saved)]
    assert refused(attacks, saved, tmp_path) >= 900

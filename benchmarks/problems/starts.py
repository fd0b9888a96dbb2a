"""The first fit of a fresh process, of a small regression."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from typing import Any

Judged = tuple[dict[str, float], Any]

SCRIPT = """
import json, sys, time
import numpy as np

m, n, k, seed = map(int, sys.argv[1:])
rng = np.random.default_rng(seed)
M, x = rng.standard_normal((m, n)), np.zeros(n)
x[:k] = rng.standard_normal(k)
b = M @ x
e = rng.standard_normal(m)
b += 0.3 * np.linalg.norm(b) / np.linalg.norm(e) * e
began = time.perf_counter()
import fewatoms as fa
atoms = fa.SignedOneHot(n)
imported = time.perf_counter()
cpu = time.thread_time()
fa.fit(M, b, atoms=atoms, k=k)
print(json.dumps({"import": imported - began, "first": time.perf_counter() - imported, "first_cpu": time.thread_time() - cpu}))
"""  # noqa: E501


@dataclass(frozen=True, eq=False)
class Start:
    """A process that imports and fits once; with compiled loops on disk where there are any ("kept"), with an empty
    folder for them ("empty"), or with one that cannot be written ("none")."""

    size: tuple[int, int, int]
    cache: str
    seed: int

    def run(self) -> dict[str, float]:
        with tempfile.TemporaryDirectory() as empty:
            folder = {"empty": empty, "none": os.devnull}.get(self.cache)
            command = [sys.executable, "-c", SCRIPT, *map(str, self.size), str(self.seed)]
            changed = {"NUMBA_CACHE_DIR": folder} if folder else {}
            done = subprocess.run(command, env={**os.environ, **changed}, capture_output=True, text=True, check=False)
        if done.returncode:
            raise RuntimeError((done.stderr.strip().splitlines() or ["no message"])[-1])
        return json.loads(done.stdout.splitlines()[-1])

    def judge(self, answer: dict[str, float]) -> Judged:
        return answer, None


def small(name: str) -> Start:
    return start((10, 5, 2), "kept", 0)


def start(size: tuple[int, int, int], cache: str, seed: int) -> Start:
    return Start(size, cache, seed)

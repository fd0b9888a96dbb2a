"""Drawing what was found: growth, traces, pictures. Each function makes one figure of a part, from the first draw."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.records import Part, Row
from benchmarks.results import Results, slope

Picture = tuple[Any, float, float]  # with the values that are black and white


def draw(part: Part, results: Results, folder: Path, quick: bool) -> Path:
    """Draw the figure of a part; returns the file."""
    import matplotlib as mpl

    mpl.use("Agg")
    import matplotlib.pyplot as plt

    folder.mkdir(parents=True, exist_ok=True)
    file = folder / f"{part.name}.png"
    figure = DRAWN[part.figure](plt, part, results, quick)
    figure.savefig(file, dpi=150)
    plt.close(figure)
    return file


def _growth(plt: Any, part: Part, results: Results, quick: bool) -> Any:
    cases = [c for c in part.shown(quick) if c.at]
    axes = list(dict.fromkeys(c.at[0] for c in cases if c.at))
    figure, panels = plt.subplots(
        1, len(axes), figsize=(4 * len(axes), 4), sharey=True, squeeze=False, layout="constrained"
    )
    for axis, panel in zip(axes, panels[0], strict=True):
        mine = [c for c in cases if c.at and c.at[0] == axis]
        sizes = [c.at[1] for c in mine if c.at]
        for who in dict.fromkeys(r.who for r in results.rows if not r.note):
            seconds = [results.value(c.name, who, "cpu") for c in mine]
            panel.loglog(sizes, seconds, "o-", label=f"{who}, slope {slope(results, mine, axis, who):.2f}")
        panel.set(xlabel=axis)
        panel.set_xticks(sizes, [f"{s:g}" for s in sizes])
        panel.set_xticks([], minor=True)
        panel.grid(alpha=0.3)
        panel.legend(frameon=False)
    panels[0, 0].set_ylabel("CPU seconds, one thread")
    return figure


def _traces(plt: Any, part: Part, results: Results, quick: bool) -> Any:
    """What the traces have beside the iteration, one panel each: error and gap, or the residual, also against time."""
    rows = [r for r in _first(results) if _trace(r)]
    cases = list(dict.fromkeys(r.case for r in rows))
    plain = [name for name in ("error", "gap", "residual") if any(name in _trace(r)[-1] for r in rows)]
    panes = [*(("iteration", name) for name in plain), *([("cpu", "residual")] if "residual" in plain else [])]
    figure, panels = plt.subplots(
        len(cases), len(panes), figsize=(5 * len(panes), 3.6 * len(cases)), squeeze=False, layout="constrained"
    )
    for line, case in zip(panels, cases, strict=True):
        for panel, (along, name) in zip(line, panes, strict=True):
            for row in (r for r in rows if r.case == case):
                steps = [(t.get(along, i + 1), t.get(name)) for i, t in enumerate(_trace(row))]
                # Rounding is drawn at one height: how far below it lies says nothing.
                points = [(x, max(y, 1e-15)) for x, y in steps if y is not None]
                panel.plot(*np.transpose(points), label=row.who, marker="." if len(points) < 50 else None)
            panel.set(
                xlabel={"cpu": "CPU seconds"}.get(along, along), ylabel=name, title=case, xscale="log", yscale="log"
            )
            panel.grid(alpha=0.3)
    panels[0, 0].legend(frameon=False, fontsize=9)
    return figure


def _trace(row: Row) -> Sequence[Any]:
    shown = row.shown["trace"] if isinstance(row.shown, dict) else row.shown
    return shown or ()


def _first(results: Results) -> list[Row]:
    least = min(r.seed for r in results.rows)
    return [r for r in results.rows if r.seed == least and r.shown is not None]


def _grid(plt: Any, lines: Sequence[tuple[str, Sequence[Picture]]], titles: Sequence[str] = ()) -> Any:
    """Pictures in rows, with the name of each row beside it."""
    width = max(len(pictures) for _, pictures in lines)
    figure, panels = plt.subplots(
        len(lines), width, figsize=(1.6 * width + 1, 1.8 * len(lines)), squeeze=False, layout="constrained"
    )
    for line, (name, pictures) in zip(panels, lines, strict=True):
        for panel in line:
            panel.set(xticks=[], yticks=[])
            panel.set_frame_on(False)
        for panel, (picture, low, high) in zip(line, pictures, strict=False):
            panel.imshow(picture, cmap="gray", vmin=low, vmax=high, interpolation="nearest")
        line[0].set_ylabel(name, fontsize=9)
    for panel, title in zip(panels[0], titles, strict=False):
        panel.set_title(title, fontsize=9)
    return figure


def _faces(plt: Any, part: Part, results: Results, quick: bool) -> Any:
    lines: list[tuple[str, list[Picture]]] = []
    for row in _first(results):
        if not row.who.startswith("fewatoms") or row.who.endswith("stopped"):
            continue
        L, S, X, shape, _ = row.shown["pictures"]
        chosen = np.linspace(0, X.shape[1] - 1, 8).round().astype(int)
        kinds = [(f"{row.who.partition(', ')[2]}:\nlow rank", L, 0.0, 1.0), ("sparse", S, -0.5, 0.5)]
        kinds = kinds if lines else [("original", X, 0.0, 1.0), *kinds]
        lines += [(name, [(A[:, j].reshape(shape), low, high) for j in chosen]) for name, A, low, high in kinds]
    return _grid(plt, lines)


def _video(plt: Any, part: Part, results: Results, quick: bool) -> Any:
    L, S, X, shape, truth = next(r.shown["pictures"] for r in _first(results) if r.who == "fewatoms, rank 1")
    # The frames with the most foreground of each third: an empty hall shows nothing.
    busy = np.abs(S).sum(axis=0)
    chosen = [int(t[np.argmax(busy[t])]) for t in np.array_split(np.arange(X.shape[1]), 3)]
    background = L.mean(axis=1).reshape(shape)
    kinds = (("frame", X, 0, 255), ("low rank", L, 0, 255), ("sparse", S, -128, 128))
    lines = [(name, [(A[:, j].reshape(shape), low, high) for j in chosen]) for name, A, low, high in kinds]
    last = [(background, 0, 255), (truth, 0, 255), (4 * (background - truth), -128, 128)]
    return _grid(plt, [*lines, ("background: ours,\ntrue, 4 x difference", last)], [f"frame {j}" for j in chosen])


def _stars(plt: Any, part: Part, results: Results, quick: bool) -> Any:
    row = [r for r in _first(results) if r.who == "fewatoms, told nothing"][-1]
    side, stars, texture, b, u, w = row.shown["sky"]
    limits = ((-1.5, 2.0), (0.0, 2.0), (-1.5, 1.5))
    lines = [
        (name, [(p.reshape(side, side)[:128, :128], *limit) for p, limit in zip(pictures, limits, strict=True)])
        for name, pictures in (("truth", (b, stars, texture)), ("found, told nothing", (u + w, u, w)))
    ]
    return _grid(plt, lines, ("data; sum of the parts", "stars", "texture"))


def _pictures(plt: Any, part: Part, results: Results, quick: bool) -> Any:
    """The picture, what was recovered, and the logarithm of the error."""
    lines = []
    for row in _first(results):
        image, found = row.shown["picture"]
        error = np.log10(np.abs(found - image) + 1e-17)
        lines.append((f"{row.who},\n{row.case}", [(image, 0, 1), (found, 0, 1), (error, -17, 0)]))
    return _grid(plt, lines, ("original", "recovered", "log10 of the error"))


DRAWN = {
    "growth": _growth, "traces": _traces, "faces": _faces, "video": _video, "stars": _stars, "pictures": _pictures,
}  # fmt: skip

"""Formulas as MathML, which browsers draw themselves: pages need no script and nothing from the network."""

from __future__ import annotations

from docutils.nodes import SkipNode
from docutils.utils.math import latex2mathml, pick_math_environment


def written(formula: str, block: bool) -> str:
    if block and "\\\\" in formula and "\\begin" not in formula:
        formula = f"\\begin{{{pick_math_environment(formula)}}}{formula}\\end{{{pick_math_environment(formula)}}}"
    return latex2mathml.tex2mathml(formula, as_block=block)


def inline(translator, node):
    translator.body.append(written(node.astext(), block=False))
    raise SkipNode


def display(translator, node):
    translator.body.append(f'<div class="math">{written(node.astext(), block=True)}</div>')
    raise SkipNode


def setup(app):
    app.add_html_math_renderer("browser", (inline, None), (display, None))
    return {"parallel_read_safe": True, "parallel_write_safe": True}

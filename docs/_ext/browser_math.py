"""Formulas as MathML, which browsers draw themselves: pages need no script and nothing from the network."""

from __future__ import annotations

import html
import re

from docutils.nodes import SkipNode
from docutils.utils.math import MathError, latex2mathml, pick_math_environment
from sphinx.util import logging

TAG = re.compile(r"\\tag\{(.+?)\}")


def written(formula: str, block: bool) -> str:
    formula = TAG.sub(r"\\qquad \\text{(\1)}", formula)
    if block and "\\\\" in formula and "\\begin" not in formula:
        around = pick_math_environment(formula)
        formula = f"\\begin{{{around}}}{formula}\\end{{{around}}}"
    return latex2mathml.tex2mathml(formula, as_block=block)


def drawn(node, block: bool) -> str:
    """The formula; one that docutils does not understand is a warning, and shown as it is written."""
    try:
        return written(node.astext(), block)
    except MathError as error:
        logging.getLogger(__name__).warning("%s in %s", error, node.astext(), location=node)
        return f"<code>{html.escape(node.astext())}</code>"


def inline(translator, node):
    translator.body.append(drawn(node, block=False))
    raise SkipNode


def display(translator, node):
    translator.body.append(f'<div class="math">{drawn(node, block=True)}</div>')
    raise SkipNode


def setup(app):
    app.add_html_math_renderer("browser", (inline, None), (display, None))
    return {"parallel_read_safe": True, "parallel_write_safe": True}

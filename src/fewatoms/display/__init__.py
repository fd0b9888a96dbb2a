"""Figures. matplotlib is imported when one is drawn."""

from fewatoms.display.demo import demo_figure

__all__ = ["demo_figure"]

"""Losses f on residuals r = b - Mx: value, gradient, conjugate, smoothness; of data they hold weights and labels.

Losses are sums over the entries of r, never means. With weights w (positive, one per datum) each term is multiplied by
its weight. The dual vector of a residual is y = gradient(r), a point of dom f*.
"""

from fewatoms.losses.base import Bend, Diagonal, Loss
from fewatoms.losses.huber import Huber
from fewatoms.losses.logistic import Logistic
from fewatoms.losses.multinomial import Multinomial
from fewatoms.losses.squares import LeastSquares, Quadratic
from fewatoms.losses.steps import exact_step

__all__ = ["Bend", "Diagonal", "Huber", "LeastSquares", "Logistic", "Loss", "Multinomial", "Quadratic", "exact_step"]

"""The doors: one data vector, or many."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TypedDict, Unpack

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from fewatoms import _checks, frames
from fewatoms._renamed import renamed, unknown
from fewatoms._types import Array, FloatArray
from fewatoms.atoms import AtomicSet
from fewatoms.atoms.pursuit import weighed
from fewatoms.beside import Biases
from fewatoms.callbacks import read
from fewatoms.calls import call, digest_of_all
from fewatoms.choosing import grid_of, refuse_several, ridges_of, with_ridge
from fewatoms.classes import refuse
from fewatoms.continued import answer_again
from fewatoms.effort import effort as told
from fewatoms.losses import LeastSquares, Loss
from fewatoms.methods import METHODS, Method
from fewatoms.names import Names
from fewatoms.operators import as_operator
from fewatoms.problem import Problem, several
from fewatoms.run import Callback, Way, proving, solve, solve_each, solve_together
from fewatoms.solution import Solution
from fewatoms.solutions import Solutions
from fewatoms.solutions import restored as answers_of

MOST = 10_000  # dual vectors, where nobody says
SMALLEST = 2e-290  # squares that are still ordinary numbers


class Words(TypedDict, total=False):
    """What may be said beside M, b and k, with the same meaning in `fit`, `fit_many` and `fit_path`."""

    atoms: AtomicSet
    alpha: float | None
    misfit: float | None
    loss: Loss
    ridge: object
    cap: float | None
    free: object
    start: Solution | None
    effort: str
    method: Method | None
    max_iterations: int
    callback: Callback | Sequence[Callback] | None
    rng: object


@renamed
def fit(
    M: object,
    b: npt.ArrayLike,
    *,
    atoms: AtomicSet,
    k: object = None,
    alpha: float | None = None,
    misfit: float | None = None,
    loss: Loss = LeastSquares(),
    ridge: object = None,
    cap: float | None = None,
    free: object = None,
    start: Solution | None = None,
    effort: str = "normal",
    method: Method | None = None,
    max_iterations: int = MOST,
    callback: Callback | Sequence[Callback] | None = None,
    rng: object = None,
) -> Solution:
    """Find x with f(b - Mx) <= alpha made of at most k atoms.

    With k and a bound: the first answer that meets both. With k alone: the smallest loss found with at most k atoms.
    With a bound alone: as few atoms as were found to meet it. A bound that is not reached is a status with the best
    answer, not an exception.

    Sums A + B have a budget per part, `k=(5, 200_000)`, and `s.parts` has one answer for each. Where data are seen as
    they are (Identity, Sampling) and atoms of each part are orthonormal, a budget may be None: with a bound, as few as
    meet it; without, what stands out of the noise. One number is a budget for all parts together (sets that can be
    listed); no k at all leaves everything open. No relative weights are needed. A union RankOne | SignedOneHot without
    k is principal component pursuit: (P3) itself is solved, with the weight 1 / sqrt(max(p, q)) unless a part is
    scaled, down to `misfit` (1e-6 if there is none), for data of equal weight.

    Parameters
    ----------
    M : (m, n) array, sparse matrix, data frame, LinearOperator, PyLops operator, Sampling, Quadratic, Identity, ...
        The columns of a data frame (pandas, polars, pyarrow) keep their names: `s.names`,
        `restricted(include=["age"])`, and `s.predict` knows them again in any order. Its index is not looked at.
    b : (m,) array or series, or (m, p) array
        The data (Identity takes its own shape too), with several columns for a set Joint(atoms). For Logistic and
        Multinomial labels of two, or more, values of any type: numbers, truth values, strings, categories.
        With Logistic numbers that are all 0 are no labels: signs are in M then
    atoms : AtomicSet
        SignedOneHot(n), NonnegativeOneHot(n), Groups(labels), RankOne(p, q), PSDRankOne(n), Dictionary(D, ...), sums,
        unions, multiples and linear images of these; Joint(atoms) for one support of all columns of b;
        atoms.restricted(include=..., exclude=...) for atoms that must be in the answer, where they count, or must not.
    k : int, or one per part of a sum or union, optional
        Atoms at most (None for parts left open). It may be left out where there is a bound and atoms can be listed or
        are semidefinite, or rank-one matrices with sampled entries, and for the sums above.
    alpha : float, optional
        Bound on the loss.
    misfit : float, optional
        Bound on |b - Mx| / |b|, least squares only (in the weighted norm if it has weights); not together with alpha.
    loss : Loss
        LeastSquares(), Huber(delta), Logistic(), Multinomial(), or your own. With the two for classes `s.classes` are
        the labels, `s.predict` gives margins and `s.predict_proba` probabilities.
    ridge : float or "auto", optional
        What coefficients pay. For atoms that can be listed: minimise the loss plus ridge / 2 times the squares of the
        coefficients of unit images, those of the atoms times |P M a|: P takes out what free columns and an intercept
        explain, which are not shrunk, and norms are in the weights of the loss. So a ridge has no units of M: with
        least squares 1 shrinks as strongly as the data pull, with Logistic .001 to .3 is usual. In a group it is on the
        columns one by one. For RankOne with sampled entries it is another thing: minimise the loss plus ridge times the
        nuclear norm (ridge / 2 times the squares of the factors). "auto" holds data out and takes what predicts them
        best; it is the default with biases and no bound. Otherwise the default is 0. `alpha`, `misfit` and `s.loss`
        mean the loss alone, `s.objective` adds what is paid; with a bound coefficients pay a ridge that is a number,
        and the bound is asked of the loss that they leave.
    cap : float, optional
        The largest size that a coefficient may have, for sets whose atoms can be listed. Separable classes need one.
    free : "intercept", (m,) or (m, q) array, "biases" or Biases(ridge=...), optional
        What explains data without counting: columns beside M whose coefficients are not penalised
        (`solution.free_coefficients`); for RankOne with sampled entries, row and column biases and a centre
        (`solution.biases`), whose ridge's share is in the loss.
    start : Solution, optional
        An earlier answer to begin with: of the same problem with another k or bound, or of similar data.
    effort : "quick", "normal" or "thorough"
        How hard to look; never another problem. Quick takes the first search's answer, thorough shakes ten times as
        long. Least squares with 30 % noise, 200 x 1000, k = 10: quick takes .4 of normal's time and finds the best
        answer known in 87 % of the cases, normal in all. Where k is large for the data, 100 x 300 and k = 30: quick
        15 % (misfit 10 % above the best), normal 80 % (.3 %), thorough all in 1.6 times normal's time; 500 x 2000 and
        k = 160: misfit 23 % and .2 % above thorough's, which takes 2.4 times normal's time.
    method : Method, optional
        Who solves it. The default chooses; experts and reproductions of the paper say Paper(), General(oracle,
        retrieval), one of `fewatoms.methods`, or their own.
    max_iterations : int
        Dual vectors at most.
    callback : callable(intermediate_result), or a list of them, optional
        Called after each iterate, and every tenth of a second during long work, with a Progress; raising StopIteration
        ends the run with the best answer so far (all of a list are called before), other exceptions pass through; what
        it returns is ignored.
        `fewatoms.callbacks` has some: callback=[Bar(), Trace(), Deadline(60)].
    rng : seed or numpy Generator, optional
        Of start vectors. The default is a fixed seed: same input, same answer.

    Returns
    -------
    Solution
        `s.success` says whether what was asked holds, `s.message` what was found; `s.indices`, `s.coefficients`, `s.x`,
        `s.left`, `s.right`, `s.parts` are the answer, `s.certificate` what is proven; `s.predict`, `s.save`.

    References
    ----------
    Fan, Fang, Friedlander, "Cardinality-constrained structured data-fitting problems", Algorithm 1.

    Examples
    --------
    >>> import numpy as np, fewatoms as fa
    >>> M = np.random.default_rng(0).standard_normal((40, 100))
    >>> s = fa.fit(M, M[:, 7] - 2 * M[:, 30], atoms=fa.SignedOneHot(100), k=2, misfit=1e-6)
    >>> s.success, s.indices.tolist()
    (True, [30, 7])
    """
    problem, way = posed(
        M, b, k, atoms=atoms, alpha=alpha, misfit=misfit, loss=loss, ridge=ridge, cap=cap, free=free,
        start=start, effort=effort, method=method, max_iterations=max_iterations, callback=callback, rng=rng,
    )  # fmt: skip
    with way.listening(), call("fit", problem, way) as here:
        if here.found is not None:
            return answer_again(here.found, problem)
        (solution,) = solve(with_ridge(problem, way), [problem.budget], way)
        here.mark(solution.kept)
    return solution


@renamed
def fit_many(M: object, B: npt.ArrayLike, *, k: object = None, **words: Unpack[Words]) -> Solutions:
    """Fit each column of B by itself, as `fit` would, with what the fits share done once.

    Parameters
    ----------
    M : as for `fit`
    B : (m, p) array or data frame
        A column for each data vector.
    k, **words : as for `fit`
        The same for all columns.

    Returns
    -------
    Solutions
        `answers[i]` is the Solution of column i, and `answers["a"]` that of the column "a" of a data frame; x, loss,
        misfit, cardinality of all are arrays, `answers.sparse` holds all coefficients. A column of nan, infinite or all
        too large numbers gets the status BAD_DATA and stops nobody.

    Notes
    -----
    Least squares over single atoms (one Gram matrix has to pay for all columns, and up to 64 atoms be asked for) is a
    compiled search for each column, on all cores, several times as fast as `fit`, and a lighter one. Of 720 columns
    with planted atoms and 30 % noise (50 or 100 data, 100 or 200 atoms, k = 5 and 10) 1 % had a higher loss than with
    `fit`, by 7 % on average, and .6 % a lower one; with effort="thorough" none, and .7 %. Of columns that are noise
    alone (20 or 50 data, 30 or 200 atoms) a tenth had a higher loss and a tenth a lower one; with "thorough" 3 % a
    higher one.

    A callback is called for blocks of columns, with the last answer of each; StopIteration leaves the columns that are
    still to come without one (STOPPED). Everything else is fitted column by column.
    """
    operator, names, B = as_operator(M), frames.names_of("B", B), frames.table("B", B)
    _checks.unmasked("B", B)
    _checks.axes("B", B)
    if sp.issparse(B):
        raise TypeError(f"B must be an array; got a sparse matrix of shape {np.shape(B)}: pass B.toarray()")
    if several(operator, B, "B") is None:
        raise ValueError(f"B must have a column per data vector; got shape {np.shape(B)}: fit takes a single one")
    data = np.asarray(B)
    if data.dtype.kind == "f" and data.dtype.itemsize > 8:
        with np.errstate(over="ignore"):
            data = data.astype(np.float64)
    good = _ordinary(data)
    first = data[:, good.argmax()] if good.any() else np.zeros(len(data))
    with _checks.told_of("b", "B"):
        problem, way = posed(operator, first, k, **words)
    with way.listening(), call("fit_many", problem, way, lambda: ({"data": digest_of_all(data)}, None)) as here:
        if here.found is not None:
            return answers_of(here.found).attached_to(problem, data)
        answers = _fitted(problem, data, good, way, names)
        here.mark(answers.kept)
    return answers


def _fitted(problem: Problem, data: Array, good: Array, way: Way, names: Names | None) -> Solutions:
    """All columns at once where that can be, and the rest one by one."""
    prove = proving(way)
    found = solve_together(problem, data, way) if data.dtype.kind in "biuf" else None
    if found is None:
        return Solutions.of(_each(problem, data, good, way), problem, data, names, prove)
    together, products = found
    left = np.flatnonzero(together.left)
    each = solve_each((problem.with_data(data[:, i]) for i in left), way, left.size)
    alone = dict(zip(left.tolist(), each, strict=True))
    return Solutions.found(together, problem, data, names, prove, alone, products)


def _ordinary(data: Array) -> Array:
    """Which columns hold finite numbers whose squares are ordinary ones; labels do."""
    if data.dtype.kind not in "biuf":
        return np.ones(data.shape[1], dtype=bool)
    with np.errstate(over="ignore", invalid="ignore"):
        squares = np.einsum("ij,ij->j", data, data, dtype=np.float64)
    return np.isfinite(squares) & ((squares > SMALLEST) | ~data.any(axis=0))


def _each(problem: Problem, data: Array, good: Array, way: Way) -> Iterator[Solution | None]:
    """An answer for each column by itself; None for those that hold nothing to be fitted."""
    with _checks.told_of("b", "B"):
        for column in data.T[good]:
            _told(*problem.read(column))  # before any of them is fitted
    answers = solve_each((problem.with_data(column) for column in data.T[good]), way, int(good.sum()))
    for fine in good:
        yield next(answers) if fine else None


def posed(M: object, b: npt.ArrayLike, k: object, **words: Unpack[Words]) -> tuple[Problem, Way]:
    """What is asked, and how it is to be solved, from the words of a door."""
    for word in words.keys() - Words.__annotations__.keys():
        raise TypeError(unknown(word, "this door", ["k", *Words.__annotations__]))
    if "atoms" not in words:
        raise TypeError("atoms must be given, an atomic set such as SignedOneHot(n)")
    alpha, misfit, free, ridge = words.get("alpha"), words.get("misfit"), words.get("free"), words.get("ridge")
    biased = isinstance(free, Biases) or (isinstance(free, str) and free == "biases")
    if biased and alpha is None and misfit is None and ridge is None:
        ridge = "auto"  # without a bound biases are for predictions, and those need shrinkage
    problem = Problem.of(
        M, b, k=k, atoms=words["atoms"], alpha=alpha, misfit=misfit, loss=words.get("loss"), ridge=ridge,
        cap=words.get("cap"), free=free,
    )  # fmt: skip
    _told(problem.data, problem.base_loss)
    problem = problem.over(weighed(problem.atoms))
    way = _way(words)
    if way.start is not None and not way.start.is_over(problem.atoms):
        theirs = way.start.certificate.asked.atoms_told
        raise ValueError(f"start must be a model made of {problem.atoms!r}; got one made of {theirs}")
    return problem, way


def _told(data: FloatArray, loss: Loss) -> None:
    """Refuse data that were meant as labels, but are of one class, or of more than the loss can tell apart."""
    if loss.labels is None:
        refuse(data, loss)


def _way(words: Words) -> Way:
    start, method, callback = words.get("start"), words.get("method"), words.get("callback")
    if start is not None and not isinstance(start, Solution):
        raise TypeError(f"start must be the Solution of an earlier fit; got {type(start).__name__}")
    if method is not None and not isinstance(method, Method):
        raise TypeError(
            f"method must be a Method such as Paper(), General(oracle, retrieval) or None; got {_checks.came(method)}"
        )
    if words.get("rng") is not None:
        _checks.generator(words["rng"])
    most = _checks.integer("max_iterations", words.get("max_iterations", MOST), 1)
    return Way(
        METHODS if method is None else (method,),
        start,
        most,
        read(callback),
        words.get("rng"),
        told(words.get("effort", "normal")),
    )


def posed_path(M: object, b: npt.ArrayLike, words: Words) -> tuple[Problem, Way, list[float] | None]:
    """What is asked of a path, and the ridges that are compared, if there are several."""
    given = words.get("ridge")
    ridges = ridges_of(given)
    if ridges is not None:
        words["ridge"] = 0.0
    problem, way = posed(M, b, None, **words)
    if ridges is not None:
        refuse_several(problem, given)
    elif problem.price.ridge is None and problem.atoms.listing() is not None:
        ridges = grid_of(problem)
    return problem if ridges is None else problem.paying(problem.price.at(ridges[0])), way, ridges

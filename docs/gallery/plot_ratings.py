"""
Ratings: what may somebody like?
================================

People rate some of what they know. Biases say who is generous and what is popular, a few factors say who likes what.
How many factors, and how much they are shrunk, is chosen by ratings held out.
"""

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd

from fewatoms.display import MatrixDisplay
from fewatoms.estimators import MatrixCompletion

rng = np.random.default_rng(0)
people, films, k = 300, 120, 2
taste, kind = rng.standard_normal((people, k)), rng.standard_normal((films, k))
generous, popular = 0.5 * rng.standard_normal(people), 0.6 * rng.standard_normal(films)
truth = 3.4 + generous[:, None] + popular + 0.55 * taste @ kind.T
seen = rng.random(truth.shape) < 0.25 / (1 + np.exp(-2 * popular))  # popular films are seen more often
who, what = np.nonzero(seen)
stars = np.clip(np.round(truth[who, what] + 0.4 * rng.standard_normal(who.size)), 1, 5)
table = pd.DataFrame({"who": who, "film": [f"film {i:03d}" for i in what], "stars": stars})
test = rng.random(len(table)) < 0.2
fitted, left_out = table[~test], table[test]

model = MatrixCompletion(rank=None, biases=True, clip=(1, 5)).fit(fitted, user="who", item="film", value="stars")
print("rank {} chosen, ridge {:.2g} on factors and {:.2g} on biases".format(model.rank_, *model.ridge_))
print(model.recommend([0, 1], n=3))

# %%
# Errors on ratings left out, beside what simpler models say.

pairs, true = left_out[["who", "film"]], left_out["stars"].to_numpy()
means = fitted.groupby("film")["stars"].mean()
guesses = {
    "one number": np.full(len(true), fitted["stars"].mean()),
    "mean of the film": left_out["film"].map(means).fillna(fitted["stars"].mean()).to_numpy(),
    f"biases and rank {model.rank_}": model.predict(pairs),
}
errors = {name: np.sqrt(np.mean((guess - true) ** 2)) for name, guess in guesses.items()}
fig, (known, left, right) = plt.subplots(1, 3, figsize=(13, 3.8), layout="constrained")
MatrixDisplay.from_solution(model.solution_).plot(known, kind="known")
known.set(title="ratings; hatched: not known", xlabel="film", ylabel="who")
left.barh(list(errors), list(errors.values()), color=["0.7", "0.7", "C0"])
left.set_xlabel("root mean square error on ratings left out")
left.invert_yaxis()
said = model.predict(pairs)
right.boxplot([said[true == s] for s in range(1, 6)], tick_labels=[str(s) for s in range(1, 6)], showfliers=False)
right.set(xlabel="stars given", ylabel="predicted")
plt.show()

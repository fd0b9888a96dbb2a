"""
Are these the best eight features?
==================================

Ten measurements of 442 patients, with their squares and products: 64 features, and 4.4 billion choices of eight. A
search says which eight predict the course of diabetes best; a proof looks at all the others, most of them many at a
time.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_diabetes

import fewatoms as fa
from fewatoms.display import ProofDisplay

data = load_diabetes(as_frame=True, scaled=False)
base = (data.data - data.data.mean()) / data.data.std()
table = base.copy()
for i, a in enumerate(base):
    for b in list(base)[i:]:
        if not (a == b == "sex"):  # two values only: its square says nothing
            table[a + "²" if a == b else f"{a}·{b}"] = base[a] * base[b]

atoms = fa.SignedOneHot(64)
s = fa.fit(table, data.target, atoms=atoms, k=8, free="intercept", ridge=0.02)
proof = fa.prove(s, seconds=20)
print(s)
print(proof)

# %%
# The bound holds at any time: whoever stops earlier knows how much another choice could gain at most. And it tells how
# far other ways of choosing fall short: here the features that are best one by one.

alone = np.argsort([-abs(np.corrcoef(table[name], data.target)[0, 1]) for name in table])
sizes, best, one_by_one = range(1, 9), [], []
for k in sizes:
    found = fa.fit(table, data.target, atoms=atoms, k=k, free="intercept", ridge=0.02)
    best.append(fa.prove(found, seconds=5))
    chosen = atoms.restricted(include=alone[:k])
    one_by_one.append(fa.fit(table, data.target, atoms=chosen, k=k, free="intercept", ridge=0.02).objective)
print([p.proven for p in best])

fig, (left, right) = plt.subplots(1, 2, figsize=(10, 4), layout="constrained")
ProofDisplay.from_proof(proof).plot(left)
left.set_title("64 features, k = 8")
right.plot(sizes, one_by_one, "s--", color="0.5", label="the best one by one")
right.plot(sizes, [p.upper for p in best], "o-", label="the best answer known")
right.fill_between(
    sizes, 0.95 * min(p.lower for p in best), [p.lower for p in best], alpha=0.15, label="no choice is here"
)
right.set(xlabel="features allowed, k", ylabel="objective")
right.legend(frameon=False)
plt.show()

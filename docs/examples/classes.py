"""Classes: which few features tell them apart, and with what probability new data belong to each.

Labels may be of any type. Two classes are for `Logistic`, where a feature has one coefficient; more are for
`Multinomial`, where it has one for each class.
"""

import numpy as np

import fewatoms as fa


def flowers(rng, count):
    """Forty measurements of each flower, of which three tell the species apart."""
    species = np.array(["iris", "lily", "rose"])[rng.integers(0, 3, count)]
    X = rng.standard_normal((count, 40))
    X[:, 5] += 1.5 * (species == "iris")
    X[:, 17] += 2.0 * (species == "lily")
    X[:, 31] -= 1.0 * (species == "rose")
    return X, species


def main():
    rng = np.random.default_rng(0)
    X, species = flowers(rng, 300)
    new, truth = flowers(rng, 200)
    one = fa.SignedOneHot(40)

    s = fa.fit(X, species, atoms=one, k=3, loss=fa.Multinomial(), free="intercept")
    for feature, row in zip(s.indices, s.coefficients, strict=True):
        print(f"feature {feature}:", ", ".join(f"{c} {v:+.2f}" for c, v in zip(s.classes, row, strict=True)))
    P = s.predict_proba(new)
    right = float(np.mean(s.classes[P.argmax(axis=1)] == truth))
    print(f"{right:.0%} of new flowers are told right")

    path = fa.fit_path(X, species == "lily", atoms=one, k=range(1, 6), loss=fa.Logistic(), free="intercept")
    print(f"lilies against the rest take {path.choose_k('bic')} features: {sorted(path.best.indices.tolist())}")

    few = fa.fit(X[:20], species[:20] == "lily", atoms=one, k=6, loss=fa.Logistic())
    print(few.status.name, "-", few.status.value)
    return s, right, path, few


if __name__ == "__main__":
    main()

"""A table: columns keep their names from the fit to new data, and atoms are forced in or left out by name.

Any data frame will do, of pandas, polars or pyarrow. Rows are taken in their order: an index is not looked at.
"""

import numpy as np
import pandas as pd

import fewatoms as fa


def patients(rng, count):
    """Ten measurements of each patient, and an outcome that three of them explain."""
    names = ["age", "sex", "bmi", "pressure", "s1", "s2", "s3", "s4", "s5", "s6"]
    table = pd.DataFrame(rng.standard_normal((count, len(names))), columns=names)
    outcome = 150 + 30 * table["bmi"] + 20 * table["s5"] - 10 * table["sex"] + 5 * rng.standard_normal(count)
    return table, outcome


def main():
    rng = np.random.default_rng(0)
    table, outcome = patients(rng, 200)
    one = fa.SignedOneHot(table.shape[1])
    s = fa.fit(table, outcome, atoms=one, k=3, free="intercept")
    print(s)
    print(f"R^2 {s.r2:.3f}")

    new, truth = patients(rng, 100)
    shuffled = new[sorted(new.columns)]  # known by name, in any order
    error = np.sqrt(np.mean((s.predict(shuffled) - truth) ** 2))
    print(f"root mean square error on new patients: {error:.2f}")
    try:
        s.predict(new.drop(columns="bmi"))
    except ValueError as refused:
        print(refused)

    with_age = fa.fit(table, outcome, atoms=one.restricted(include=["age"], exclude=["s5"]), k=3, free="intercept")
    print(f"with age and without s5: {', '.join(with_age.names)}")
    return s, error, with_age


if __name__ == "__main__":
    main()

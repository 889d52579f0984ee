"""Decisions of holisticai's MLDebiaser, run by a Python that has it: see multiclass.py.

    python benchmarks/_holisticai.py given.npz found.npz

``given`` has the probabilities of labels (n, V), the number of each person's group, 0 to 3, and
bounds; ``found`` gets its decisions and its probabilities of these, one table for each bound.
"""

import sys

import numpy as np
from holisticai.bias.mitigation import MLDebiaser  # type: ignore[import-not-found]


def main() -> None:
    """Read, decide, write."""
    given = np.load(sys.argv[1])
    # It knows two groups that may overlap: the four combinations are four groups.
    first, second = given["group"] // 2 == 1, given["group"] % 2 == 1
    found = []
    for eps in given["bounds"]:
        np.random.seed(0)  # noqa: NPY002 - what it draws from
        model = MLDebiaser(eps=float(eps), verbose=False)
        model.fit(given["chance"], first, second)
        found.append(model.transform(given["chance"], first, second))
    names = ("y_pred", "y_proba")
    np.savez(sys.argv[2], **{name: np.array([each[name] for each in found]) for name in names})


if __name__ == "__main__":
    main()

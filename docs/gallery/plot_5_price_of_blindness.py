"""
The price of blindness
======================

Most decisions may not look at the group. What does that cost?
`equipoise.estimators.price_of_blindness` compares the best decisions that see the features alone
with the best that see the group as well, within the same bound and from the same fits. The people
are made up. Where it is lawful to decide by group at all is another question.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.linear_model import LogisticRegression

from equipoise import DemographicParity
from equipoise.estimators import price_of_blindness

# %%
# In both worlds there is a feature that helps to predict the label and is higher in one group. In
# the first it is nearly all there is. In the second there is another feature, of which both groups
# have the same.


def world(second, seed=0, n=4000):
    """Return features, labels and groups."""
    rng = np.random.default_rng(seed)
    A = rng.integers(0, 2, n)
    X = np.column_stack([1.5 * A + rng.normal(size=n), rng.normal(size=n)])
    y = (X[:, 0] + second * X[:, 1] + rng.logistic(size=n) > 1).astype(int)
    return X, y, A


bounds = [0.01, 0.05, 0.1, 0.2, 0.3, 0.4]
found = {}
for name, second in {"one feature": 0.2, "two features": 2.0}.items():
    X, y, A = world(second)
    found[name] = price_of_blindness(
        LogisticRegression(), DemographicParity(reference="pairwise"), X, y,
        sensitive_features=A, bounds=bounds, cv=3,
    )  # fmt: skip
    print(name)
    print(found[name])

# %%
# With one feature, blind decisions can be equal only by giving up the feature, and with it most of
# what they know; those who see the group can correct for it. The looser the bound, the smaller the
# difference. A price a little below zero is chance.

figure, axes = plt.subplots(1, 2, figsize=(9, 3.8), sharey=True, layout="constrained")
for ax, (name, prices) in zip(axes, found.items(), strict=True):
    ax.plot(prices.bounds, prices.blind, "o-", color="#0072B2", label="blind")
    ax.plot(prices.bounds, prices.aware, "s-", color="#D55E00", label="sees the group")
    ax.set_title(name)
    ax.set_xlabel("bound on the difference")
    ax.grid(alpha=0.25)
axes[0].set_ylabel("error, out of fold")
axes[0].legend()
plt.show()

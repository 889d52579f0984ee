"""
What each bound costs
=====================

Nobody knows in advance which bound is right. A frontier shows the least error at every bound, from
one set of fits. Here it is drawn on the training data, and again on a held-out set. The people are
those of ACSIncome where the file is there (``EQUIPOISE_DATA``), else those of Adult.
"""

import os
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
from sklearn.linear_model import LogisticRegression
from sklearn.preprocessing import StandardScaler

from equipoise import DemographicParity, Frontier, FrontierDisplay, datasets

if Path(os.environ.get("EQUIPOISE_DATA", ""), "acs_income_2018.parquet").is_file():
    people = datasets.load_acs_income(states=["TX"])
else:
    people = datasets.load_adult()
order = np.random.default_rng(0).permutation(len(people.target))[:14_000]
X = StandardScaler().fit_transform(people.data[order])
y, sex = people.target[order], np.char.lower(np.asarray(people.sensitive["sex"], str)[order])
learned, held_out = np.arange(4000), np.arange(4000, 14_000)

# %%
# "pairwise" bounds the difference between women and men themselves, rather than the difference of
# each from everybody.

frontier = Frontier(
    LogisticRegression(C=0.1),
    DemographicParity(reference="pairwise"),
    bounds=np.geomspace(0.005, 0.16, 10),
)
frontier.fit(X[learned], y[learned], sensitive_features=sex[learned])
print(f"{len(frontier.points_)} bounds from {frontier.n_calls_} fits")

# %%
# Error and difference are computed by hand, on a held-out set. The bound is met on the training
# data; elsewhere it is met up to chance. The difference between two rates of a few thousand people
# is known to about 0.03: two standard errors, of the training data and the held-out set together.

women = sex[held_out] == "female"
print("bound   on others   error on others")
for eps in (0.01, 0.05, 0.10):
    selected = frontier.at(eps).predict_proba(X[held_out])[:, 1]
    difference = abs(selected[women].mean() - selected[~women].mean())
    error = np.abs(selected - y[held_out]).mean()
    print(f"{eps:.3f}   {difference:.3f}       {error:.3f}")

# %%
# The curve is steep on the left: the last bit of parity costs most. The square is the learner
# without a constraint.

figure, axes = plt.subplots(1, 2, figsize=(9, 4), sharex=True, sharey=True, layout="constrained")
FrontierDisplay.from_estimator(frontier, name="training data", ax=axes[0])
FrontierDisplay.from_estimator(
    frontier,
    X[held_out],
    y[held_out],
    sensitive_features=sex[held_out],
    name="held-out set",
    ax=axes[1],
)
plt.show()

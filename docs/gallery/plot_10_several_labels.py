"""
More than two labels
====================

A decision may have three outcomes: accept, refer or decline. `equipoise.FairClassifier` takes such
labels as they are. Demographic parity then means that every decision is about equally frequent in
all groups. The people are made up: one group has higher scores, and a feature that tells of it.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.linear_model import LogisticRegression

from equipoise import DemographicParity, FairClassifier

rng = np.random.default_rng(0)
n = 2000
group = rng.choice(["F", "M"], n)
X = np.column_stack([(group == "M") + rng.normal(size=n), rng.normal(size=n)])
score = X.sum(axis=1) + 0.7 * rng.normal(size=n)
y = np.array(["decline", "refer", "accept"])[np.digitize(score, [0.2, 1.2])]

# %%
# The same learner without a rule, and with one: no decision's rate may differ by more than 0.05
# between the groups. The bound is met out of fold; on the training data, which are measured here,
# it may be missed by a little.

rule = DemographicParity(eps=0.05, reference="pairwise")
fair = FairClassifier(LogisticRegression(), rule, oracle="plugin")
fair.fit(X, y, sensitive_features=group)
plain = LogisticRegression().fit(X, y)
chances = {
    "no rule": np.eye(3)[np.searchsorted(plain.classes_, plain.predict(X))],
    "bound 0.05": fair.predict_proba(X),  # over the draw
}
rates = {
    name: np.array([pmf[group == one].mean(axis=0) for one in ("F", "M")])
    for name, pmf in chances.items()
}
right = np.searchsorted(fair.classes_, y)
for name, (women, men) in rates.items():
    error = 1 - chances[name][np.arange(n), right].mean()
    print(f"{name}: largest difference {abs(women - men).max():.3f}, error {error:.3f}")

# %%
# Rates by group and decision, before and after.

figure, axes = plt.subplots(1, 2, figsize=(8, 3.2), sharey=True, layout="constrained")
for ax, (name, of_groups) in zip(axes, rates.items(), strict=True):
    for shift, value, colour in ((-0.2, "F", "#56B4E9"), (0.2, "M", "#0072B2")):
        of_group = of_groups["FM".index(value)]
        ax.bar(np.arange(3) + shift, of_group, width=0.38, label=value, color=colour)
    ax.set_xticks(np.arange(3), fair.classes_)
    ax.set_title(name)
axes[0].set_ylabel("share of the group")
axes[0].legend(frameon=False)
plt.show()

"""
Predictions that are numbers
============================

`equipoise.Frontier` takes a regressor as well. Demographic parity then means that the share of
people whose prediction is at or above a threshold hardly differs between groups, for every
threshold. The people are made up: one group has higher incomes, and a feature that tells of it.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.linear_model import LinearRegression

from equipoise import DemographicParity, Frontier, FrontierDisplay

rng = np.random.default_rng(0)
n = 2000
group = rng.choice(["F", "M"], n)
X = np.column_stack([(group == "M") + rng.normal(size=n), rng.normal(size=n)])
y = 30 + 5 * X.sum(axis=1) + 3 * rng.normal(size=n)

# %%
# One pool serves all bounds. A constant prediction is fair, and of no use: its loss is where the
# trade-off would end.

frontier = Frontier(
    LinearRegression(), DemographicParity(), bounds=[0.01, 0.03, 0.1, 0.2, 0.3], thresholds=15
).fit(X, y, sensitive_features=group)
print(f"constant: {frontier.constant_loss_:.1f}")
for point in frontier.points_:
    print(f"bound {point.eps}: loss {point.error:.1f}, {point.members} members")
FrontierDisplay.from_estimator(frontier)
plt.show()

# %%
# Distributions of the predictions, before and after.

models = {"no rule": LinearRegression().fit(X, y), "bound 0.03": frontier.at(0.03)}
figure, axes = plt.subplots(1, 2, figsize=(8, 3.2), sharey=True, layout="constrained")
for ax, (name, model) in zip(axes, models.items(), strict=True):
    predicted = model.predict(X)
    for value, colour in {"F": "#56B4E9", "M": "#0072B2"}.items():
        ax.ecdf(predicted[group == value], label=value, color=colour)
    ax.set_title(name)
    ax.set_xlabel("prediction")
axes[0].set_ylabel("share at or below")
axes[0].legend(frameon=False)
plt.show()

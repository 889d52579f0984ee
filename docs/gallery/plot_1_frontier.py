"""
What each bound costs
=====================

Nobody knows beforehand which bound is right. A frontier shows the least error at every bound, from
one set of fits. Here it is drawn on the people of the fit, and again on people held out.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.linear_model import LogisticRegression
from sklearn.preprocessing import StandardScaler

from equipoise import DemographicParity, Frontier, FrontierDisplay, datasets

adult = datasets.load_adult()
X = StandardScaler().fit_transform(adult.data)
y, sex = adult.target, adult.sensitive["sex"]
learned, held_out = np.arange(4000), np.arange(4000, 14000)

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
# Error and difference counted by hand, on people whom the fit has not seen. The bound is met on the
# people of the fit; on others it is met up to chance. The difference of two rates of some thousand
# people is known to about 0.02.

women = sex[held_out] == "Female"
print("bound   on others   error on others")
for eps in (0.01, 0.05, 0.10):
    selected = frontier.at(eps).predict_pmf(X[held_out])[:, 1]
    difference = abs(selected[women].mean() - selected[~women].mean())
    error = np.abs(selected - y[held_out]).mean()
    print(f"{eps:.3f}   {difference:.3f}       {error:.3f}")

# %%
# The curve is steep on the left: the last bit of parity costs most. The square is the learner
# without a constraint.

figure, axes = plt.subplots(1, 2, figsize=(9, 4), sharex=True, sharey=True, layout="constrained")
FrontierDisplay.from_estimator(frontier, name="people of the fit").plot(ax=axes[0])
FrontierDisplay.from_estimator(
    frontier,
    X[held_out],
    y[held_out],
    sensitive_features=sex[held_out],
    name="people held out",
).plot(ax=axes[1])
plt.show()

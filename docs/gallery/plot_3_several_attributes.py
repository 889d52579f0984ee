"""
Fair by sex, fair by race, and unfair to some
=============================================

A rule for each attribute by itself leaves the groups inside alone. These people are made up: the
label is common among women of race A and men of race B, and rare among the others.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.linear_model import LogisticRegression

from equipoise import DemographicParity, FairClassifier

rng = np.random.default_rng(0)
n = 4000
sex, race = rng.choice(["F", "M"], n), rng.choice(["A", "B"], n)
favoured = (sex == "F") == (race == "A")
X = np.column_stack([favoured + rng.normal(size=n), rng.normal(size=n)])
y = (rng.random(n) < np.where(favoured, 0.7, 0.3)).astype(int)
learner = LogisticRegression()

# %%
# ``groups="margins"`` compares women with men, and A with B. ``groups="intersections"``, the
# default, compares all four combinations.

groups = [(s, r) for s in "FM" for r in "AB"]
shares = {}
for kind in ("margins", "intersections"):
    rule = DemographicParity(eps=0.02, reference="pairwise", groups=kind)
    model = FairClassifier(learner, rule)
    model.fit(X, y, sensitive_features={"sex": sex, "race": race})
    selected = model.predict_proba(X)[:, 1]
    shares[kind] = [selected[(sex == s) & (race == r)].mean() for s, r in groups]
    by_sex = abs(selected[sex == "F"].mean() - selected[sex == "M"].mean())
    by_race = abs(selected[race == "A"].mean() - selected[race == "B"].mean())
    inside = max(shares[kind]) - min(shares[kind])
    print(f"{kind:<13}  by sex {by_sex:.3f}  by race {by_race:.3f}  inside {inside:.3f}")

# %%
# With margins both rules are kept, and two groups are selected far less often than the others.

figure, ax = plt.subplots(figsize=(7, 3.5), layout="constrained")
place = np.arange(len(groups))
for shift, (kind, colour) in enumerate({"margins": "#D55E00", "intersections": "#0072B2"}.items()):
    ax.bar(place + 0.4 * shift - 0.2, shares[kind], width=0.38, label=kind, color=colour)
ax.set_xticks(place, [f"{s} & {r}" for s, r in groups])
ax.set_ylabel("share selected")
ax.legend()
plt.show()

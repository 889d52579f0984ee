"""
The four-fifths rule, exactly
=============================

Guidelines on employment in the United States take it for a sign of adverse impact when a group is
selected less than four fifths as often as the group selected most often. The rule is a ratio, and
`equipoise.FourFifthsRule` asks for just this ratio, between every pair of groups. Keeping it is not
a proof of lawfulness: it is a rule of thumb for further enquiry.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.linear_model import LogisticRegression
from sklearn.preprocessing import StandardScaler

from equipoise import FairClassifier, FourFifthsRule, datasets

adult = datasets.load_adult()
X = StandardScaler().fit_transform(adult.data[:6000])
y, group = adult.target[:6000], adult.sensitive["sex_race4"][:6000]
names = sorted(set(group))
learner = LogisticRegression(C=0.1)

# %%
# Four groups, by sex and race. First without a rule, then with it.

free = learner.fit(X, y).predict(X).astype(float)
model = FairClassifier(LogisticRegression(C=0.1), FourFifthsRule())
fair = model.fit(X, y, sensitive_features=group).predict_proba(X)[:, 1]


def rates(selected):
    """Return the share selected in each group."""
    return np.array([selected[group == name].mean() for name in names])


for name, selected in {"free": free, "four fifths": fair}.items():
    ratio = rates(selected).min() / rates(selected).max()
    error = np.abs(selected - y).mean()
    print(f"{name:<11}  least ratio {ratio:.3f}  error {error:.4f}")

# %%
# The dashed line is four fifths of the largest share. Without the rule three groups are below it.
# With it all are on it or above: fewer of the white men are selected, and more of everybody else.

figure, axes = plt.subplots(1, 2, figsize=(9, 3.5), sharex=True, sharey=True, layout="constrained")
for ax, (title, selected) in zip(
    axes, {"without the rule": free, "with the rule": fair}.items(), strict=True
):
    ax.barh(names, rates(selected), color="#0072B2")
    ax.axvline(0.8 * rates(selected).max(), color="#D55E00", ls="--", label="four fifths")
    ax.set_title(title)
    ax.set_xlabel("share selected")
axes[1].legend(loc="lower right")
plt.show()

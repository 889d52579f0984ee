"""
The least error of the worst group
==================================

Instead of making groups equal, one can make the group that is served worst be served as well as
possible. `equipoise.MinimaxGroupError` does that: it is not met by serving others worse. The people
are made up: in the smaller group the label depends on the features in another way, and is harder
to predict.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.linear_model import LogisticRegression

from equipoise import AccuracyEquality, FairClassifier, MinimaxGroupError

rng = np.random.default_rng(0)
n = 4000
group = rng.choice(["many", "few"], n, p=[0.8, 0.2])
few = group == "few"
X = rng.normal(size=(n, 2))
score = np.where(few, 2 * X[:, 0] + X[:, 1], 2 * X[:, 0])
y = (score + np.where(few, 3.0, 0.3) * rng.logistic(size=n) > 0).astype(int)

# %%
# Left alone, the learner serves the many. With equal errors the few gain, and the many are wronged
# until they are as badly off. With the least worst error the few gain a little more, and the many
# keep what does not help the few.

rules = {
    "equal errors": AccuracyEquality(eps=0.01, reference="pairwise"),
    "least worst error": MinimaxGroupError(),
}
models = {
    name: FairClassifier(LogisticRegression(), rule).fit(X, y, sensitive_features=group)
    for name, rule in rules.items()
}
decided = {name: model.predict_proba(X)[:, 1] for name, model in models.items()}
decided = {"no rule": LogisticRegression().fit(X, y).predict(X), **decided}

errors = {}
for name, selected in decided.items():
    wrong = np.abs(selected - y)
    errors[name] = [wrong[~few].mean(), wrong[few].mean()]
    print(f"{name:<18} many {wrong[~few].mean():.3f}  few {wrong[few].mean():.3f}")

# %%
# The certificate has the largest group error, and a lower value for it.

low, reached = models["least worst error"].certificate_.worst_rate
print(f"the worst group errs {reached:.3f}; it must err at least {low:.3f}")

# %%

figure, ax = plt.subplots(figsize=(7, 3.5), layout="constrained")
place = np.arange(len(errors))
for shift, (label, colour) in enumerate({"many": "#56B4E9", "few": "#0072B2"}.items()):
    heights = [values[shift] for values in errors.values()]
    ax.bar(place + 0.4 * shift - 0.2, heights, width=0.38, label=label, color=colour)
ax.set_xticks(place, list(errors))
ax.set_ylabel("error")
ax.legend()
plt.show()

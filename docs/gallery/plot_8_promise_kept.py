"""
A promise for people who were not seen
======================================

Samples of 10,000 people were drawn from ACSIncome, which is the population here. Every method was
asked for the same bound, and the truth computed over everybody. Shown is how often the bound is
broken in the population.
"""

import warnings

import matplotlib.pyplot as plt
import numpy as np
from sklearn.linear_model import LogisticRegression

from equipoise import DemographicParity, FairClassifier
from equipoise.exceptions import NotProvenError

# %%
# First by hand, with a population that is made up: twenty samples, a plain fit and one with
# ``confidence=0.95`` to each, and the truth over everybody.

rng = np.random.default_rng(0)


def draw(n):
    """Return n people of the population."""
    group = rng.integers(0, 2, n)
    X = np.column_stack([group + rng.normal(size=n), rng.normal(size=n)])
    return X, (X.sum(axis=1) + rng.normal(size=n) > 0.5).astype(int), group


def difference(model):
    """Return the difference of selection rates over everybody."""
    selected = model.predict_proba(everybody)[:, 1]
    return abs(selected[of == 1].mean() - selected[of == 0].mean())


everybody, _, of = draw(100_000)
rule, counts = DemographicParity(eps=0.08, reference="pairwise"), {"plain": 0, "proven": 0}
found = 0
for _ in range(20):
    X, y, group = draw(4000)
    plain = FairClassifier(LogisticRegression(), rule).fit(X, y, sensitive_features=group)
    counts["plain"] += difference(plain) > 0.08
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        proven = FairClassifier(LogisticRegression(), rule, confidence=0.95)
        proven.fit(X, y, sensitive_features=group)
    try:
        counts["proven"] += difference(proven) > 0.08
        found += 1
    except NotProvenError:
        pass
print(f"plain    broken {counts['plain']} of 20")
print(f"proven   broken {counts['proven']} of {found} found")

# %%
# The numbers are those of ``python benchmarks/proof.py``, women and men, 1,000 samples (fairlearn:
# 300); see the page of figures. A proof at 95 % may break its bound in 5 % of the samples.

samples = {"split": 1000, "cross_fit": 1000, "margin": 1000, "plain fit": 1000, "fairlearn": 300}
broken = {
    "demographic parity within 0.05": [0.020, 0.054, 0.051, 0.512, 0.430],
    "equalized odds within 0.10": [0.017, 0.032, 0.039, 0.511, 0.107],
}

# %%
# Plain fits use their bound to the edge, and break it about as often as not. So do fairlearn's for
# demographic parity; for equalized odds its bound, halved because it is on the distance from
# everybody, is stricter than the one asked for. With ``confidence=0.95`` the bound is kept. What
# that costs is in the page of figures: 0.001 to 0.006 of error more than a plain fit.

figure, ax = plt.subplots(figsize=(7, 3.4), layout="constrained")
place = np.arange(len(samples))
for shift, (rule, shares) in zip((-0.2, 0.2), broken.items(), strict=True):
    error = np.sqrt(np.multiply(shares, np.subtract(1, shares)) / list(samples.values()))
    ax.barh(place + shift, shares, height=0.38, xerr=2 * error, label=rule)
ax.axvline(0.05, color="#D55E00", ls="--", label="5 %")
names = [name if name in ("plain fit", "fairlearn") else f'proof="{name}"' for name in samples]
ax.set_yticks(place, names)
ax.invert_yaxis()
ax.set_xlabel("share of samples whose classifier breaks the bound, ± 2 standard errors")
ax.legend()
plt.show()

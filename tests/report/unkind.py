"""People of three groups, one of them named by somebody unkind; their rates, by hand."""

from types import SimpleNamespace

import numpy as np

UNKIND = "<script>alert(1)</script>"
GROUPS = [UNKIND, "M & 'co'", "F"]
BOUNDS = [0.005, 0.02, 0.05, 0.1]


def make_people(n, seed):
    rng = np.random.default_rng(seed)
    group = rng.choice(GROUPS, n)
    X = rng.normal(size=(n, 2)) + 0.8 * (group == "F")[:, None]
    y = np.where(X.sum(axis=1) + rng.normal(size=n) > 0.5, "yes", "no")
    return SimpleNamespace(X=X, y=y, group={"sex": group})


def rates_by_hand(model, people):
    """Error of a randomized classifier, and selection rates of groups, from raw arrays."""
    p = model.predict_proba(people.X)[:, 1]
    wrong = np.where(people.y == "yes", 1 - p, p)
    selected = {str(g): p[people.group["sex"] == g].mean() for g in GROUPS}
    return wrong.mean(), selected, max(abs(rate - p.mean()) for rate in selected.values())

"""Methods of other libraries."""

from dataclasses import replace

import pytest
from made import violation_of

from equipoise.experiments.learners import LEARNERS
from equipoise.experiments.methods import METHODS, RIVALS, outcomes_of
from equipoise.experiments.panels import NOTIONS, load_split


@pytest.mark.parametrize("name", list(RIVALS))
@pytest.mark.parametrize("notion", ["DP", "EO"])
def test_other_libraries_decide_with_probabilities(name, notion):
    module = name.split()[0].replace("-", "_")
    pytest.importorskip(module, reason=f"{module} is not installed: pip install equipoise[compare]")
    split = load_split("adult", "indicators", seed=0, rows=800)
    learner = replace(LEARNERS["logistic"], n_eps=1)
    made = outcomes_of(RIVALS[name], split, NOTIONS[notion], learner)
    for outcome in made:
        assert outcome.test.shape == (200,)
        assert ((outcome.test >= 0) & (outcome.test <= 1)).all()
    fairest = min(violation_of(o.train, split.train.y, split.train.A, notion) for o in made)
    alone = outcomes_of(METHODS["unconstrained"], split, NOTIONS[notion], learner)[0]
    assert fairest < violation_of(alone.train, split.train.y, split.train.A, notion)

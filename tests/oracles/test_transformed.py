"""Classifiers behind a transformer: right by themselves, and together without double work."""

import numpy as np
from sklearn.tree import DecisionTreeClassifier

from equipoise.oracles.decisions import decisions
from equipoise.oracles.transformed import TransformedClassifier


class Halved:
    def __init__(self):
        self.calls = 0

    def transform(self, X):
        self.calls += 1
        return X / 2


def test_a_transformer_that_is_shared_is_called_once():
    stumps = [DecisionTreeClassifier().fit([[0.0], [cut]], [0, 1]) for cut in (2.0, 6.0)]
    halved, other = Halved(), Halved()
    members = [TransformedClassifier(halved, stump) for stump in stumps]
    members += [stumps[0], TransformedClassifier(other, stumps[0])]
    X = np.array([[1.0], [3.0], [7.0]])
    found = np.array(list(decisions(members, X)))
    assert (halved.calls, other.calls) == (1, 1)
    # A stump cuts halfway: at 1 and at 3, of half the value where it is halved.
    expected = [X > 2, X > 6, X > 1, X > 2]
    np.testing.assert_array_equal(found, np.hstack(expected).T)
    np.testing.assert_array_equal(members[1].predict(X), [0, 0, 1])

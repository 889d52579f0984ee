"""Suppression: no small group can be found by subtraction from what is shown."""

import numpy as np
import pytest
from equipoise.metrics.small_groups import small_groups

from equipoise.metrics import GroupTable, group_table


def one_feature(counts):
    groups = ("overall", *map(str, range(len(counts))))
    features = ("", *["a"] * len(counts))
    return GroupTable(groups, features, {"count": np.array([sum(counts), *counts])})


@pytest.mark.parametrize(
    ("counts", "hidden"),
    [
        ([50, 40, 30], []),
        ([50, 40, 3], [1, 2]),  # the next smallest too
        ([50, 40, 3, 9], [2, 3]),  # two small ones hide each other
        ([50, 40, 3, 3], [1, 2, 3]),  # both together are fewer than ten
        ([50, 3], [0, 1]),
        ([10, 10], []),
    ],
)
def test_a_single_group_is_never_missing(counts, hidden):
    found = small_groups(one_feature(counts), 10)
    assert np.flatnonzero(found[1:]).tolist() == hidden
    assert not found[0]


def test_nothing_is_shown_of_very_few_people():
    assert small_groups(one_feature([3, 4]), 10).all()


def unknown_values(shown, counts, rows):
    """Rows that follow from those shown: the linear system of all sums, solved."""
    system = [np.eye(len(counts))[at] for at in np.flatnonzero(shown)] + rows
    _, s, basis = np.linalg.svd(np.array(system))
    null = basis[np.sum(s > 1e-9) :]
    return {at for at in range(len(counts)) if np.abs(null[:, at]).max(initial=0.0) < 1e-9}


def test_tables_of_two_features_do_not_give_small_groups_away():
    rng, given_away = np.random.default_rng(0), 0
    for _ in range(40):
        a, b = rng.integers(0, 3, 120), rng.choice(3, 120, p=[0.75, 0.2, 0.05])
        table = group_table(
            rng.integers(0, 2, 120), rng.integers(0, 2, 120), sensitive_features={"a": a, "b": b}
        )
        hidden = small_groups(table, 10)
        assert hidden[table["count"] < 10].all()
        rows = []
        for whole, features, fixed in [
            (0, "a", None),
            (0, "b", None),
            *(
                (at, "a x b", (f, table.groups[at]))
                for at, f in enumerate(table.features)
                if f in "ab" and f
            ),
        ]:
            inside = np.array(
                [
                    f == features and (fixed is None or g["ab".index(fixed[0])] == fixed[1])
                    for f, g in zip(table.features, table.groups, strict=True)
                ]
            )
            rows.append(inside - np.eye(len(hidden))[whole])
        known = unknown_values(~hidden, table["count"], rows)
        given_away += bool(known & set(np.flatnonzero(hidden)))
    assert given_away == 0

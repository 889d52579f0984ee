"""Sentences of the library, in the words of the command line."""

import re

import pytest
from hiring import COLUMNS

from equipoise import constraints
from equipoise.cli.names import CONSTRAINTS
from equipoise.cli.spelling import in_options, spelled


@pytest.mark.parametrize(
    ("told", "typed"),
    [
        ("Raise max_iter, or accept a larger nu.", "Raise --max-iter, or accept that gap."),
        ("With evidence=False it has no certificate", "With --no-evidence it has no certificate"),
        ("fewer than min_size=30 people of X", "fewer than --min-size 30 people of X"),
        ("min_size=30 of a constraint (--min-size 30) leaves", "--min-size 30 leaves"),
        ("Use oracle='refit', and missing='ignore'.", None),
        ("use DemographicParity, EqualizedOdds(eps=0.1) or a tree", "use dp, eo or a tree"),
        ("Name it, FourFifthsRule(positive='yes').", "Name it, --positive 'yes'."),
        ("column 'min_size' is empty", "column 'min_size' is empty"),  # a name out of a file
    ],
)
def test_options_and_not_parameters(told, typed):
    expected = "Use --oracle refit, and --missing-groups ignore." if typed is None else typed
    assert in_options(told) == expected


@pytest.mark.parametrize("name", CONSTRAINTS)
def test_a_constraint_is_told_by_its_name_and_what_was_typed(name):
    kind = getattr(constraints, CONSTRAINTS[name])
    assert CONSTRAINTS[name] not in spelled(kind())
    assert spelled(kind()).startswith(kind.name)
    if "eps" in kind().get_params():
        assert "--eps 0.07" in spelled(kind(eps=0.07))


def test_no_class_of_python_is_named_where_people_read(run, data, model, frontier):
    rest = ("fit", data, *COLUMNS, "-o", "new.equipoise")
    ran = [
        run("certify", model, data),
        run("at", frontier, "--eps", "0.03"),
        run(*rest, "--max-iter", 1, "--learner", "tree"),
        run("fit", data, "--label", "town", "--sensitive", "sex", "--constraint", "four-fifths"),
    ]
    for each in ran:
        text = each.out + each.err
        assert not re.search(rf"\b({'|'.join(CONSTRAINTS.values())})\b|max_iter", text), text
    assert ran[0].out.startswith("demographic parity (--eps 0.05) on people.csv")
    unknown = run(*rest, "--force", "--constraint", "EqualizedOdds")
    assert "there is no constraint 'EqualizedOdds'" in unknown.err
    assert "Here it is called 'eo'." in unknown.err

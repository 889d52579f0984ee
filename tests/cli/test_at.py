"""at: a classifier for any bound out of a frontier file."""

import equipoise


def test_at_picks_any_bound_without_training(run, data, frontier):
    ran = run("at", frontier, "--eps", 0.03, "--json")
    assert ran.code == 0
    assert ran.json["constraint"] == "DemographicParity(eps=0.03)"
    model = equipoise.load(data.parent / "model.equipoise")
    assert model.certificate_.feasible
    assert run("predict", "model.equipoise", data).code == 0
    assert "expected a frontier" in run("at", "model.equipoise", "--eps", 0.1, "-o", "x").err

"""Which label is favourable: plain words say it; of other texts it is asked for."""

from hiring import COLUMNS, make_table, write_table


def test_the_favourable_one_of_other_texts_is_asked_for(run, data):
    columns = make_table()
    columns["hired"] = ["grade A" if label == "yes" else "B" for label in columns["hired"]]
    write_table(columns, data)
    model = ("-o", "model.equipoise", "--force")
    for command in (
        ("audit", data, "--label", "hired", "--sensitive", "sex"),
        ("fit", data, *COLUMNS, *model),
        ("frontier", data, *COLUMNS, "--bounds", "0.1", "--no-page"),
    ):
        ran = run(*command)
        assert ran.code == 2
        assert "--positive B or --positive 'grade A'" in ran.err
    for favourable, other in (("B", "grade A"), ("grade A", "B")):
        named = ("--positive", favourable)
        ran = run("audit", data, "--label", "hired", "--sensitive", "sex", *named, "--json")
        assert ran.json["data"]["labels"] == [other, favourable]
        ran = run("fit", data, *COLUMNS, *named, "--eps", 0.1, *model)
        assert ran.code == 0, ran.err
        assert run("certify", "model.equipoise", data).code == 0
        ran = run("predict", "model.equipoise", data, "-o", "decided.csv")
        assert f"of them {favourable!r}" in ran.out
        (data.parent / "decided.csv").unlink()


def test_approved_is_favourable_and_denied_is_not(run, data):
    columns = make_table()
    columns["hired"] = ["approved" if label == "yes" else "denied" for label in columns["hired"]]
    write_table(columns, data)
    ran = run("audit", data, "--label", "hired", "--sensitive", "sex")
    assert "Favourable label: 'approved'. If it is 'denied', say so with --positive." in ran.err
    ran = run("fit", data, *COLUMNS, "--constraint", "four-fifths", "--json")
    assert ran.code == 0, ran.err
    assert ran.json["data"]["labels"] == ["denied", "approved"]
    write_table(make_table() | {"hired": ["maybe"] * 600}, data)
    ran = run("certify", "model.equipoise", data)
    assert ran.code == 2
    assert "has the label 'maybe'" in ran.err

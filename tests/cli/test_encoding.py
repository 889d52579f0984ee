"""Encodings: of text columns a model file holds the common values, once, and no names."""

import json
import zipfile
from io import BytesIO

import pyarrow as pa
import pytest
from hiring import COLUMNS, make_table, write_table
from sklearn.preprocessing import OneHotEncoder

import equipoise
from equipoise.cli.tables.encoding import FEWEST_PEOPLE, make_encoder, without_names


def everything(path):
    """Return all bytes of a model file, expanded."""
    with zipfile.ZipFile(path) as archive:
        held = b"".join(archive.read(name) for name in archive.namelist())
        members = zipfile.ZipFile(BytesIO(archive.read("members.skops")))
        return held + b"".join(members.read(name) for name in members.namelist())


@pytest.fixture
def named(tmp_path):
    """Return a table with names, and with a town that one person lives in."""
    columns = make_table()
    columns["full_name"] = [f"Person {number} Secretname" for number in range(600)]
    columns["town"][7] = "Lonelytown"
    write_table(columns, tmp_path / "named.csv")
    return tmp_path / "named.csv"


def test_names_and_rare_values_are_not_in_the_file(run, named):
    done = run("fit", named, *COLUMNS, "--test-size", 0, "-o", "m.equipoise")
    assert done.code == 0
    assert "text column 'full_name' is left out" in done.err
    assert "600 of 600 people have a value in it that fewer than 10 share" in done.err
    held = everything("m.equipoise")
    assert b"Secretname" not in held
    assert b"Lonelytown" not in held
    assert b"Oslo" in held  # the check would find them
    assert "full_name" not in equipoise.load("m.equipoise").feature_names_in_


def test_a_column_of_names_is_kept_if_asked_for_but_its_names_are_not(run, named):
    options = ("--keep-text", "full_name", "-o", "m.equipoise")
    done = run("fit", named, *COLUMNS, *options)
    assert done.code == 0
    assert "is left out" not in done.err
    assert "full_name" in equipoise.load("m.equipoise").feature_names_in_
    assert b"Secretname" not in everything("m.equipoise")
    wrong = run("fit", named, *COLUMNS, "--keep-text", "fullname", "-o", "other.equipoise")
    assert wrong.code == 2
    assert "no column 'fullname'" in wrong.err


def encoders(frontier):
    found = [
        member.classifier for member in frontier.pool_.classifiers if hasattr(member, "classifier")
    ]
    return [pipeline.named_steps["encode"] for pipeline in found]


def test_members_share_one_encoder_in_memory_and_in_the_file(run, data, frontier):
    shared = encoders(equipoise.load(frontier))
    assert len(shared) > 2
    assert all(encoder is shared[0] for encoder in shared)
    with zipfile.ZipFile(frontier) as archive:
        members = zipfile.ZipFile(BytesIO(archive.read("members.skops")))
    schema = json.loads(members.read("schema.json"))
    assert json.dumps(schema).count('"__class__": "ColumnTransformer"') <= 2  # one is unfitted


def test_the_commonest_values_get_columns():
    towns = [f"t{number:02d}" for number in range(60) for _ in range(number + 1)] + [None] * 30
    table = pa.table({"town": pa.array(towns, pa.string())})
    encoder = make_encoder({"town": "category"}, table).fit(table)
    names = encoder.get_feature_names_out().tolist()
    common = sorted([f"town_t{number:02d}" for number in range(60)][12:])
    assert names == [*common, "town_None", "town_infrequent_sklearn"]
    by_hand = [f"town_{town}" if f"town_{town}" in names else names[-1] for town in towns]
    found = [names[at] for at in encoder.transform(table).argmax(axis=1)]
    assert found == by_hand
    assert (encoder.transform(table).sum(axis=1) == 1).all()
    one_hot = encoder.named_transformers_["categories"]
    assert isinstance(one_hot, OneHotEncoder)
    assert len(one_hot.categories_[0]) == 50


@pytest.mark.parametrize("people", [FEWEST_PEOPLE - 1, FEWEST_PEOPLE])
def test_columns_are_left_out_if_nearly_all_values_are_rare(people):
    notes = []
    towns = [town for town in range(10) for _ in range(people)]
    table = pa.table({"town": [str(town) for town in towns], "age": [1.0] * len(towns)})
    kinds = {"town": "category", "age": "number"}
    kept = without_names(kinds, table, [], notes.append)
    assert list(kept) == (["age"] if people < FEWEST_PEOPLE else ["town", "age"])
    assert bool(notes) == (people < FEWEST_PEOPLE)


@pytest.mark.parametrize(("learner", "words"), [("tree", "a leaf may"), ("logistic", None)])
def test_what_the_learner_keeps_is_said(run, data, learner, words):
    done = run("fit", data, *COLUMNS, "--learner", learner, "-o", "m.equipoise")
    assert done.code == 0
    assert ("of the training data, the" in done.err) == (words is not None)
    assert words is None or words in done.err

"""The data inside the package: what it holds, how it is laid out, how it is built."""

from __future__ import annotations

import doctest
import hashlib
import importlib.util
import os
import sys
import zipfile
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest

from equipoise.datasets import adult as adult_module
from equipoise.datasets import load_adult

ROOT = Path(__file__).parents[2]
SHARED = Path(os.environ.get("EQUIPOISE_SHARED_DATA", ROOT.parent / "shared" / "data"))
CATEGORICAL = {
    "workclass": (8, 2_799),
    "education": (16, 0),
    "marital_status": (7, 0),
    "occupation": (14, 2_809),
    "relationship": (6, 0),
    "race": (5, 0),
    "sex": (2, 0),
    "native_country": (41, 857),
}
NUMERIC = ["age", "education_num", "capital_gain", "capital_loss", "hours_per_week"]
GROUPS = {  # sensitive feature, value -> rows, positives
    ("sex", "Female"): (16_192, 1_769),
    ("sex", "Male"): (32_650, 9_918),
    ("sex_race4", "Female, White"): (13_027, 1_542),
    ("sex_race4", "Female, non-White"): (3_165, 227),
    ("sex_race4", "Male, White"): (28_735, 9_065),
    ("sex_race4", "Male, non-White"): (3_915, 853),
}


@pytest.fixture(scope="module")
def adult():
    return load_adult()


@pytest.fixture(scope="module")
def framed():
    pytest.importorskip("pandas", reason="as_frame=True needs pandas")
    return load_adult(as_frame=True)


def block(adult, name: str) -> np.ndarray:
    """Return the one-hot columns of one categorical feature."""
    return adult.data[:, [f.startswith(f"{name}=") for f in adult.feature_names]]


def test_the_page_of_the_documentation():
    result = doctest.testfile(str(ROOT / "docs" / "datasets.md"), module_relative=False)
    assert result.attempted > 3
    assert result.failed == 0


# What it holds


def test_counts(adult):
    assert adult.target.shape == (48_842,)
    assert adult.target.sum() == 11_687
    np.testing.assert_array_equal(np.unique(adult.target), [0, 1])
    np.testing.assert_array_equal(adult.target_names, ["<=50K", ">50K"])


@pytest.mark.parametrize(("feature", "value"), GROUPS)
def test_rows_and_positives_by_group(adult, feature, value):
    members = adult.sensitive[feature] == value
    assert (members.sum(), adult.target[members].sum()) == GROUPS[feature, value]


@pytest.mark.parametrize(("feature", "value"), GROUPS)
def test_description_states_the_rates_of_the_data(adult, feature, value):
    members = adult.sensitive[feature] == value
    stated = next(line for line in adult.DESCR.splitlines() if line.startswith(f"{value}  "))
    rate = f"{100 * adult.target[members].mean():.2f} %"
    assert stated.removeprefix(value).split(maxsplit=1) == [f"{members.sum():,}", rate]


def test_sensitive_features_agree_with_the_data(adult):
    sex, race = adult.sensitive["sex"], adult.sensitive["race"]
    names = adult.feature_names
    np.testing.assert_array_equal(sex == "Male", adult.data[:, names.index("sex=Male")])
    np.testing.assert_array_equal(race == "White", adult.data[:, names.index("race=White")])
    white = np.where(race == "White", "White", "non-White")
    crossed = [f"{s}, {w}" for s, w in zip(sex, white, strict=True)]
    np.testing.assert_array_equal(adult.sensitive["sex_race4"], crossed)


def test_split_is_the_published_one(adult):
    np.testing.assert_array_equal(adult.split, ["train"] * 32_561 + ["test"] * 16_281)


def test_weight_is_not_a_feature(adult):
    assert "fnlwgt" not in adult.feature_names
    assert adult.weight.dtype == np.float64
    assert (adult.weight.min(), adult.weight.max()) == (12_285, 1_490_400)


def test_licence_and_source_are_stated(adult):
    for text in (
        adult.DESCR,
        load_adult.__doc__,
        (adult_module._FILE.parent / "README.md").read_text(),
    ):
        assert "10.24432/C5XW20" in text
        assert "CC BY 4.0" in text
        assert "Becker" in text


# How it is laid out


def test_memory_layout(adult):
    assert adult.data.dtype == np.float64
    assert adult.data.flags.c_contiguous
    assert adult.data.shape == (48_842, len(adult.feature_names)) == (48_842, 104)
    assert np.isfinite(adult.data).all()
    assert adult.target.dtype == np.int64
    assert {values.dtype.kind for values in adult.sensitive.values()} == {"U"}
    assert adult.frame is None


@pytest.mark.parametrize("name", CATEGORICAL)
def test_one_hot_block_has_one_1_per_row_and_none_where_missing(adult, name):
    n_values, n_missing = CATEGORICAL[name]
    one_hot = block(adult, name)
    assert one_hot.shape[1] == n_values
    assert set(np.unique(one_hot)) == {0.0, 1.0}
    ones = one_hot.sum(axis=1)
    assert np.bincount(ones.astype(int), minlength=2).tolist() == [n_missing, 48_842 - n_missing]
    assert one_hot.any(axis=0).all()


def test_return_pair(adult):
    X, y = load_adult(return_X_y=True)
    np.testing.assert_array_equal(X, adult.data)
    np.testing.assert_array_equal(y, adult.target)


def test_arrays_are_the_callers_own(adult):
    spoiled = load_adult()
    spoiled.feature_names.clear()
    spoiled.data[:], spoiled.target[:], spoiled.sensitive["sex"][:] = 0, 0, ""
    assert load_adult().feature_names == adult.feature_names
    test_counts(load_adult())


def test_frames_are_the_callers_own(framed):
    spoiled = load_adult(as_frame=True)
    spoiled.feature_names.clear()
    spoiled.frame.loc[:, "age"] = 0
    assert load_adult(as_frame=True).feature_names == list(framed.data)
    assert load_adult(as_frame=True).data["age"].min() == 17


def test_frame_equals_arrays(adult, framed):
    assert (
        framed.feature_names
        == list(framed.data)
        == list(framed.frame.columns.drop(["fnlwgt", "income", "split", "label"]))
    )
    for name in NUMERIC:
        column = adult.data[:, adult.feature_names.index(name)]
        np.testing.assert_array_equal(framed.data[name], column)
        assert framed.data[name].dtype == np.int64
    for name in CATEGORICAL:
        column = framed.data[name]
        assert [f"{name}={value}" for value in column.cat.categories] == [
            f for f in adult.feature_names if f.startswith(f"{name}=")
        ]
        one_hot = column.to_numpy(dtype=object)[:, None] == column.cat.categories.to_numpy(object)
        np.testing.assert_array_equal(one_hot, block(adult, name))
    np.testing.assert_array_equal(framed.target, adult.target)
    np.testing.assert_array_equal(framed.weight, adult.weight)
    np.testing.assert_array_equal(framed.split, adult.split)
    assert list(framed.sensitive) == list(adult.sensitive)
    for name, values in adult.sensitive.items():
        np.testing.assert_array_equal(framed.sensitive[name].astype(str), values)


def test_frame_marks_missing_values(framed):
    missing = framed.frame.isna().sum()
    assert missing[missing > 0].to_dict() == {n: m for n, (_, m) in CATEGORICAL.items() if m}


def test_frame_equals_the_reference_copy(framed):
    pd = pytest.importorskip("pandas")
    pytest.importorskip("pyarrow", reason="the reference copy is a Parquet file")
    path = SHARED / "adult.parquet"
    if not path.exists():
        pytest.skip(f"no reference copy at {path}; set EQUIPOISE_SHARED_DATA to its folder")
    reference = pd.read_parquet(path)
    assert list(framed.frame) == list(reference)
    for name, expected in reference.items():
        found = framed.frame[name].astype(object).where(framed.frame[name].notna(), "?")
        expected = expected.astype(object).where(expected.notna(), "?")
        np.testing.assert_array_equal(found, expected, err_msg=name)


def test_arrays_need_no_pandas(monkeypatch):
    monkeypatch.setitem(sys.modules, "pandas", None)
    test_counts(load_adult())
    with pytest.raises(ImportError, match="pip install pandas"):
        load_adult(as_frame=True)


# What a damaged file says


def damage(tmp_path: Path, **replace: np.ndarray | None) -> Path:
    """Write a copy of the data file with some arrays replaced, or dropped if None."""
    arrays = dict(np.load(adult_module._FILE)) | replace
    path = tmp_path / "adult.npz"
    np.savez(path, **{name: array for name, array in arrays.items() if array is not None})
    return path


def truncated(tmp_path: Path) -> Path:
    path = tmp_path / "adult.npz"
    path.write_bytes(adult_module._FILE.read_bytes()[:100_000])
    return path


def bit_flipped(tmp_path: Path) -> Path:
    path = tmp_path / "adult.npz"
    content = bytearray(adult_module._FILE.read_bytes())
    content[20_000] ^= 1
    path.write_bytes(content)
    return path


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda tmp: damage(tmp, income=np.zeros(48_842, np.int8)), "11,687 .* found 0"),
        (lambda tmp: damage(tmp, age=np.zeros(48_841, np.int8)), "48,842 rows .*'age': 48841"),
        (lambda tmp: damage(tmp, race=None), "48,842 rows of .*, race, .* found"),
        (truncated, "expected a NumPy archive, found File is not a zip file"),
        (bit_flipped, "expected a NumPy archive, found"),
        (lambda tmp: tmp / "adult.npz", "No such file"),
    ],
    ids=["positives", "rows", "column", "truncated", "bit flipped", "missing"],
)
def test_damaged_file(tmp_path, monkeypatch, make, message):
    monkeypatch.setattr(adult_module, "_FILE", make(tmp_path))
    with pytest.raises(OSError, match=message) as raised:
        load_adult()
    assert "adult.npz of equipoise is damaged" in str(raised.value)
    assert "pip install --force-reinstall" in str(raised.value)


# How it is built


HEADER = "age,workclass,fnlwgt,education-num,race,income-per-year"
RAW = {
    "train.csv": f"{HEADER}\n39,Private,77516,13,White,<=50K\n128,?,83311,7,Black,>50K\n",
    "test.csv": f"{HEADER}\n25,State-gov,226802,9,White,>50K\n",
}


@pytest.fixture
def builder(monkeypatch) -> ModuleType:
    """tools/build_adult.py, expecting the members of the tiny archive."""
    spec = importlib.util.spec_from_file_location("build_adult", ROOT / "tools" / "build_adult.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    digests = {name: hashlib.sha256(text.encode()).hexdigest() for name, text in RAW.items()}
    members = {name.removesuffix(".csv"): (name, digest) for name, digest in digests.items()}
    monkeypatch.setattr(module, "MEMBERS", members)
    return module


def make_archive(folder: Path, raw: dict[str, str]) -> str:
    path = folder / "tiny.whl"
    with zipfile.ZipFile(path, "w") as archive:
        for name, text in raw.items():
            archive.writestr(name, text)
    return str(path)


def test_build_encodes_values(builder, tmp_path):
    output = tmp_path / "tiny.npz"
    builder.main([make_archive(tmp_path, RAW), "--output", str(output)])
    arrays = dict(np.load(output, allow_pickle=False))
    assert list(arrays) == [
        *("age", "workclass", "workclass.categories", "fnlwgt", "education_num"),
        *("race", "race.categories", "income", "income.categories", "split", "split.categories"),
    ]
    assert {name: arrays[name].tolist() for name in ("age", "workclass", "income", "split")} == {
        "age": [39, 128, 25],
        "workclass": [0, -1, 1],
        "income": [0, 1, 1],
        "split": [1, 1, 0],
    }
    assert arrays["workclass.categories"].tolist() == ["Private", "State-gov"]
    assert arrays["split.categories"].tolist() == ["test", "train"]
    dtypes = [arrays[name].dtype for name in ("education_num", "age", "fnlwgt", "workclass")]
    assert dtypes == [np.int8, np.int16, np.int32, np.int8]


def test_build_gives_the_same_bytes_each_time(builder, tmp_path, monkeypatch):
    archive = make_archive(tmp_path, RAW)
    builder.main([archive, "--output", str(tmp_path / "first.npz")])
    monkeypatch.setenv("SOURCE_DATE_EPOCH", "1000000000")
    monkeypatch.setattr("time.time", lambda: 2e9)
    monkeypatch.setattr("sys.platform", "win32")
    builder.main([archive, "--output", str(tmp_path / "second.npz")])
    assert (tmp_path / "first.npz").read_bytes() == (tmp_path / "second.npz").read_bytes()


def test_build_refuses_other_members_and_writes_nothing(builder, tmp_path):
    output = tmp_path / "tiny.npz"
    archive = make_archive(tmp_path, RAW | {"test.csv": RAW["test.csv"].replace("25", "26")})
    with pytest.raises(
        SystemExit, match=r"test\.csv .* has sha256 .*, expected .*: pass the wheel"
    ):
        builder.main([archive, "--output", str(output)])
    assert not output.exists()


def test_check(builder, tmp_path, capsys):
    output, archive = tmp_path / "tiny.npz", make_archive(tmp_path, RAW)
    check = [archive, "--check", "--output", str(output)]
    with pytest.raises(SystemExit, match="differs from a fresh build"):
        builder.main(check)
    assert not output.exists()

    builder.main([archive, "--output", str(output)])
    builder.main(check)
    assert "up to date" in capsys.readouterr().out

    arrays = dict(np.load(output))
    arrays["age"][0] += 1
    output.write_bytes(builder.pack(arrays))
    with pytest.raises(SystemExit, match="differs from a fresh build"):
        builder.main(check)

    output.write_bytes(b"not an archive")
    with pytest.raises(SystemExit, match="differs from a fresh build"):
        builder.main(check)


def test_the_file_in_the_package_is_packed_by_the_builder(builder):
    packed = builder.pack(dict(np.load(adult_module._FILE, allow_pickle=False)))
    assert builder.is_up_to_date(adult_module._FILE, packed)
    assert len(packed) < 700_000

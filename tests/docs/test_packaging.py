"""What pyproject.toml promises about versions is what the tests are run with."""

import re
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
EXTRAS = PROJECT["optional-dependencies"]

# Installed by `make oldest`; xgboost is left out there for its size.
TRIED = PROJECT["dependencies"] + EXTRAS["frames"] + EXTRAS["plot"] + EXTRAS["files"]
TRIED += EXTRAS["report"]
TRIED += [need for need in EXTRAS["cli"] + EXTRAS["onnx"] if not need.startswith("equipoise")]
TRIED += [need for need in EXTRAS["boosting"] + EXTRAS["test"] if need.startswith(("l", "f"))]


def lower_bounds(needs):
    split = (re.fullmatch(r"([\w-]+)>=([\d.]+)", need) for need in needs)
    return {match[1]: match[2] for match in split}


def pins():
    lines = (ROOT / "tests" / "oldest.txt").read_text(encoding="utf-8").splitlines()
    return dict(line.split("==") for line in lines if line and not line.startswith("#"))


def test_runtime_dependencies_are_the_four():
    assert set(lower_bounds(PROJECT["dependencies"])) == {
        "numpy",
        "scipy",
        "scikit-learn",
        "narwhals",
    }


def test_the_oldest_versions_are_the_lower_bounds():
    def numbers(version):
        parts = [int(part) for part in version.split(".")]
        return parts + [0] * (3 - len(parts))

    bounds = lower_bounds(TRIED)
    assert {name: numbers(version) for name, version in pins().items()} == {
        name: numbers(version) for name, version in bounds.items()
    }


@pytest.mark.parametrize("name", ["Makefile", ".ci/run", "tests/oldest.txt"])
def test_no_package_index_is_named(name):
    text = (ROOT / name).read_text(encoding="utf-8")
    assert "://" not in text
    assert "index-url" not in text


def test_uv_looks_where_pip_is_configured_to(monkeypatch):
    monkeypatch.syspath_prepend(ROOT / "tools")
    from install import pip_settings, uv_options

    listed = "\n".join(
        [
            "global.find-links='/far'",
            ":env:.find-links='/near'",
            "global.timeout='60'",
            r"install.extra-index-url='file:///a\nfile:///b=1'",
            "global.extra-index-url='file:///c'",
            "global.no-index='true'",
        ]
    )
    extra = ["--extra-index-url", "file:///a", "--extra-index-url", "file:///b=1"]
    found = uv_options(pip_settings(listed))
    assert found[2:] == [*extra, "--find-links", "/near", "--no-index"]
    assert uv_options(pip_settings("")) == found[:2]


def test_the_citation_is_of_this_version():
    text = (ROOT / "CITATION.cff").read_text(encoding="utf-8")
    fields = dict(re.findall(r"^(version|license): (.+)$", text, flags=re.MULTILINE))
    assert fields == {"version": PROJECT["version"], "license": PROJECT["license"]}


def test_the_workflow_tries_every_python_that_is_promised():
    workflow = (ROOT / ".github" / "workflows" / "test.yml").read_text(encoding="utf-8")
    promised = re.findall(r":: (3\.\d+)", " ".join(PROJECT["classifiers"]))
    assert re.findall(r'"(3\.\d+)"', workflow) == promised

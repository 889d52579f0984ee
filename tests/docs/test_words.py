"""One word for each thing: pages and messages use those of the glossary."""

import re
from pathlib import Path

import pytest

import equipoise

ROOT = Path(__file__).resolve().parents[2]
SOURCE = Path(equipoise.__file__).parent
#: What is not said -> the word of the glossary, and the files that may say it nevertheless.
NOT_SAID = {
    r"discrepanc\w+": ("disparity", ()),
    r"unfairness": ("disparity or difference", ("docs/benchmarks.md",)),  # as a reference has it
    r"(fairness|parity|group|rate)[ -]gaps?": ("difference; a gap is a certificate's", ()),
    r"overshoot\w*|breach\w*": ("excess, exceeded", ()),
    r"most violated": ("of the largest excess", ()),
    r"cost of fairness": ("price", ()),
    r"fairness (tolerance|threshold|budget)": ("bound", ()),
    r"data points|fewer examples|examples of": ("people, or rows", ()),
    r"protected (group|attribute|feature)s?": ("group, sensitive feature", ()),
    r"people of the fit": ("people learned from", ()),
    r"if that can be\b|that were asked\b": ("where possible", ()),
}
#: The paper's own figures, in its own words.
LEFT_ALONE = "docs/experiments/"


def told():
    """Yield the name of each file whose words people read, and those words."""
    pages = [ROOT / "README.md", *(ROOT / "docs").rglob("*.md"), *(ROOT / "docs").rglob("*.rst")]
    pages += (SOURCE / "report" / "templates").glob("*.j2")
    for page in pages:
        if "_build" not in page.parts:
            yield str(page.relative_to(ROOT)), page.read_text(encoding="utf-8")
    for module in SOURCE.rglob("*.py"):
        text = module.read_text(encoding="utf-8")
        yield str(module.relative_to(ROOT)), "\n".join(re.findall(r'"[^"\n]*"', text))


@pytest.mark.parametrize("words", NOT_SAID)
def test_one_word_for_each_thing(words):
    instead, allowed = NOT_SAID[words]
    pattern = re.compile(rf"\b({words})\b", re.IGNORECASE)
    found = [
        f"{name}: {match[0]!r}; say {instead}"
        for name, text in told()
        if name not in allowed and not name.startswith(LEFT_ALONE)
        for match in pattern.finditer(" ".join(text.split()))
    ]
    assert not found, "\n".join(found)


def test_the_glossary_has_the_words_that_are_used():
    glossary = (ROOT / "docs" / "glossary.md").read_text(encoding="utf-8")
    headings = set(re.findall(r"^### (.*)$", glossary, re.M))
    words = ["Bound", "Violation", "Excess", "Disparity", "Difference", "Gap", "Price", "Headline"]
    assert headings >= set(words)
    for word in words:
        definition = glossary[glossary.index(f"### {word}\n") :].split("###")[1]
        assert len(definition.split()) > 10

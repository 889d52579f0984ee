"""The notebook of examples runs, and shows tables, pictures and the page."""

from pathlib import Path

import pytest

nbclient = pytest.importorskip("nbclient", reason="notebooks are run by nbclient: extra 'test'")
pytest.importorskip("ipykernel", reason="notebooks are run by ipykernel: extra 'test'")
nbformat = pytest.importorskip("nbformat")
for needed in ("matplotlib", "jinja2"):
    pytest.importorskip(needed)

NOTEBOOK = Path(__file__).parents[2] / "examples" / "fair_decisions.ipynb"


@pytest.fixture(scope="module")
def outputs():
    """Everything that the cells show, by a word of their code."""
    with pytest.MonkeyPatch.context() as patch:
        patch.delenv("EQUIPOISE_DATA", raising=False)  # on the data that are always there
        notebook = nbformat.read(NOTEBOOK, as_version=4)
        assert not any(cell.get("outputs") for cell in notebook.cells), "clear the outputs"
        nbclient.NotebookClient(notebook, timeout=600, kernel_name="python3").execute()
    return {cell.source: list(cell.outputs) for cell in notebook.cells if cell.cell_type == "code"}


def shown(outputs, code, kind):
    (found,) = (found for source, found in outputs.items() if code in source)
    return [output.data[kind] for output in found if kind in output.get("data", {})]


def test_nothing_is_printed_that_is_not_a_result(outputs):
    for source, found in outputs.items():
        assert not [output for output in found if output.output_type in ("stream", "error")], source


def test_results_are_tables(outputs):
    results = ("group_table", "certificate_", "model.report", "switched()", "points_", "explain")
    for code in (*results, "Monitor("):
        assert "<table>" in shown(outputs, code, "text/html")[-1], code
    certificate = shown(outputs, "certificate_", "text/html")[-1]
    assert "by at most 0.03" in certificate
    assert "color" not in certificate  # those of the notebook, light or dark


def test_a_fit_shows_its_progress(outputs):
    told = shown(outputs, "verbose=True", "text/html")[0]
    assert "calls" in told
    assert "gap" in told
    assert "<progress" not in told  # it has come to its end


def test_pictures_are_shown(outputs):
    for kind in ("GroupRates", "Switched", "Frontier", "Monitor"):
        assert len(shown(outputs, f"{kind}Display.from", "image/png")) == 1, kind


def test_the_page_is_shown_in_a_frame_of_its_own(outputs):
    (page,) = shown(outputs, "report_of(", "text/html")
    assert page.startswith("<iframe ")
    assert "allow-same-origin" not in page
    (text,) = shown(outputs, "report_of(", "text/plain")
    assert len(text) < 200

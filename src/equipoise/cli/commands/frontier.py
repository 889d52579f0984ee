"""``frontier``: the best classifier for every bound."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import Annotated, Any

from equipoise.cli import options as opt
from equipoise.cli.names import read_bounds
from equipoise.cli.terminal import Terminal


def frontier(
    *,
    table: opt.FeatureTable,
    bounds: Annotated[str | None, opt.option("Bounds to trace: 0.01,0.02 or 0.001:0.1:20.")] = None,
    training: opt.Training,
    max_iter: opt.MaxIter = 200,
    output: Annotated[Path, opt.option("The frontier file.", "--output", "-o")] = Path(
        "frontier.equipoise"
    ),
    page: Annotated[Path | None, opt.option("The report page; by default beside the file.")] = None,
    no_page: Annotated[bool, opt.option("Write no report page.", "--no-page")] = False,
    results: opt.Results,
) -> None:
    """Fit the best classifier for every bound.

    Prints the trade-off between error and fairness, and writes a frontier file, from which `at`
    picks a classifier without training, and a report page.
    """
    from equipoise.cli.model_files import check_outputs, write_model, write_page
    from equipoise.cli.result_tables import note_small, show_frontier
    from equipoise.cli.training import Training
    from equipoise.estimators.frontier import Frontier

    terminal = Terminal.current()
    page = None if no_page else page or output.with_suffix(".html")
    if training.is_regression():
        from equipoise.cli.regression import fit_numbers

        files: dict[str, Any] = {"output": output, "page": page, "results": results}
        rounds = max(max_iter, 2000)  # one question each
        fit_numbers(table, training, bounds=bounds, max_iter=rounds, traces=True, **files)
        return
    outputs = (output, page, training.held_out)
    force = check_outputs(*outputs, force=results.force, reads=[table.data])
    prepared = Training.from_options(table, training)
    traced = read_bounds(bounds)
    with prepared.open_data(terminal) as data:
        model = prepared.fit(Frontier, data, terminal, bounds=traced, max_iter=max_iter)
        contents = prepared.contents(model, data, results.of_file(output), terminal)
        data.write_held_out(training.held_out, force=force, terminal=terminal)
    show_frontier(terminal, contents)
    few, groups = results.suppress_below, contents.points[0].groups["training"]
    note_small(terminal, groups, few, min_size=prepared.compared_from)
    metadata = data.metadata(contents, training.seed, outputs, terminal)
    write_model(model, output, metadata, force=force, suppress_below=few, terminal=terminal)
    if page is not None:
        write_page(contents, page, force=force, terminal=terminal)
    terminal.say(f"Pick a classifier: equipoise at {shlex.quote(str(output))} --eps 0.02")
    written = {"file": str(output), "page": None if page is None else str(page)}
    terminal.emit({**written, "fits": model.n_calls_, **contents.to_dict()})
    prepared.end(terminal)

"""``frontier``: the best classifier for every bound."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import Annotated

from equipoise.cli import options as opt
from equipoise.cli import terminal
from equipoise.cli.names import read_bounds


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
    from equipoise.cli.training import Training

    page = None if no_page else page or output.with_suffix(".html")
    prepared = Training.of_options(table, training)
    if prepared.numeric:
        max_iter = max(max_iter, 2000)  # one question each
    given = {"bounds": read_bounds(bounds), "max_iter": max_iter}
    done = prepared.run([output, page], results, traces=True, **given)
    done.write(output, page)
    what, bound = prepared.pick
    terminal.say(f"Pick a {what}: equipoise at {shlex.quote(str(output))} --eps {bound}")
    files = {"file": str(output), "page": None if page is None else str(page)}
    fits = {} if prepared.numeric else {"fits": done.model.n_calls_}
    terminal.emit({**files, **fits, **done.contents.to_dict()})
    prepared.end()

"""Model files and report pages, as commands read and write them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from contextlib import suppress
from copy import copy
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from sklearn.base import clone

from equipoise.atomic_files import check_free, check_kind, new_file
from equipoise.cli import options as opt
from equipoise.cli import terminal
from equipoise.cli.spelling import spelled
from equipoise.cli.tables.encoding import FEWEST_PEOPLE, count_unknown
from equipoise.cli.tables.files import is_table
from equipoise.cli.tables.request import Columns
from equipoise.cli.terminal import command_line
from equipoise.estimators.frontier import Frontier
from equipoise.estimators.reductions import FairClassifier
from equipoise.estimators.regression.frontier import RegressionFrontier
from equipoise.estimators.regression.regressor import FairRegressor
from equipoise.exceptions import ModelFileError
from equipoise.files import load, read_manifest, save
from equipoise.files.manifest import date_made, versions
from equipoise.report.contents import ReportContents
from equipoise.report.regression import RegressionContents


@dataclass(frozen=True, eq=False)
class ModelFile:
    """A model file that was read: the model, and what the file says about its columns."""

    path: Path
    model: Any
    columns: Columns
    metadata: dict[str, Any]

    @property
    def seed(self) -> int | None:
        """The seed of the command that made the file."""
        return self.metadata.get("made", {}).get("seed")

    def count_unknown(self, table: Any) -> Counter:
        """Return how many people have a category that the model does not know, by column."""
        return count_unknown(self.model.estimator, table)

    def note_unknown(self, table: Any) -> None:
        """Note how many people of a table have categories that the model does not know."""
        note_unknown(self.count_unknown(table), table.num_rows)

    def compared_from(self, min_size: int | None) -> ModelFile:
        """Return the file with a model that is measured without groups of fewer people."""
        return replace(self, model=with_min_size(self.model, min_size))


def open_file(path: Path, trust: Sequence[str] | None) -> ModelFile:
    """Read a model file that a command has written."""
    if is_table(path):
        raise ValueError(
            f"{path.name} is a table; expected a model file here, one that fit, frontier or at has "
            "written. The model comes first, then the table."
        )
    check_kind(path)
    manifest = read_manifest(path)
    metadata = manifest["metadata"]
    if "columns" not in metadata:
        raise ValueError(
            f"{path} does not say which columns of a table it needs: it was not written by the "
            "command line. Use it from Python: equipoise.load(...)."
        )
    if metadata.get("made", {}).get("unfinished"):
        terminal.note(
            f"{path.name} is of a run that was interrupted: it holds what was found until then."
        )
    return ModelFile(
        path, load(path, trusted=trust or ()), Columns.from_dict(metadata["columns"]), metadata
    )


def open_classifier(
    path: Path,
    eps: float | None,
    trust: Sequence[str] | None,
    min_size: int | None = None,
    *,
    numbers: bool = False,
) -> ModelFile:
    """Read a classifier, or pick one from a frontier; with ``numbers`` it may be a regressor."""
    opened = open_file(path, trust)
    if opened.columns.numeric and not numbers:
        raise ValueError(f"{path} holds a regressor, which decides nothing; expected a classifier.")
    if isinstance(opened.model, (Frontier, RegressionFrontier)):
        if eps is None:
            raise ValueError(
                f"{path} is a frontier, which has a classifier for every bound; say which one with "
                "--eps."
            )
        return replace(opened, model=opened.model.at(eps)).compared_from(min_size)
    if not isinstance(opened.model, (FairClassifier, FairRegressor)):
        raise ValueError(f"{path} holds a {type(opened.model).__name__}; expected a classifier.")
    if eps is not None:
        raise ValueError(f"{path} is a classifier for one bound; --eps is for frontiers.")
    return opened.compared_from(min_size)


def note_unknown(found: Counter, people: int) -> None:
    """Note how many people have categories that a model does not know, by column."""
    if found:
        each = ", ".join(f"{name!r} ({count:,})" for name, count in sorted(found.items()))
        terminal.note(
            f"of {people:,} people, some have a category that fewer than {FEWEST_PEOPLE} people "
            f"had in the fit, or nobody; it counts as a rare one, or as none. By column: {each}."
        )


def with_min_size(model: Any, min_size: int | None) -> Any:
    """Return a model that is measured without groups of fewer people; itself if none are named."""
    if min_size is None:
        return model
    name = "constraint" if isinstance(model, Frontier) else "constraint_"
    constraint = getattr(model, name)
    if "min_size" not in constraint.get_params():
        raise ValueError(f"{spelled(constraint)} has no groups; leave --min-size out.")
    changed = copy(model)
    setattr(changed, name, clone(constraint).set_params(min_size=min_size))
    return changed


def note_untraced(frontier: Any, eps: float, certificate: Any) -> None:
    """Note a gap that is left since nobody searched at this bound."""
    traced = any(abs(point.eps - eps) <= 1e-5 * eps for point in frontier.points_)
    if not traced and not certificate.is_optimal():
        terminal.note(
            f"the bound {eps:g} was not traced: this is the best mixture of what was found for "
            "other bounds, and nothing was searched to close its gap. Trace it: frontier "
            f"--bounds {eps:g}"
        )


def write_model(
    model: Any,
    path: Path,
    metadata: dict[str, Any],
    results: opt.Results,
    *,
    evidence: bool = True,
) -> None:
    """Write a model file and say so; without evidence it has no report either."""
    if not evidence:
        metadata = {name: metadata[name] for name in ("columns", "made")}
    save(model, path, overwrite=results.force, metadata=metadata, evidence=evidence)
    terminal.say(f"Written: {path} ({path.stat().st_size:,} bytes)")
    for name, values in read_manifest(path)["keeps"].items():
        if name != "SimpleImputer":  # the median of each number, of all commands
            terminal.note(f"of the training data, the {name} in {path.name} keeps {values}.")


def made(seed: int | None, unfinished: Sequence[Path | None] = ()) -> dict[str, Any]:
    """Return how a file was made, for its manifest; after an interrupt, with all files written."""
    how = {"date": date_made(), "seed": seed, "command": command_line(), "versions": versions()}
    written = [str(path.resolve()) for path in unfinished if path is not None]
    return {**how, "unfinished": written} if written else how


def check_outputs(*paths: Path | None, force: bool, reads: Sequence[Path | None] = ()) -> bool:
    """Refuse names that are taken, given twice, or that the command ``reads``, before any work.

    Return whether files may be overwritten: because that is asked for, or because they are those
    that the same command wrote when it was interrupted.
    """
    named = [path for path in paths if path is not None]
    for path in named:
        check_kind(path)
    places = [path.resolve() for path in named]
    inputs = {path.resolve() for path in reads if path is not None}
    replaced = set() if force else _left_by_interrupt(places)
    for path, place in zip(named, places, strict=True):
        if places.count(place) > 1:
            raise ValueError(f"{path} is named for two files; expected a name for each.")
        if place in inputs:
            raise ValueError(
                f"{path} is read by this command, which would replace it; name another file."
            )
        check_free(path, overwrite=force or str(place) in replaced)
        if not path.parent.is_dir():
            raise FileNotFoundError(f"there is no folder {path.parent}; make it first.")
    return force or bool(replaced)


def _left_by_interrupt(places: Sequence[Path]) -> set[str]:
    """Return the files that the same command has written, if it was interrupted."""
    for place in places:
        with suppress(ModelFileError, OSError, AttributeError):  # other files are no model files
            how = read_manifest(place)["metadata"].get("made", {})
            if how.get("command") == command_line():
                return set(how.get("unfinished", ()))
    return set()


def write_page(contents: ReportContents | RegressionContents, path: Path, *, force: bool) -> None:
    """Write a report page and say so."""
    from equipoise.report import write_report

    with new_file(path, overwrite=force) as partial:
        write_report(partial, contents)
    terminal.say(f"Written: {path}")

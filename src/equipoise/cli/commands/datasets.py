"""``datasets``: the data sets of the package, listed or written to a file."""

from __future__ import annotations

from inspect import getdoc, signature
from pathlib import Path
from typing import Annotated, Any

import typer

from equipoise.cli import options as opt
from equipoise.cli import terminal
from equipoise.cli.names import near


def datasets(
    name: Annotated[str | None, typer.Argument(help="A data set to write to a file.")] = None,
    output: Annotated[
        Path | None, opt.option("CSV, Parquet or Arrow; by default NAME.csv.", "--output", "-o")
    ] = None,
    data_home: Annotated[Path | None, opt.option("A folder where the data may be already.")] = None,
    force: opt.Force = False,
    machine: opt.Json = False,
) -> None:
    """List data sets, or write one to a file."""
    from equipoise import datasets as sets
    from equipoise.cli.model_files import check_outputs
    from equipoise.cli.tables.files import TableWriter, format_of

    loaders = {loader.removeprefix("load_"): getattr(sets, loader) for loader in sets.__all__}
    if name is None:
        words = {key: (getdoc(loader) or "").splitlines()[0] for key, loader in loaders.items()}
        terminal.table("Data sets", ["name", "what it is"], [[k, v] for k, v in words.items()])
        terminal.emit({"datasets": words})
        return
    if name not in loaders:
        raise ValueError(
            f"there is no data set {name!r}.{near(name, list(loaders))} There are: "
            f"{', '.join(loaders)}."
        )
    output = Path(f"{name}.csv") if output is None else output
    format_of(output)
    check_outputs(output, force=force)
    bunch = _load(loaders[name], data_home)
    import pyarrow

    label = bunch.target.name
    grouped = [column for column in bunch.sensitive if column in bunch.frame]
    names = dict.fromkeys([*bunch.feature_names, *grouped, label])
    table = pyarrow.Table.from_pandas(bunch.frame[list(names)], preserve_index=False)
    with TableWriter(output, overwrite=force) as writer:
        writer.write({column: _plain(table.column(column)) for column in table.column_names})
    terminal.say(f"Written: {output} ({table.num_rows:,} rows)")
    terminal.say(f"Label: {label}. Sensitive: {', '.join(grouped)}.")
    terminal.emit(
        {"output": str(output), "rows": table.num_rows, "label": label, "sensitive": grouped}
    )


def _load(loader: Any, data_home: Path | None) -> Any:
    given = {"data_home": data_home} if "data_home" in signature(loader).parameters else {}
    return loader(as_frame=True, **given)


def _plain(column: Any) -> Any:
    """Return categories as text."""
    import pyarrow

    if pyarrow.types.is_dictionary(column.type):
        return column.cast(column.type.value_type)
    return column

"""The commands and how they are run."""

from __future__ import annotations

import sys
from collections.abc import Callable
from functools import wraps
from typing import Annotated, Any

import typer
from typer.core import TyperCommand

import equipoise
from equipoise.cli import terminal
from equipoise.cli.commands.at import at
from equipoise.cli.commands.audit import audit
from equipoise.cli.commands.certify import certify
from equipoise.cli.commands.datasets import datasets
from equipoise.cli.commands.demo import demo
from equipoise.cli.commands.fit import fit
from equipoise.cli.commands.frontier import frontier
from equipoise.cli.commands.monitor import monitor
from equipoise.cli.commands.predict import predict
from equipoise.cli.commands.report import report
from equipoise.cli.commands.reproduce import reproduce
from equipoise.cli.commands.select import select
from equipoise.cli.commands.verify import verify
from equipoise.cli.dask.cluster import with_address
from equipoise.cli.exits import DONE, EXCEEDED, NOT_DONE, explain, warnings_as_notes
from equipoise.cli.options import with_groups

app = typer.Typer(
    name="equipoise",
    help="Classifiers that are as accurate as fairness allows, with a certificate to prove it.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
)


def _version(wanted: bool) -> None:
    if wanted:
        print(f"equipoise {equipoise.__version__}")
        raise typer.Exit


@app.callback()
def _everything(
    version: Annotated[
        bool, typer.Option("--version", help="Print the version.", callback=_version, is_eager=True)
    ] = False,
) -> None:
    """Classifiers that are as accurate as fairness allows, with a certificate to prove it."""


class Command(TyperCommand):
    """A command whose option ``--dask`` may have a value or none."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Read the arguments."""
        return super().parse_args(ctx, with_address(args))


def guarded(command: Callable[..., None]) -> Callable[..., None]:
    """Return the command with its errors as sentences and its warnings as notes."""

    @wraps(command)
    def run_guarded(**given: Any) -> None:
        terminal.start(machine=bool(given.get("machine")))
        try:
            with warnings_as_notes():
                command(**given)
        except typer.Exit:
            raise
        except (Exception, KeyboardInterrupt) as error:
            raise typer.Exit(explain(error)) from None
        raise typer.Exit(terminal.running().code)

    return run_guarded


_DECIDING = (predict, select, certify, monitor, report)
for function in (audit, frontier, fit, at, *_DECIDING, verify, datasets, reproduce, demo):
    app.command(function.__name__, cls=Command)(guarded(with_groups(function)))


def run(arguments: list[str] | None = None) -> int:
    """Run a command line and return its exit code."""
    with terminal.outputs() as output:
        terminal.start(machine=False)
        code = _run(arguments)
        output.flush()
        if output.error is not None and not isinstance(output.error, BrokenPipeError):
            code = code or NOT_DONE
            reason = output.error.strerror or output.error
            print(f"Error: the standard output cannot be written: {reason}.", file=sys.stderr)
    return code


def _run(arguments: list[str] | None) -> int:
    """Return the exit code of a command line; 1 is used for an exceeded bound alone."""
    try:
        app(arguments)
    except SystemExit as end:
        if end.code == EXCEEDED != terminal.running().code:  # Typer's, as when it is interrupted
            return NOT_DONE
        return end.code if isinstance(end.code, int) else DONE if end.code is None else NOT_DONE
    except Exception as error:
        return explain(error)
    return DONE

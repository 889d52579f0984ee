"""``demo``: ordinary and fair models side by side, as a picture."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer


def demo(
    output: Annotated[Path, typer.Option("--output", "-o", help="Where the picture goes.")] = Path(
        "outputs/frontier.png"
    ),
) -> None:
    """Show ordinary and fair models side by side."""
    from equipoise.experiments.demo import main

    main(["--output", str(output)])

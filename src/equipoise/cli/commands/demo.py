"""``demo``: ordinary and fair models side by side, as a picture."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from equipoise.cli import options as opt


def demo(
    output: Annotated[Path, opt.option("Where the picture goes.", "--output", "-o")] = Path(
        "outputs/frontier.png"
    ),
) -> None:
    """Show ordinary and fair models side by side."""
    from equipoise.experiments.demo import load_people, report

    report(*load_people(), output)

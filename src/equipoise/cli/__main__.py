"""``python -m equipoise.cli``: the command line, where its script is not on the path."""

from equipoise.cli import main

main()

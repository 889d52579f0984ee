"""``python -m equipoise.experiments``."""

import sys

from equipoise.experiments.command import main

if __name__ == "__main__":
    sys.exit(main())

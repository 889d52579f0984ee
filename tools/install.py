"""Install packages for a Python: ``install.py PYTHON ARGUMENTS...``, arguments of ``pip install``.

uv does in seconds what takes pip minutes. Where it is not installed, or fails, pip does the work.
"""

import ast
import os
import subprocess
import sys
from importlib.util import find_spec

# Options of the same name and meaning in both. uv does not read pip's configuration.
SHARED = ("index-url", "extra-index-url", "find-links", "trusted-host", "constraint")


def pip_settings(listed: str) -> dict[str, str]:
    """Return what ``pip config list`` printed: the environment before [install] before [global]."""
    named = dict(line.split("=", 1) for line in listed.splitlines() if "=" in line)
    settings: dict[str, str] = {}
    for section in ("global.", "install.", ":env:."):
        found = {key for key in named if key.startswith(section)}
        settings |= {key.removeprefix(section): ast.literal_eval(named[key]) for key in found}
    return settings


def uv_options(settings: dict[str, str]) -> list[str]:
    """Return the options with which uv looks where pip would, and takes the version it would."""
    options = ["--index-strategy", "unsafe-best-match"]
    for name in SHARED:
        for value in settings.get(name, "").split():
            options += [f"--{name}", value]
    if settings.get("no-index", "no").lower() in ("yes", "true", "on", "1"):
        options.append("--no-index")
    return options


def with_uv(python: str, arguments: list[str]) -> bool:
    """Install with uv; return whether that worked."""
    if find_spec("uv") is None:
        return False
    listing = [sys.executable, "-m", "pip", "config", "list"]
    listed = subprocess.run(listing, capture_output=True, text=True, check=False)
    settings = pip_settings(listed.stdout)
    certificates = {"SSL_CERT_FILE": settings["cert"]} if "cert" in settings else {}
    command = [sys.executable, "-m", "uv", "pip", "install", "--quiet", "--python", python]
    command += uv_options(settings) + arguments
    return subprocess.run(command, env=certificates | os.environ, check=False).returncode == 0


def main(python: str, *arguments: str) -> int:
    """Install with uv, else with pip; return the exit code."""
    if with_uv(python, list(arguments)):
        return 0
    print("uv could not install this; pip does, which takes minutes.", file=sys.stderr)
    # Without compiling: most of what is installed is never imported.
    command = [python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
    return subprocess.run([*command, "--no-compile", *arguments], check=False).returncode


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))

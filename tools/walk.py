"""Follow one ``FairClassifier.fit`` through the files of the package, and print the way.

    python tools/walk.py                            prints the figures and the walk
    python tools/walk.py --write ARCHITECTURE.md    writes them between the markers of the page

What is counted:

- A *step* is a function of the package that is entered, or a generator that is resumed.
  Comprehensions, generator expressions and lambdas belong to the function that holds them. Code
  that runs because a module is imported is left out. Functions that these call are steps.
- A *change of file* is a step in another file than the step before. A *return* is a change into a
  file that was left before.
- A *round* goes from one call of `Pool.ask` to the next, which it includes. Shown is the round with
  the most changes. The fit is read with this round alone: what comes before the first round, the
  round, and what comes after the last.

The walk is printed as one reads it: a passage that is repeated at once is a loop and is shown once,
and properties and `len`, which read like attributes, are left out. The column *as read* has the
changes of file of this shorter walk.
"""

from __future__ import annotations

import argparse
import functools
import inspect
import re
import sys
from collections.abc import Callable, Iterator
from itertools import groupby, pairwise
from pathlib import Path
from types import CodeType, FrameType
from typing import Any, NamedTuple

import numpy as np
from sklearn.linear_model import LogisticRegression

import equipoise

SOURCE = Path(equipoise.__file__).parent
START, END = "<!-- walk -->\n", "<!-- end of walk -->"
WIDTH = 100


class Step(NamedTuple):
    """A function that is entered or resumed."""

    file: str
    function: str
    is_attribute: bool


class Walk(NamedTuple):
    """The way of a fit: what comes before its rounds, one of them, and what comes after."""

    before: list[Step]
    round: list[Step]
    after: list[Step]


def problem() -> Callable[[], Any]:
    """Return the fit of a small problem with two groups."""
    rng = np.random.default_rng(0)
    group = rng.integers(2, size=200)
    X = np.column_stack([rng.normal(size=(200, 2)), group])
    y = (X[:, 0] + group + rng.normal(size=200) > 0.5).astype(int)
    model = equipoise.FairClassifier(LogisticRegression(), equipoise.DemographicParity(eps=0.05))
    return functools.partial(model.fit, X, y, sensitive_features=group)


def follow(fit: Callable[[], Any]) -> Walk:
    """Return the walk of a fit, every step of it."""
    calls: list[tuple[CodeType, CodeType | None]] = []

    def watch(frame: FrameType, event: str, _: Any) -> None:
        if event == "call" and is_function(frame.f_code) and not is_importing(frame):
            calls.append((frame.f_code, caller(frame)))

    sys.setprofile(watch)
    try:
        fit()
    finally:
        sys.setprofile(None)
    attributes = set(attribute_codes())
    steps = [step_of(code, code in attributes) for code, _ in calls]
    ask = inspect.unwrap(vars(pool_class())["ask"]).__code__
    asked = [i for i, (code, _) in enumerate(calls) if code is ask]
    # The solver, which asks, is resumed once more after the last round.
    solvers = {calls[i][1] for i in asked}
    last = max(i for i, (code, _) in enumerate(calls) if code in solvers or code is ask)
    rounds = [steps[start : end + 1] for start, end in pairwise(asked)]
    return Walk(steps[: asked[0]], max(rounds, key=changes), steps[last + 1 :])


def pool_class() -> type:
    """Return the class `Pool`, wherever it is."""
    pools = {
        module.Pool
        for name, module in list(sys.modules.items())
        if name.startswith("equipoise.") and inspect.isclass(getattr(module, "Pool", None))
    }
    (pool,) = pools
    return pool


def is_function(code: CodeType) -> bool:
    """Say whether this is a function with a name, in a file of the package."""
    return code.co_filename.startswith(f"{SOURCE}/") and not code.co_name.startswith("<")


def is_importing(frame: FrameType) -> bool:
    """Say whether the frame runs because a module of the package is imported."""
    return any(
        outer.f_code.co_name == "<module>" and outer.f_code.co_filename.startswith(f"{SOURCE}/")
        for outer in outwards(frame)
    )


def outwards(frame: FrameType) -> Iterator[FrameType]:
    """Yield the frames around a frame."""
    while frame.f_back is not None:
        frame = frame.f_back
        yield frame


def caller(frame: FrameType) -> CodeType | None:
    """Return the function of the package that called."""
    return next((outer.f_code for outer in outwards(frame) if is_function(outer.f_code)), None)


def attribute_codes() -> Iterator[CodeType]:
    """Yield the code of properties and of ``__len__``, which read like attributes."""
    for name, module in list(sys.modules.items()):
        if not name.startswith("equipoise"):
            continue
        for cls in vars(module).values():
            for member in vars(cls).values() if inspect.isclass(cls) else ():
                if isinstance(member, property) and member.fget is not None:
                    yield member.fget.__code__
                elif isinstance(member, functools.cached_property):
                    yield member.func.__code__
                elif inspect.isfunction(member) and member.__name__ == "__len__":
                    yield member.__code__


def step_of(code: CodeType, is_attribute: bool) -> Step:
    """Return the step that this code is."""
    file = Path(code.co_filename).relative_to(SOURCE).as_posix()
    return Step(file, re.sub(r"\b\w+\.<locals>\.", "", code.co_qualname), is_attribute)


def as_read(steps: list[Step]) -> list[Step]:
    """Return the steps without attributes, each passage that is repeated at once read once."""
    steps = [step for step in steps if not step.is_attribute]
    length = 1
    while 2 * length <= len(steps):
        place = 0
        while place + 2 * length <= len(steps):
            middle, end = place + length, place + 2 * length
            if steps[place:middle] == steps[middle:end]:
                steps, length = steps[:middle] + steps[end:], 1
            else:
                place += 1
        length += 1
    return steps


def visits(steps: list[Step]) -> list[str]:
    """Return the files in the order in which they are visited."""
    return [file for file, _ in groupby(step.file for step in steps)]


def changes(steps: list[Step]) -> int:
    """Return the number of changes of file."""
    return len(visits(steps)) - 1


def figures(steps: list[Step]) -> dict[str, int]:
    """Return what is counted, by the names of the columns."""
    files = len(set(visits(steps)))
    return {
        "steps": len(steps),
        "files": files,
        "changes": changes(steps),
        "returns": changes(steps) + 1 - files,
        "as read": changes(as_read(steps)),
    }


def lines_of(title: str, steps: list[Step]) -> Iterator[str]:
    """Yield the steps as text: a line a visit of a file."""
    yield title
    margin = max((len(step.file) for step in steps), default=0) + 2
    for file, visit in groupby(steps, key=lambda step: step.file):
        line = "  " + file.ljust(margin)
        names = [name for name, _ in groupby(step.function for step in visit)]
        for i, name in enumerate(names):
            word = name + (", " if i + 1 < len(names) else "")
            if len(line + word.rstrip()) > WIDTH:
                yield line.rstrip()
                line = " " * (margin + 2)
            line += word
        yield line.rstrip()


def report(walk: Walk) -> str:
    """Return the figures and the walk as text."""
    parts = {
        "the fit, with one round": [*walk.before, *walk.round, *walk.after],
        "before the first round": walk.before,
        "one round": walk.round,
        "after the last round": walk.after,
    }
    table = {title: figures(steps) for title, steps in parts.items()}
    names = next(iter(table.values()))
    lines = [" " * 25 + "".join(name.rjust(9) for name in names)]
    for title, row in table.items():
        lines.append(title.ljust(25) + "".join(str(number).rjust(9) for number in row.values()))
    for title in list(parts)[1:]:
        lines += ["", *lines_of(title, as_read(parts[title]))]
    return "\n".join(lines) + "\n"


def written(page: str, text: str) -> str:
    """Return the page with the text between its markers."""
    head, found, rest = page.partition(START)
    _, closed, tail = rest.partition(END)
    if not found or not closed:
        raise ValueError(f"the page needs a line {START.strip()!r} and, after it, a line {END!r}")
    return f"{head}{START}\n```text\n{text}```\n\n{END}{tail}"


def main(argv: list[str] | None = None) -> None:
    """Print the walk, or write it into a page."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--write", type=Path, metavar="PAGE", help="write it into this page")
    options = parser.parse_args(argv)
    text = report(follow(problem()))
    if options.write is None:
        print(text, end="")
    else:
        page = options.write.read_text(encoding="utf-8")
        options.write.write_text(written(page, text), encoding="utf-8")


if __name__ == "__main__":
    main()

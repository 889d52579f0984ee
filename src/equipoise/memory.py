"""Free memory of this machine, and an error before work starts that needs more."""

from __future__ import annotations

from pathlib import Path

_MEMINFO = Path("/proc/meminfo")
_CGROUP = Path("/sys/fs/cgroup")


def free_memory() -> float:
    """Return the bytes that this process can still take; infinity where that is not known.

    Linux tells; a limit of the container counts where there is one.

    >>> free_memory() > 0
    True
    """
    return min(_free_of_machine(), _free_of_container())


def check_room(needed: float, purpose: str, advice: str) -> None:
    """Raise a MemoryError, with advice, where more bytes are needed than are free."""
    free = free_memory()
    if needed > free:
        raise MemoryError(
            f"{purpose} would take about {needed / 1e9:,.3g} GB of memory, and {free / 1e9:,.3g} "
            f"GB are free. {advice}"
        )


def _free_of_machine() -> float:
    try:
        lines = _MEMINFO.read_text(encoding="ascii").splitlines()
    except OSError:
        return float("inf")
    amounts = [line.split()[1] for line in lines if line.startswith("MemAvailable:")]
    return 1024.0 * float(amounts[0]) if amounts else float("inf")


def _free_of_container() -> float:
    try:
        limit = (_CGROUP / "memory.max").read_text(encoding="ascii").strip()
        used = (_CGROUP / "memory.current").read_text(encoding="ascii").strip()
    except OSError:
        return float("inf")
    return float("inf") if limit == "max" else max(float(limit) - float(used), 0.0)

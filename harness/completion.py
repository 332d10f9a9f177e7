"""What a shell may offer in the place of an argument: studies, engines, settings, orders of ties.

Asked at every press of the tab key, so nothing here imports more than numpy.
"""

from __future__ import annotations

from pathlib import Path


def complete_study() -> list[str]:
    """The names of the finished studies below the working directory."""
    return sorted(path.parent.name for path in Path("studies").glob("*/summary.json"))


def complete_shared() -> list[str]:
    """The names of the studies below the working directory that workers may join, or have joined."""
    return sorted(path.parent.name for path in Path("studies").glob("*/storage.json"))


def complete_target() -> list[str]:
    """The engines that `export` knows, and the plain forms."""
    from harness.exports import EXPORTS

    return list(EXPORTS)


def complete_setting() -> list[str]:
    """The settings of a study."""
    from harness.exports import SETTINGS

    return list(SETTINGS)


def complete_ties() -> list[str]:
    """The orders of equal scores."""
    from harness.files import RUN_TIES

    return list(RUN_TIES)

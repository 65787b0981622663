"""A package of its own, as pip would install it: the modules, and a record of its entry points."""

from __future__ import annotations

import shutil
import tomllib
from pathlib import Path

EXAMPLE = Path(__file__).parents[2] / "docs" / "examples" / "arroyo-sqlite"


def install_example(site: Path) -> Path:
    """Put the example of docs/how-to/write-a-connector.md into a folder for `PYTHONPATH`."""
    project = tomllib.loads((EXAMPLE / "pyproject.toml").read_text())
    for package in project["tool"]["setuptools"]["packages"]:
        shutil.copytree(EXAMPLE / package, site / package)
    return install(site, project["project"]["name"], project["project"]["entry-points"]["arroyo.connectors"])


def install(site: Path, package: str, connectors: dict[str, str]) -> Path:
    """Record a package with these entry points in a folder for `PYTHONPATH`."""
    record = site / f"{package.replace('-', '_')}-0.1.0.dist-info"
    record.mkdir(parents=True)
    (record / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {package}\nVersion: 0.1.0\n")
    lines = [f"{name} = {value}\n" for name, value in connectors.items()]
    (record / "entry_points.txt").write_text("[arroyo.connectors]\n" + "".join(lines))
    return site

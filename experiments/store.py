"""One file per unit, written whole or not at all; what its sources were, so that age shows."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

import rpte
from experiments.protocol import Unit
from rpte.utils.output import write_text

HERE = Path(__file__).parent
UNITS = HERE / "units"
LIBRARY = Path(rpte.__file__).parent
COUNTING = ("audit/load.py", "audit/terms.py", "columns/units.py")
COUNTING += ("audit/columns.py", "audit/metrics.py", "audit/families")
LEARNER = ("estimators/classifier.py", "estimators/parameters.py", "fit", "selection", "rows")
LEARNER += ("published", "utils/growable.py", "columns", "estimation", "kernels", "structure")
LEARNER += ("table", "vocabulary", "model/model.py", "model/parts.py")
OWN = ("data.py", "performance.py")
RULES = ("rules.py", "rule_models.py", "sirus.py")
PEERS = HERE.parent / "benchmarks" / "peers.py"


@cache
def fingerprint(kind: str) -> str:
    """Return a hash of the source files that a kind of unit depends on.

    Parameters
    ----------
    kind : {"ours", "peer", "rules", "ablation", "alignment", "substitutes"}
    """
    own = [*(HERE / name for name in OWN), PEERS]
    library = [LIBRARY / name for name in COUNTING]
    if kind == "rules":
        own += [HERE / name for name in RULES]
    elif kind != "peer":
        library += [LIBRARY / name for name in LEARNER]
        own += [HERE / "rules.py"]
        own += [HERE / "stages.py", HERE / f"{kind}.py"] if kind != "ours" else []
    found = hashlib.sha256()
    for file in _files([*own, *library]):
        found.update(file.name.encode() + b"\0" + file.read_bytes() + b"\0")
    return found.hexdigest()[:16]


def _files(places: list[Path]) -> Iterator[Path]:
    for place in places:
        yield from sorted(place.rglob("*.py")) if place.is_dir() else [place]


def package(name: str) -> str:
    """Return a package and its version; just the name where it is not installed."""
    try:
        return f"{name} {version(name)}"
    except PackageNotFoundError:
        return name


@dataclass(frozen=True)
class Store:
    """The folder of units."""

    folder: Path = UNITS

    def read(self, unit: Unit) -> dict[str, Any] | None:
        """Return the record of a unit, None if there is none."""
        path = self.folder / unit.path
        return json.loads(path.read_text()) if path.exists() else None

    def write(self, unit: Unit, record: dict[str, Any]) -> None:
        """Keep the record of a unit."""
        path = self.folder / unit.path
        path.parent.mkdir(parents=True, exist_ok=True)
        write_text(json.dumps({**unit.to_dict(), **record}, allow_nan=False) + "\n", path)

    def records(self) -> Iterator[dict[str, Any]]:
        """Return all records, by path."""
        for path in sorted(self.folder.rglob("*.json")):
            yield json.loads(path.read_text())

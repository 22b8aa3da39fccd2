"""Sets by name from PMLB and OpenML, kept in a cache and checked against known checksums.

RPTE_PMLB and RPTE_OPENML change the servers, RPTE_CACHE the folder of the cache. The first download
of a file that is not on the list of checksums is trusted and its checksum kept beside it; any other
content under the same name is refused from then on.
"""

from __future__ import annotations

import gzip
import hashlib
import io
import json
import os
import urllib.request
from pathlib import Path

import numpy as np
import pandas as pd

from rpte.utils.output import write_bytes, write_text

PMLB = "https://github.com/EpistasisLab/pmlb/raw/master/datasets"
OPENML = "https://www.openml.org"
KNOWN = Path(__file__).with_name("checksums.json")
RENAMED = {"heart_c": "_deprecated_heart_c", "wdbc": "_deprecated_wdbc"}
ONES = {"hepatitis": 1, "haberman": 2, "postoperative_patient_data": 2}  # PMLB code of label 1
Loaded = tuple[pd.DataFrame, np.ndarray]


def cache() -> Path:
    """Return the folder of the cache."""
    return Path(os.environ.get("RPTE_CACHE", Path.home() / ".cache" / "rpte-experiments"))


def fetch(url: str, name: str) -> bytes:
    """Return a file from the cache, or download it; the checksum must be the known one."""
    path = cache() / name
    known = json.loads(KNOWN.read_text()).get(name)
    beside = path.with_name(path.name + ".sha256")
    if known is None and beside.exists():
        known = beside.read_text().strip()
    if path.exists():
        content = path.read_bytes()
    else:
        with urllib.request.urlopen(url, timeout=60) as answer:
            content = answer.read()
    found = hashlib.sha256(content).hexdigest()
    if known not in (None, found):
        raise ValueError(
            f"{name} has the checksum {found}, expected {known}; delete {path} and try again, or "
            "look at what changed at its source"
        )
    if not path.exists():
        path.parent.mkdir(parents=True, exist_ok=True)
        write_bytes(content, path)
        write_text(found + "\n", beside)
    return content


def pmlb(name: str) -> Loaded:
    """Return a set of PMLB with two classes; of the two codes the larger is 1 unless stated."""
    place = RENAMED.get(name, name)
    url = f"{os.environ.get('RPTE_PMLB', PMLB)}/{place}/{place}.tsv.gz"
    content = fetch(url, f"pmlb/{name}.tsv.gz")
    table = pd.read_csv(io.BytesIO(gzip.decompress(content)), sep="\t")
    return table.drop(columns="target"), _binary(name, table["target"])


def _binary(name: str, label: pd.Series) -> np.ndarray:
    codes = sorted(label.unique())
    if len(codes) != 2:
        raise ValueError(f"{name} has the labels {codes[:5]}; a set needs two classes")
    return (label == ONES.get(name, codes[1])).to_numpy().astype(np.int64)


def openml(number: str) -> Loaded:
    """Return a set of OpenML by its number; the label is its default target."""
    base = os.environ.get("RPTE_OPENML", OPENML)
    if not number.isdigit():
        raise ValueError(f"openml:{number}; give the number of the data set, such as openml:37")
    about = fetch(f"{base}/api/v1/json/data/{number}", f"openml/{number}.json")
    description = json.loads(about)["data_set_description"]
    url = f"{base}/data/v1/download/{description['file_id']}"
    table = _arff(fetch(url, f"openml/{number}.arff").decode())
    target = description["default_target_attribute"]
    return table.drop(columns=target), _binary(f"openml:{number}", table[target])


def _arff(text: str) -> pd.DataFrame:
    from scipy.io import arff

    rows, _ = arff.loadarff(io.StringIO(text))
    table = pd.DataFrame(rows)
    texts = [name for name in table if table[name].dtype == object]
    for name in texts:
        decoded = table[name].str.decode("utf-8")
        table[name] = decoded.where(decoded != "?")
    return table

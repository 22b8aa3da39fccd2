"""Compiled kernels in one file, which come with the package or from `rpte compile`.

A kernel that is there need not be compiled on first use. The file is a ZIP archive: `index.json`
says for what it was compiled and which kernels it holds, by name and types of arguments. It is
read only where all of that fits; otherwise kernels are compiled as they are called. They do the
same arithmetic for every processor, so models do not depend on where kernels come from.
"""

import json
import os
import pickle
import platform
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cache
from hashlib import sha256
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any
from zipfile import BadZipFile, ZipFile

import llvmlite
import numba
import numpy as np
from llvmlite.binding import get_host_cpu_features
from numba.core import config
from numba.misc.appdirs import AppDirs

from rpte.utils.output import writing

HERE = Path(__file__).parent
FILE = f"compiled.{sys.implementation.cache_tag}.zip"
INDEX = "index.json"
SWITCH = "RPTE_COMPILED_KERNELS"  # environment variable: 0 to compile for the processor at hand
# What processors of PCs have since about 2013; LLVM knows them as x86-64-v3.
FEATURES = ("avx2", "bmi", "bmi2", "f16c", "fma", "lzcnt", "movbe", "popcnt")
COMMON, ANY = "x86-64-v3", "generic"  # processors to compile for; any of an architecture


@dataclass(frozen=True, slots=True)
class CompiledKernels:
    """What a file of compiled kernels holds, or why it is of no use here."""

    path: Path | None = None
    entries: dict[str, str] = field(default_factory=dict)
    refused: str = ""

    def read(self, name: str) -> Any:
        """Return what numba stores of a kernel and the types of its arguments, None if not here."""
        if self.path is None or name not in self.entries:
            return None
        with ZipFile(self.path) as file:
            return pickle.loads(file.read(self.entries[name]))


@cache
def hash_of_sources() -> str:
    """Hash the source of all kernels: each holds those that it calls, wherever they are written."""
    return sha256(b"".join(file.read_bytes() for file in sorted(HERE.glob("*.py")))).hexdigest()


def processor() -> str:
    """Return for which processors kernels are compiled: those like this one, or any."""
    here = get_host_cpu_features()
    return COMMON if all(here.get(name) for name in FEATURES) else ANY


@cache
def environment() -> dict[str, str]:
    """Return what compiled kernels depend on, as it is here."""
    return {
        "kernels": hash_of_sources()[:16],
        "numba": numba.__version__,
        "llvmlite": llvmlite.__version__,
        "numpy": ".".join(np.__version__.split(".")[:2]),
        "Python": f"{sys.implementation.cache_tag}{getattr(sys, 'abiflags', '')}",
        "platform": f"{sys.platform}-{platform.machine()}",
        "processor": config.CPU_NAME or processor(),
        "vector library": "SVML" if config.USING_SVML else "none",
    }


def places() -> tuple[Path, Path]:
    """Return where compiled kernels may be: in the package, or in the user's cache of numba."""
    users = Path(config.CACHE_DIR or AppDirs("numba", appauthor=False).user_cache_dir)
    text = json.dumps(environment())
    return HERE / FILE, users / f"rpte-{sha256(text.encode()).hexdigest()[:16]}.zip"


@cache
def compiled_kernels() -> CompiledKernels:
    """Find the first file of compiled kernels that fits; without one, say why none does."""
    if os.environ.get(SWITCH) == "0":
        return CompiledKernels(refused=f"{SWITCH}=0")
    if config.CPU_NAME or config.CPU_FEATURES:
        return CompiledKernels(refused="NUMBA_CPU_NAME or NUMBA_CPU_FEATURES is set")
    tried = [opened(path) for path in places()]
    return min(tried, key=lambda found: (found.path is None, not found.refused))


def opened(path: Path) -> CompiledKernels:
    """Read the index of a file of compiled kernels."""
    try:
        with ZipFile(path) as file:
            index = json.loads(file.read(INDEX))
    except FileNotFoundError:
        return CompiledKernels()
    except (OSError, BadZipFile) as error:
        return CompiledKernels(refused=f"{path} cannot be read: {error}")
    there, here = index["compiled for"], environment()
    other = [key for key in here if there.get(key) not in (here[key], ANY)]
    if other:
        differ = "; ".join(f"{key} {there.get(key)}, here {here[key]}" for key in other)
        return CompiledKernels(refused=f"{path} is for {differ}")
    return CompiledKernels(path, index["kernels"])


def write_compiled(kernels: dict[str, bytes], path: Path) -> None:
    """Write compiled kernels, by name and types of arguments, to a file."""
    entries = {name: f"{number}.pickle" for number, name in enumerate(sorted(kernels))}
    index = {"compiled for": environment(), "kernels": entries}
    with writing(path) as target, ZipFile(target, "w") as file:
        file.writestr(INDEX, json.dumps(index, indent=1))
        for name, entry in entries.items():
            file.writestr(entry, kernels[name])


@contextmanager
def compiling() -> Iterator[dict[str, str]]:
    """Yield the environment variables of a process that compiles all kernels for a file."""
    with TemporaryDirectory() as folder:  # so that nothing is found that is compiled otherwise
        target = {"NUMBA_CPU_NAME": processor(), "NUMBA_CPU_FEATURES": ""}
        cache = {"NUMBA_CACHE_DIR": folder, "NUMBA_CACHE_LOCATOR_CLASSES": ""}
        yield {**cache, "NUMBA_DISABLE_JIT": "0", **target}


def check_compiling() -> None:
    """Refuse to compile kernels for a file where some may be found that are compiled already.

    Numba cannot write again what it has read, and what it kept is for the processor at hand only.
    """
    if not config.CPU_NAME or not config.CACHE_DIR or any(Path(config.CACHE_DIR).iterdir()):
        raise SystemExit(
            "error: a file of kernels is compiled for all processors and with an empty cache: "
            "use rpte compile --output FILE"
        )

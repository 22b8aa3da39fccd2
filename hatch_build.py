"""Compile the kernels while a wheel is built, so that the first fit where it is installed need not.

The wheel is then one of a Python and a platform. Where compiling fails, or is left out by
HATCH_BUILD_NO_HOOKS=true, it is one of Python alone, whose kernels are compiled on first use.
"""

import os
import subprocess
import sys
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

FILE = f"compiled.{sys.implementation.cache_tag}.zip"  # as in src/rpte/kernels/compiled.py


class CompileKernels(BuildHookInterface):
    """Put a file of compiled kernels into wheels, but not into editable installs."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Compile the kernels of the source tree with the Python that builds the wheel."""
        if version == "editable":
            return
        self.folder = TemporaryDirectory()
        made = Path(self.folder.name, FILE)
        done = self.compile_to(made)
        if done.returncode:
            self.app.display_warning(f"{done.stderr}The first fit will compile the kernels.")
            return
        self.app.display_info(done.stdout)
        build_data["force_include"][str(made)] = f"rpte/kernels/{FILE}"
        build_data["pure_python"] = False
        build_data["infer_tag"] = True

    def compile_to(self, path: Path) -> subprocess.CompletedProcess[str]:
        """Run `rpte compile` from the source tree, with the packages of the build."""
        paths = [str(Path(self.root, "src")), *filter(None, [os.environ.get("PYTHONPATH")])]
        switches = {"PYTHONPATH": os.pathsep.join(paths), "PYTHONDONTWRITEBYTECODE": "1"}
        return subprocess.run(
            [sys.executable, "-m", "rpte", "compile", "--output", str(path)],
            env={**os.environ, **switches},
            capture_output=True,
            text=True,
            check=False,
        )

    def finalize(self, version: str, build_data: dict[str, Any], artifact_path: str) -> None:
        """Remove the file once the wheel holds it."""
        if version != "editable":
            self.folder.cleanup()

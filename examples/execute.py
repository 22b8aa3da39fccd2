"""Run the notebooks of this folder and keep their outputs, without what differs from run to run.

Run: pip install -e ".[test]" && python examples/execute.py [credit ...]
"""

import base64
import io
import re
import sys
import tempfile
from pathlib import Path
from typing import Any

import nbformat
from nbclient import NotebookClient
from PIL import Image

HERE = Path(__file__).resolve().parent
SECONDS = 300  # for one cell, which may have to compile the kernels
COLOURS = 256  # of a picture
KERNEL = {"display_name": "Python 3", "language": "python", "name": "python3"}


def execute(path: Path, folder: Path) -> Any:
    """Return a notebook with the outputs of a run in `folder`; an error in a cell is raised."""
    notebook = nbformat.read(path, as_version=4)
    client = NotebookClient(
        notebook, timeout=SECONDS, kernel_name="python3", resources={"metadata": {"path": folder}}
    )
    client.execute()
    return steady(notebook)


def steady(notebook: Any) -> Any:
    """Leave out what differs from run to run: counts, times, versions, addresses of objects."""
    notebook.metadata = {"kernelspec": KERNEL, "language_info": {"name": "python"}}
    for cell in notebook.cells:
        cell.metadata = {}
        if cell.cell_type == "code":
            cell.execution_count = None
            for output in cell.outputs:
                _steady_output(output)
    return notebook


def _steady_output(output: Any) -> None:
    if output.output_type == "execute_result":
        output.execution_count = None
    data = output.get("data", {})
    output.pop("metadata", None)
    if output.output_type in ("execute_result", "display_data"):
        output.metadata = {}
    if "text/plain" in data:
        data["text/plain"] = re.sub(r" at 0x[0-9a-f]+", "", data["text/plain"])
    if "image/png" in data:
        data["image/png"] = small_picture(data["image/png"])


def small_picture(png: str) -> str:
    """Return a picture in a palette of colours, half of the size."""
    picture = Image.open(io.BytesIO(base64.b64decode(png))).convert("RGB")
    written = io.BytesIO()
    picture.quantize(COLOURS, dither=Image.Dither.NONE).save(written, "PNG", optimize=True)
    return base64.b64encode(written.getvalue()).decode()


def main(names: list[str]) -> None:
    """Run notebooks by name, or all, and write them back."""
    for path in sorted(HERE.glob("*.ipynb")):
        if names and path.stem not in names:
            continue
        with tempfile.TemporaryDirectory() as folder:
            notebook = execute(path, Path(folder))
        nbformat.write(notebook, path)
        print(f"{path.name}: {path.stat().st_size // 1000} kB")


if __name__ == "__main__":
    main(sys.argv[1:])

"""Make the report of docs/report.md on scikit-learn's breast cancer table, and its pictures.

Run: python docs/tools/make_report.py FOLDER    (the pictures need chromium)
"""

import shutil
import subprocess
import sys
from pathlib import Path

from sklearn.datasets import load_breast_cancer
from sklearn.model_selection import train_test_split
from typer.testing import CliRunner

from rpte import RPTEClassifier
from rpte.cli import app

DOCS = Path(__file__).parents[1]
SAID = {
    "name": "Malignancy of breast masses",
    "version": "1.0",
    "owner": "Department of Pathology",
    "use": "Second reading of fine needle aspirates, after the pathologist's own judgement.",
    "out_of_scope": "Screening of people without a palpable mass.",
    "definition": "Malignant at histology.",
    "source": "Breast Cancer Wisconsin (Diagnostic), 569 patients of one hospital.",
    "known": "One hospital, one way of measuring nuclei; no ages, no follow-up.",
    "review": "The pathologist decides; the model never does.",
}
HIDE = "<style>header,nav,footer,section:not(#{section}){{display:none}}</style></head>"


def main(folder: Path) -> None:
    """Fit on one part of the table, report on the other."""
    data = load_breast_cancer(as_frame=True)
    y = data.target.map({0: "malignant", 1: "benign"}).astype(object)
    X, X_new, y, y_new = train_test_split(data.data, y, test_size=0.4, stratify=y, random_state=7)
    RPTEClassifier(positive="malignant").fit(X, y).save(folder / "model.json")
    X_new.assign(diagnosis=y_new).to_csv(folder / "new.csv", index=False)
    about = folder / "about.toml"
    about.unlink(missing_ok=True)
    run("report", folder / "model.json", "--template", about)
    text = about.read_text(encoding="utf-8")
    for key, said in SAID.items():
        text = text.replace(f'\n{key} = ""', f'\n{key} = "{said}"')
    about.write_text(text, encoding="utf-8")
    page, given = folder / "report.html", ("--target", "diagnosis", "--about", about)
    run("report", folder / "model.json", folder / "new.csv", *given, "-o", page)
    photograph(page, DOCS / "report.png")
    part = folder / "part.html"
    alone = page.read_text(encoding="utf-8").replace("</head>", HIDE.format(section="performance"))
    part.write_text(alone, encoding="utf-8")
    photograph(part, DOCS / "report_performance.png")


def run(*arguments: object) -> None:
    """Run an rpte command."""
    outcome = CliRunner().invoke(app, [str(a) for a in arguments])
    assert outcome.exit_code == 0, outcome.output


def photograph(page: Path, target: Path) -> None:
    """Take a picture of a page in the browser."""
    program = shutil.which("chromium")
    assert program, "install chromium"
    options = ["--headless=new", "--no-sandbox", "--hide-scrollbars", "--window-size=1000,1240"]
    command = [program, *options, f"--screenshot={target}", page.resolve().as_uri()]
    subprocess.run(command, check=True, capture_output=True, timeout=120)


if __name__ == "__main__":
    main(Path(sys.argv[1]))

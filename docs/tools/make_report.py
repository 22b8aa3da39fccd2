"""Make the report of docs/report.md on scikit-learn's breast cancer table, and its pictures.

Run: python docs/tools/make_report.py FOLDER    (needs chromium and Pillow)
"""

import sys
import tempfile
from pathlib import Path

from PIL import Image
from sklearn.datasets import load_breast_cancer
from sklearn.model_selection import train_test_split
from typer.testing import CliRunner

from rpte import RPTEClassifier
from rpte.cli import app

DOCS = Path(__file__).parents[1]
sys.path.insert(0, str(DOCS.parent / "tests" / "helpers"))

from devtools import Chromium  # noqa: E402

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
DESK, PHONE, PAPER = (1200, 900), (390, 844), (794, 1123)
LOOKS = {
    "report": {"size": DESK, "scheme": "light", "media": "", "section": ""},
    "report_dark": {"size": DESK, "scheme": "dark", "media": "", "section": "case"},
    "report_phone": {"size": PHONE, "scheme": "light", "media": "", "section": ""},
    "report_print": {"size": PAPER, "scheme": "light", "media": "print", "section": ""},
    "report_performance": {"size": DESK, "scheme": "light", "media": "", "section": "performance"},
}


def main(folder: Path) -> None:
    """Fit on one part of the table, report on the other."""
    data = load_breast_cancer(as_frame=True)
    y = data.target.map({0: "malignant", 1: "benign"}).astype(object).rename("diagnosis")
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
    untidy = tempfile.TemporaryDirectory(ignore_cleanup_errors=True)
    with untidy as profile, Chromium(Path(profile)) as program, program.tab() as browser:
        for name, look in LOOKS.items():
            browser.resize(*look["size"])
            browser.emulate(look["scheme"], look["media"])
            browser.open(page)
            if look["section"]:
                browser.value(f"document.getElementById({look['section']!r}).scrollIntoView()")
            browser.picture(DOCS / f"{name}.png")
    for name in LOOKS:
        shrink(DOCS / f"{name}.png")


def run(*arguments: object) -> None:
    """Run an rpte command."""
    outcome = CliRunner().invoke(app, [str(a) for a in arguments])
    assert outcome.exit_code == 0, outcome.output


def shrink(path: Path) -> None:
    """Store a picture with 96 colours."""
    Image.open(path).convert("RGB").quantize(96, Image.Quantize.MAXCOVERAGE).save(
        path, optimize=True
    )


if __name__ == "__main__":
    main(Path(sys.argv[1]))

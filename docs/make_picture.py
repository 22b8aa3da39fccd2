"""Draw the README's picture: the published configuration on scikit-learn's breast cancer table.

Run: python docs/make_picture.py
"""

from pathlib import Path

from sklearn.datasets import load_breast_cancer

from rpte import RPTEClassifier
from rpte.report.draw import draw_model


def main() -> None:
    """Fit all 569 rows and write docs/model.svg."""
    data = load_breast_cancer(as_frame=True)
    y = data.target.map({0: "malignant", 1: "benign"}).astype(object)
    clf = RPTEClassifier.paper(positive="malignant").fit(data.data, y)
    Path(__file__).with_name("model.svg").write_text(draw_model(clf.model_), encoding="utf-8")


if __name__ == "__main__":
    main()

"""Whatever the table: a report is made, is plain JSON, and is well-formed."""

import json
import os
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given
from typer.testing import CliRunner

from effort import examples
from raw_tables import raws
from report_pages import QUICK, Page
from rpte import RPTEClassifier
from rpte.cli import app
from rpte.report.contents import report_contents
from rpte.report.evidence import gather
from rpte.report.html import render
from rpte.table.files import read_table

DATA = Path(os.environ.get("RPTE_DATA", Path(__file__).parents[3] / "shared" / "data"))


@pytest.mark.slow(reason="fits ten tables")
@examples(10, suppress_health_check=list(HealthCheck))
@given(raws(rows=(15, 80)))
def test_awkward_columns_make_a_report(raw):
    clf = RPTEClassifier(l1=0.02, max_trees=2).fit(raw.columns, raw.y, raw.weight)
    evidence = gather(clf.model_, raw.columns, raw.y, raw.weight, groups=dict(raw.columns))
    assert evidence.training
    contents = report_contents(clf.model_, evidence, QUICK)
    assert all(check["holds"] for check in contents["guarantees"])
    json.dumps(contents, allow_nan=False)
    page = render(contents)
    assert Page(page).faults == []
    assert "nan" not in Page(page).said().split()


@pytest.mark.slow(reason="fits real tables with the default settings")
@pytest.mark.skipif(not DATA.is_dir(), reason=f"no data folder at {DATA} (set RPTE_DATA)")
@pytest.mark.parametrize("name", ["hepatitis_uci", "loan_eligibility", "credit_scoring_spain"])
def test_real_tables_from_the_command_line(name, tmp_path):
    """Texts, gaps and codes as they come in files."""
    file = next((DATA / "panel").glob(f"{name}.csv*"))
    table = read_table(file)
    table[::2].to_csv(tmp_path / "fit.csv", index=False)
    table[1::2].to_csv(tmp_path / "new.csv", index=False)
    train = read_table(tmp_path / "fit.csv")
    clf = RPTEClassifier(l1=0.02, max_trees=2).fit(train.drop(columns="target"), train["target"])
    clf.save(tmp_path / "model.json")
    for rows, training in (("fit.csv", True), ("new.csv", False)):
        given = [tmp_path / "model.json", tmp_path / rows, "--target", "target", "--json"]
        arguments = ["report", *map(str, given), "--resamples", "20", "--by", table.columns[0]]
        outcome = CliRunner().invoke(app, arguments)
        assert outcome.exit_code == 0, outcome.output
        contents = json.loads(outcome.stdout)
        assert contents["data"]["table"]["training"] == training
        assert contents["performance"]["measures"][0]["value"] > 0.6

"""rpte whatif, counterfactual and uncertainty, as a user meets them."""

import json
import re

import pytest

import rpte
from command_tables import CREDIT, QUICK, credit, good, refused, write_csv


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Return a folder with a table of loans and its model."""
    folder = tmp_path_factory.mktemp("loans")
    write_csv(credit(), folder / "loans.csv")
    good("fit", folder / "loans.csv", *CREDIT, *QUICK, "-o", folder / "model.json")
    return folder


def asked(command, folder, *options):
    return good(command, folder / "model.json", folder / "loans.csv", *options)


def failing(command, folder, *options):
    return refused(command, folder / "model.json", folder / "loans.csv", *options)


def probability(folder, row):
    table = asked("score", folder).splitlines()
    return float(table[row].split(",")[-1])


def test_whatif_says_what_moves_and_what_does_not(folder):
    text = asked("whatif", folder, "--row", 3, "--set", "debts=8", "--set", "age=")
    assert re.search(r"debts: \d -> 8", text)
    assert re.search(r"age: \S+ -> missing", text)
    assert "probability of outcome = bad: " in text
    assert "to the last bit" in text or "every component reads" in text


def test_whatif_as_json_agrees_with_the_model(folder):
    options = ("--id", "00007", "--id-column", "case", "--set", "income [EUR]=9000", "--json")
    record = json.loads(asked("whatif", folder, *options))
    assert record["case"] == "00007"
    assert record["changes"]["income [EUR]"][1] == 9000
    assert record["probability"][0] == probability(folder, 7)


def test_whatif_mistakes_are_told_in_one_line(folder):
    assert "say what to change" in failing("whatif", folder, "--row", 3)
    assert "NAME=VALUE" in failing("whatif", folder, "--row", 3, "--set", "debts")
    line = failing("whatif", folder, "--row", 3, "--set", "dets=3")
    assert "did you mean 'debts'" in line
    assert "holds the text 'many'" in failing("whatif", folder, "--row", 3, "--set", "debts=many")
    assert "name one case" in failing("whatif", folder, "--set", "debts=3")


def test_counterfactual_shows_changes_costs_and_proof(folder):
    text = asked("counterfactual", folder, "--row", 3, "--keep", "age", "--answers", 2)
    asks = r"what would (lower|raise) it to at (most|least) 0.5\?"
    assert re.search(rf"probability of outcome = bad is 0\.\d{{4}}; {asks}", text)
    assert "1. probability 0." in text
    assert "(proved cheapest in the model" in text
    assert re.search(r"variable +now +then +cost", text)
    assert not re.search(r"^age\b.*\d$", text, re.MULTILINE)
    assert "Cost of a change: its size, plus 0.1" in text


def test_counterfactual_begins_with_what_may_change(folder):
    options = ("--row", 3, "--answers", 1)
    text = " ".join(asked("counterfactual", folder, *options).split())
    assert text.startswith("row 3 Assumed that these may change: ")
    assert "Kept because of the name: age. Change this with --keep and --may-change." in text
    record = json.loads(asked("counterfactual", folder, *options, "--may-change", "age", "--json"))
    assert list(record)[:2] == ["row", "changeable"]
    assert "age" in record["changeable"]["may_change"]
    assert record["changeable"]["stated"]


def test_counterfactual_as_json_holds_when_it_is_tried(folder):
    """The answer, put into the table by hand, scores as it says."""
    options = ("--row", 3, "--to", "0.4", "--at-most", 2, "--answers", 1, "--json")
    record = json.loads(asked("counterfactual", folder, *options))
    answer = record["answers"][0]
    assert answer["optimal"]
    assert 1 <= len(answer["changes"]) <= 2
    changes = {c["variable"]: c["new"] for c in answer["changes"]}
    sets = [part for name, new in changes.items() for part in ("--set", f"{name}={new}")]
    tried = json.loads(asked("whatif", folder, "--row", 3, *sets, "--json"))
    assert tried["probability"][1] == answer["probability"]
    assert (tried["probability"][1] <= 0.4) == (record["side"] == "below")


def test_actions_from_a_file_and_from_options_come_together(folder):
    path = folder / "actions.toml"
    path.write_text('keep = ["age"]\n[allowed]\ndebts = [0, 8]\n[costs]\njob = 5\n')
    options = ("--row", 3, "--actions", path, "--keep", "income [EUR]", "--json")
    record = json.loads(asked("counterfactual", folder, *options))
    changed = {c["variable"] for answer in record["answers"] for c in answer["changes"]}
    assert changed
    assert not changed & {"age", "income [EUR]"}
    assert record["scales"]["debts"]["high"] == 8
    path.write_text("kep = []\n")
    assert "did you mean 'keep'" in failing("counterfactual", folder, *options)
    path.write_text("keep = [\n")
    assert "is not a TOML file" in failing("counterfactual", folder, *options)


def test_what_cannot_be_reached_is_an_answer_too(folder):
    options = ("--row", 3, "--to", "0.0001", "--side", "below", "--at-most", 1)
    text = asked("counterfactual", folder, *options)
    assert "no allowed change of one variable reaches it" in text
    record = json.loads(asked("counterfactual", folder, *options, "--json"))
    assert record["answers"] == []
    assert record["impossible"]


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (("--to", "1.5"), "to=1.5; it must be a probability"),
        (("--keep", "agee"), "did you mean 'age'"),
        (("--may-change", "agee"), "did you mean 'age'"),
        (("--increase", "age"), "'age', which is kept because of its name; name it in may_change"),
        (("--allow", "debts=3"), "write LOW:HIGH, such as debts=0:100"),
        (("--allow", "job=fix"), "'fix' is none"),
        (("--cost", "debts=dear"), "'dear' is no number"),
        (("--increase", "job"), "one_way names 'job', a category"),
    ],
)
def test_counterfactual_mistakes_are_told_in_one_line(folder, options, said):
    assert said in failing("counterfactual", folder, "--row", 3, *options)


def test_uncertainty_of_terms_and_of_a_case(folder):
    base = ("--target", "outcome", "--weight-column", "weight", "--resamples", 20)
    text = asked("uncertainty", folder, *base)
    assert re.search(r"coefficient +95% from +to +zero +term", text)
    assert "structure and penalty as in the file" in text
    record = json.loads(asked("uncertainty", folder, *base, "--json"))
    model = rpte.load(folder / "model.json")
    assert record["training_table"]
    assert [t["name"] for t in record["terms"]][1:] == [rule.term for rule in model.rules()]
    case = json.loads(asked("uncertainty", folder, *base, "--row", 5, "--json"))
    assert case["row"] == 5
    assert case["probability"]["estimate"] == probability(folder, 5)
    assert case["probability"]["low"] <= case["probability"]["high"]
    shown = asked("uncertainty", folder, *base, "--row", 5, "--level", "0.8")
    assert "80% from" in shown


def test_uncertainty_by_groups_and_mistakes(folder):
    base = ("--target", "outcome", "--resamples", 5)
    text = asked("uncertainty", folder, *base, "--groups", "branch")
    assert "resamples of 3 groups" in text
    assert "'nothing'" in failing("uncertainty", folder, *base, "--groups", "nothing")
    assert "level=95" in failing("uncertainty", folder, *base, "--level", "95")
    assert "is not a class" in failing("uncertainty", folder, "--target", "branch")
    assert "--target" in refused("uncertainty", folder / "model.json", folder / "loans.csv")

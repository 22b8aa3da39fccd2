"""The contents of a report: plain values, true to the model and the table."""

import json

import numpy as np
import pytest
from sklearn.metrics import roc_auc_score

from model_files import NAMES, stored
from report_pages import QUICK, contents_of, evidence_of, model_of
from rpte import InputError, RPTEClassifier
from rpte.model.ledger import DERIVED
from rpte.report.about import EXPECTED, NOTES, PLACES, read_about, read_items, read_peers, template
from rpte.report.contents import SECTIONS, ReportOptions, report_contents
from rpte.report.evidence import gather
from rpte.report.html import render
from rpte.report.performance import group_rows


@pytest.mark.parametrize("name", NAMES)
def test_contents_are_plain_json_for_every_kind_of_model(name):
    contents = contents_of(name)
    assert json.loads(json.dumps(contents, allow_nan=False)) == contents
    failing = [check["name"] for check in contents["guarantees"] if not check["holds"]]
    assert failing == ([DERIVED] if name == "shaped" else [])
    assert contents["data"]["table"]["training"]
    assert len(contents["components"]) == len(model_of(name).components)


@pytest.mark.parametrize("name", ["mixed", "products", "published"])
def test_cards_hold_every_active_term(name):
    model, contents = model_of(name), contents_of(name)
    found = {}
    for card in contents["components"]:
        for tree in card["trees"]:
            found |= {leaf["name"]: leaf for leaf in tree["leaves"] if leaf["coefficient"]}
        found |= {term["name"]: term for term in card["direct"]}
    rules = {rule.term: rule for rule in model.rules()}
    assert found.keys() == rules.keys()
    for term, rule in rules.items():
        assert found[term]["coefficient"] == rule.coefficient
        assert found[term]["support"] == rule.support
        if found[term].get("binary", True):  # of a number it is that of a typical step
            assert found[term]["odds_ratio"] == pytest.approx(np.exp(rule.coefficient))
    assert sum(card["miu"] for card in contents["components"]) == model.audit().miu


def test_performance_counts_the_users_weights_not_the_class_factors():
    held, model = stored("array"), model_of("array")
    assert model.training["class_factors"] != [1.0, 1.0]
    contents = contents_of("array")
    auc = next(m for m in contents["performance"]["measures"] if m["key"] == "auc")
    assert auc["value"] == pytest.approx(roc_auc_score(held.y == 2, model.score(held.X)))
    assert contents["performance"]["events"] == (held.y == 2).sum()


def test_another_table_is_told_from_the_training_table():
    held, model = stored("mixed"), model_of("mixed")
    rows = slice(0, 150)
    evidence = gather(model, held.X[rows], held.y[rows], held.weight[rows])
    assert not evidence.training
    contents = report_contents(model, evidence, QUICK)
    assert [c["name"] for c in contents["guarantees"]][-1] == "not checked"
    reordered = np.arange(len(held.y))[::-1]
    again = gather(model, held.X.iloc[reordered], held.y[reordered], held.weight[reordered])
    assert again.training


def test_labels_that_lost_their_type_in_a_file_are_known_again():
    held, model = stored("array"), model_of("array")
    texts = np.array([str(label) for label in held.y], object)
    floats = np.array([float(label) for label in held.y])
    for labels in (texts, floats):
        assert (gather(model, held.X, labels).y == evidence_of("array").y).all()
    with pytest.raises(InputError, match="classes are"):
        gather(model, held.X, np.where(held.y == 2, 3, 1))


def test_rows_without_an_outcome_are_left_out_and_counted():
    held, model = stored("mixed"), model_of("mixed")
    y = held.y.astype(object)
    y[[3, 8]] = None
    evidence = gather(model, held.X, y, held.weight)
    contents = report_contents(model, evidence, QUICK)
    assert contents["data"]["table"]["unlabelled"] == 2
    assert contents["performance"]["rows"] == (held.weight[~np.isin(range(300), [3, 8])] > 0).sum()
    assert all(case["row"] not in (4, 9) for case in contents["cases"])


@pytest.mark.parametrize("weight", [[1.0], "negative", "nan"])
def test_weights_that_do_not_fit_are_refused(weight):
    held = stored("mixed")
    bad = np.ones(len(held.y))
    bad[0] = {"negative": -1.0, "nan": np.nan}.get(str(weight), 1.0)
    given = np.array(weight) if isinstance(weight, list) else bad
    with pytest.raises(InputError, match="sample_weight"):
        gather(model_of("mixed"), held.X, held.y, given)


def test_a_report_without_a_table_or_without_outcomes_says_less():
    model, held = model_of("mixed"), stored("mixed")
    bare = report_contents(model)
    assert [bare[key] for key in ("performance", "subgroups", "stability", "cases")] == [None] * 4
    unlabelled = report_contents(model, gather(model, held.X), QUICK)
    assert report_contents(model, gather(model, held.X))["cases"] is None  # not asked for
    assert unlabelled["performance"] is None
    assert len(unlabelled["cases"]) == 3
    assert unlabelled["audit"]["iiu"] == model.audit(held.X).iiu


def test_one_class_only_is_no_crash():
    held, model = stored("mixed"), model_of("mixed")
    kept = np.flatnonzero(held.y == "sick")
    evidence = gather(model, held.X.iloc[kept], held.y[kept])
    found = report_contents(model, evidence, QUICK)["performance"]
    assert found["one_class"]
    assert found["measures"][0]["value"] is None


def test_a_model_of_the_base_rate_alone_has_a_report():
    held = stored("mixed")
    model = RPTEClassifier(l1=100.0).fit(held.X, held.y).model_
    assert not model.components
    contents = report_contents(model, gather(model, held.X, held.y), QUICK)
    assert contents["components"] == []
    assert contents["performance"]["measures"][0]["value"] == 0.5


def test_cases_are_typical_extreme_and_wrong_and_add_up():
    contents, model = contents_of("mixed"), model_of("mixed")
    held = stored("mixed")
    cases = contents["cases"]
    score = model.score(held.X)
    used = held.weight > 0
    assert {case["why"].split(":")[0].split(" ")[0] for case in cases} == {
        "Typical",
        "Extreme",
        "Wrong",
    }
    for case in cases:
        assert case["score"] == score[case["row"] - 1]
        assert case["label"] == held.y[case["row"] - 1]
        total = case["intercept"] + sum(c["value"] for c in case["components"])
        assert total == pytest.approx(case["score"])
    assert max(case["score"] for case in cases) == score[used].max()
    wrong = [case for case in cases if case["why"].startswith("Wrong")]
    assert wrong
    for case in wrong:
        assert (case["score"] > 0) != (case["label"] == case["positive"])


def test_groups_by_level_by_quarter_and_missing():
    values = np.array(["b", "a", None, "b", 1.0], object)
    assert [(name, rows.tolist()) for name, rows in group_rows(values)] == [
        ("1", [4]),
        ("a", [1]),
        ("b", [0, 3]),
        ("missing", [2]),
    ]
    numbers = np.array([*range(100), np.nan], object)
    found = group_rows(numbers)
    assert [len(rows) for _, rows in found] == [25, 25, 25, 25, 1]
    assert found[0][0] == "up to 24"
    many = np.array([f"g{k}" for k in range(30)] * 2, object)
    assert [name for name, _ in group_rows(many)][-1] == "all other (18)"


def test_group_measures_are_those_of_the_group():
    held, model = stored("mixed"), model_of("mixed")
    regions = held.X["region"].to_numpy()
    evidence = gather(model, held.X, held.y, held.weight, groups={"region": regions})
    block = report_contents(model, evidence, QUICK)["subgroups"][0]
    assert block["in_model"] == any("region" in c.sources for c in model.components)
    for group in block["groups"]:
        inside = np.array([str(r) == group["group"] for r in regions]) & (held.weight > 0)
        if group["group"] == "missing" or group["rows"] < 10:
            continue
        y, weight = held.y[inside] == "sick", held.weight[inside]
        score = model.score(held.X[inside])
        assert group["auc"][0] == pytest.approx(roc_auc_score(y, score, sample_weight=weight))
        assert group["observed"][0] == pytest.approx(np.average(y, weights=weight))
        assert group["flagged"][0] == pytest.approx(np.average(score >= 0, weights=weight))


def test_crosswalk_points_only_at_what_exists():
    items = read_items()
    assert {item["text"] for item in items} == set(NOTES)
    for item in items:
        assert set(item["sections"]) <= set(SECTIONS)
        assert set(item["fields"]) <= set(PLACES)
        assert item["sections"] or item["fields"] or item["beyond"]
    numbers = {
        part.strip().rstrip("abcdefgh")
        for item in items
        if item["text"] == "TRIPOD+AI (2024)"
        for part in item["number"].split(",")
    }
    assert numbers == {str(k) for k in range(1, 28)}


def test_crosswalk_marks_what_people_must_still_supply(tmp_path):
    empty = contents_of("mixed")["crosswalk"]
    file = tmp_path / "about.toml"
    file.write_text(template().replace('= ""', '= "said"'))
    about = read_about(file)
    filled = report_contents(
        model_of("mixed"), evidence_of("mixed"), ReportOptions(about, resamples=20)
    )
    for before, after in zip(empty, filled["crosswalk"], strict=True):
        assert before["closed"] < after["closed"]
        for row in after["rows"]:
            assert row["gaps"] == []
            assert row["open"] == bool(row["absent"] or row["beyond"])
    stability = [r for r in filled["crosswalk"][2]["rows"] if "stability" in r["sections"]]
    assert stability[0]["open"]  # it was not run


def test_about_template_is_read_back_and_gaps_are_counted(tmp_path):
    file = tmp_path / "about.toml"
    names = ["age", 'odd "name"', "back\\slash", "line\nbreak"]
    file.write_text(template(names), encoding="utf-8")
    about = read_about(file)
    assert about.texts == {}
    assert about.expected == {}
    filled = file.read_text(encoding="utf-8").replace('break" = ""', 'break" = "rises"')
    file.write_text(filled.replace('use = ""', 'use = """two\nlines"""'), encoding="utf-8")
    about = read_about(file)
    assert about.texts == {"purpose.use": "two\nlines"}
    assert about.expected == {"line\nbreak": "rises"}
    contents = report_contents(model_of("mixed"), None, ReportOptions(about))
    assert contents["about"]["open"] == len(PLACES) - 1


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("[purpose]\nuze = 'x'", "did you mean 'purpose.use'"),
        ("name = 'x'", "outside a table"),
        ("[purpose]\nuse = ['x']", "write one text"),
        ("[purpose\n", "is not a TOML file"),
    ],
)
def test_about_files_with_mistakes_are_refused_with_a_remedy(text, message, tmp_path):
    file = tmp_path / "about.toml"
    file.write_text(text)
    with pytest.raises(InputError, match=message):
        read_about(file)
    assert EXPECTED not in PLACES


def test_peers_come_from_json_and_csv(tmp_path):
    (tmp_path / "p.csv").write_text('Model,MU,MIU,AUC\nEBM,180,"74,945",0.99\nforest,,9,\n')
    (tmp_path / "p.json").write_text('[{"name": "EBM", "miu": 74945, "mu": 180, "auc": 0.99}]')
    from_csv, from_json = (read_peers(tmp_path / f"p.{kind}") for kind in ("csv", "json"))
    assert from_csv[0] == from_json[0]
    assert from_csv[0]["miu"] == 74945
    assert from_csv[1] == {"name": "forest", "miu": 9.0, "mu": None, "iiu": None, "more": {}}
    (tmp_path / "bad.csv").write_text("name,mu\nx,3\n")
    with pytest.raises(InputError, match="entry 1 lacks a name or a number 'miu'"):
        read_peers(tmp_path / "bad.csv")


def test_a_ledger_in_the_file_is_shown_whatever_its_fields():
    entry = {
        "number": 1,
        "by": "A. <Auditor>",
        "reason": "no ground for it",
        "operations": [{"operation": "drop-term", "names": ["D1", "T1.L2"]}],
        "before": {"terms": 9, "metrics": {"auc": 0.81}},
        "after": {"terms": 7, "metrics": None},
        "withdrawn": ["Stage 3 optimality"],
        "unheard": "of",
    }
    document = {**stored("mixed").document, "ledger": [entry, {}]}
    contents = report_contents(model_of("mixed"), None, None, document)
    page = render(contents)
    assert len(contents["ledger"]) == 2
    for said in ("A. &lt;Auditor&gt;", "no ground for it", "drop-term D1, T1.L2", "unheard: of"):
        assert said in page
    assert "withdrawn: Stage 3 optimality" in page
    assert contents_of("mixed")["ledger"] == []

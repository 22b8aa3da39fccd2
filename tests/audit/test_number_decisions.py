"""Reasons, decisions, replay and edits of models of numbers."""

import json
import re
import subprocess
import sys

import numpy as np
import pytest

import rpte
from export_models import NUMBERS, number_model
from model_files import NUMBER_NAMES, stored
from rpte.check import rpte_check
from rpte.errors import InputError
from rpte.model.file import content_hash, from_dict, to_dict
from rpte.model.ledger import BALANCE, OPTIMALITY
from rpte.model.parts import TreeTerms

WHEN = "2026-01-31T12:00:00Z"
WHO = {"by": "A. Smith", "reason": "a test", "when": WHEN}
SOLVED = tuple(name for name in NUMBER_NAMES if name != "boosted_counts")


def beside_of(exposure):
    return {} if exposure is None else {"exposure": exposure}


@pytest.mark.parametrize("loss", NUMBERS)
class TestReasons:
    def test_gaps_are_what_components_add_beyond_the_mean(self, loss):
        model, X, _ = number_model(loss)
        stored_means = model.training["mean_contributions"]
        for adverse, sign in (("high", 1.0), ("low", -1.0)):
            rule = rpte.reason_rule(model, adverse=adverse, most=99, least=0.0)
            for row, reasons in enumerate(rpte.reason_codes(model, X[:40], rule)):
                gaps = {
                    c.name: sign
                    * (
                        float(c.subtotal(model.read(X[row : row + 1]))[0])
                        - sum(stored_means[part.name] for part in c.parts)
                    )
                    for c in model.components
                }
                told = {}
                for reason in reasons:
                    told[reason.component] = told.get(reason.component, 0.0) + reason.weight
                    assert reason.gap == pytest.approx(gaps[reason.component])
                assert set(told) == {name for name, gap in gaps.items() if gap > 1e-12}
                for name, weight in told.items():
                    assert weight == pytest.approx(gaps[name])


class TestRefusedReasons:
    @pytest.mark.parametrize(
        ("options", "says"),
        [
            ({"adverse": "north"}, r"of a number it is one of \['high', 'low'\]"),
            ({"threshold": 0.0}, "threshold=0.0; it is a mean above 0"),
            ({"threshold": np.nan}, "threshold=nan; it is a mean above 0"),
            ({"reference": "threshold", "threshold": 1e-12}, "raise it, or use the reference"),
            (
                {"reference": "threshold", "threshold": 1e12, "adverse": "low"},
                "lower it, or use the reference",
            ),
        ],
    )
    def test_rules(self, options, says):
        model, X, _ = number_model("poisson")
        with pytest.raises(InputError, match=says):
            rpte.reason_rule(model, cases=X, **options)

    def test_exposures_of_classes_and_of_squared_error(self):
        made = stored("mixed")
        with pytest.raises(InputError, match="for models of numbers; this tells classes"):
            rpte.reason_codes(from_dict(made.copy()), made.X, exposure=1.0)
        model, X, _ = number_model("squared_error")
        with pytest.raises(InputError, match="exposure multiplies a mean"):
            list(rpte.decide(model, X, exposure=1.0))


def logged(path, loss, **options):
    model, X, exposure = number_model(loss)
    beside = {**beside_of(exposure), "offset": np.linspace(-0.2, 0.2, len(X)).round(3)}
    threshold = float(np.median(model.predict(X, **beside)))
    rule = rpte.reason_rule(model, threshold=threshold)
    done = rpte.append_decisions(path, model, X, rule, when=WHEN, **beside, **options)
    return model, X, beside, threshold, done


@pytest.mark.parametrize("loss", NUMBERS)
class TestLog:
    def test_a_replay_gives_every_case_again(self, loss, tmp_path):
        path = tmp_path / "log.jsonl"
        model, X, beside, threshold, done = logged(path, loss)
        found = rpte.replay(path, model, done.head)
        assert found.findings == ()
        assert found.proved == len(X)
        mean = model.predict(X, **beside)
        cases = list(rpte.read_decisions(path, model))
        assert [case["mean"] for case in cases] == mean.tolist()
        assert [case["adverse"] for case in cases] == (mean >= threshold).tolist()
        assert [case["offset"] for case in cases] == beside["offset"].tolist()
        assert [case["score"] for case in cases] == model.score(X).tolist()
        assert not any("probability" in case for case in cases)
        if loss != "squared_error":
            assert [case["exposure"] for case in cases] == beside["exposure"].tolist()

    def test_a_run_without_them_follows(self, loss, tmp_path):
        path = tmp_path / "log.jsonl"
        model, X, *_ = logged(path, loss)
        done = rpte.append_decisions(path, model, X[:7], when=WHEN)
        assert rpte.replay(path, model, done.head).findings == ()
        last = list(rpte.read_decisions(path, model))[-1]
        assert last["mean"] == model.response(X[6:7])[0]
        assert "exposure" not in last

    @pytest.mark.slow(reason="writes and reads whole logs")
    def test_a_change_is_found(self, loss, tmp_path):
        path = tmp_path / "log.jsonl"
        model, *_ = logged(path, loss)
        lines = path.read_text().splitlines()
        fields = json.loads(lines[1])["fields"]
        for name, other in (("offset", 9.5), ("score", 0.125), ("offset", "a"), ("offset", None)):
            case = json.loads(lines[4])
            case[fields.index(name)] = other
            forged = [*lines[:4], json.dumps(case, separators=(",", ":")), *lines[5:]]
            path.write_text("\n".join(forged) + "\n")
            texts = [str(finding) for finding in rpte.replay(path, model).findings]
            assert any("case 3" in text for text in texts)

    def test_an_honest_seal_does_not_hide_another_decision(self, loss, tmp_path):
        """Lines that are sealed anew are found by the model, where it gives another decision."""
        path, forged = tmp_path / "log.jsonl", tmp_path / "forged.jsonl"
        model, X, beside, threshold, _ = logged(path, loss)
        rule = rpte.reason_rule(model, threshold=threshold)
        moved = {**beside, "offset": beside["offset"] + 20.0 * max(1.0, model.target.factor)}
        lines = path.read_text().splitlines()
        other = list(rpte.decide(model, X, rule, when=WHEN, **moved))
        forged.write_text("\n".join([*lines[:2], *other[2:3], *lines[3:]]) + "\n")
        assert rpte.replay(forged, model).findings


class TestOldAndForgedLogs:
    def test_the_record_of_the_model(self):
        model, X, _ = number_model("poisson")
        first = json.loads(next(iter(rpte.decide(model, X[:1]))))
        assert first["predicts"] == "mean of claims per unit of exposure"
        assert first["link"] == "log"
        assert "classes" not in first
        made = stored("mixed")
        first = json.loads(next(iter(rpte.decide(from_dict(made.copy()), made.X[:1]))))
        assert list(first) == [
            "record", "format", "version", "model", "classes", "positive", "variables", "digest",
        ]  # fmt: skip

    def test_a_log_of_classes_has_no_exposure(self, tmp_path):
        made, path = stored("mixed"), tmp_path / "log.jsonl"
        model = from_dict(made.copy())
        rpte.append_decisions(path, model, made.X[:3])
        text = path.read_text().replace('"inputs","score"', '"inputs","exposure","score"')
        path.write_text(re.sub(r"\],(-?\d)", r"],1,\1", text))
        texts = [str(finding) for finding in rpte.replay(path, model).findings]
        assert any("exposure and offset are for models of numbers" in text for text in texts)

    def test_columns_by_name_are_not_warned_of(self, recwarn):
        model, X, exposure = number_model("poisson")
        named = list(rpte.decide(model, X.assign(time=exposure), exposure="time", when=WHEN))
        assert named == list(rpte.decide(model, X, exposure=exposure, when=WHEN))
        assert not recwarn.list


def table_of(name):
    return rpte.Labelled(*stored(name).given, **stored(name).beside)


def failing(model, name):
    checks = model.verify(*stored(name).given, **stored(name).beside)
    return [check for check in checks if not check.holds]


def through_file_and_checker(model, folder):
    model.save(folder / "edited.json")
    script = [sys.executable, "-I", rpte_check.__file__, str(folder / "edited.json")]
    done = subprocess.run(script, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout
    return rpte.load(folder / "edited.json")


def claims_of(model):
    return [OPTIMALITY, BALANCE] if model.loss.balanced else [OPTIMALITY]


@pytest.mark.parametrize("name", SOLVED)
class TestEdits:
    def test_a_dropped_source(self, name, tmp_path):
        model = from_dict(stored(name).copy())
        source = model.components[0].sources[0]
        edited = rpte.edit(model, drop_sources=[source], table=table_of(name), **WHO)
        edited = through_file_and_checker(edited, tmp_path)
        assert source not in edited.sources
        assert failing(edited, name) == []
        entry = edited.ledger[0]
        assert entry["withdrawn"] == claims_of(model)
        checks = {check.name for check in edited.verify(*stored(name).given, **stored(name).beside)}
        assert not {OPTIMALITY, BALANCE} & checks

    def test_new_estimates_are_certified_and_balanced(self, name, tmp_path):
        model = from_dict(stored(name).copy())
        source = model.components[0].sources[0]
        asked = {"drop_sources": [source], "table": table_of(name), "refit": True}
        edited = through_file_and_checker(rpte.edit(model, **asked, **WHO), tmp_path)
        assert failing(edited, name) == []
        checks = {check.name for check in edited.verify(*stored(name).given, **stored(name).beside)}
        assert set(claims_of(model)) <= checks
        assert edited.ledger[0]["withdrawn"] == []
        plain = rpte.edit(model, drop_sources=[source], table=table_of(name), **WHO)
        share = "deviance_explained"
        old, kept, new = (
            entry["metrics"][share]
            for entry in (edited.ledger[0]["before"], plain.ledger[0]["after"],
                          edited.ledger[0]["after"])
        )  # fmt: skip
        assert old >= new >= kept - 0.05

    def test_new_estimates_of_the_same_terms_are_the_same(self, name):
        model = from_dict(stored(name).copy())
        again = rpte.edit(model, table=table_of(name), refit=True, **WHO)
        X = stored(name).X
        size = max(1.0, model.target.factor)
        assert again.score(X) == pytest.approx(model.score(X), abs=1e-4 * size)

    def test_on_another_table(self, name, tmp_path):
        model, made = from_dict(stored(name).copy()), stored(name)
        half = slice(0, 130)
        beside = {k: None if v is None else v[half] for k, v in made.beside.items()}
        weight = None if made.weight is None else made.weight[half]
        table = rpte.Labelled(made.X[half], made.y[half] * 2.0, weight, **beside)
        edited = rpte.edit(model, table=table, refit=True, **WHO)
        edited = through_file_and_checker(edited, tmp_path)
        checks = edited.verify(table.X, table.y, weight, **beside)
        assert [check for check in checks if not check.holds] == []
        assert set(claims_of(model)) <= {check.name for check in checks}
        assert edited.target.total != model.target.total


def test_merged_leaves_have_their_sums(tmp_path):
    for name in SOLVED:
        model = from_dict(stored(name).copy())
        for _, part in model.parts():
            if not isinstance(part, TreeTerms):
                continue
            paths = list(part.tree.paths())
            pair = next(n for n in range(len(paths)) if paths[n][:-1] == paths[n + 1][:-1])
            names = [part.leaf_name(pair), part.leaf_name(pair + 1)]
            edited = rpte.edit(model, merge=[names], force=True, **WHO)
            edited = through_file_and_checker(edited, tmp_path)
            assert failing(edited, name) == []
            return
    pytest.fail("no stored model of numbers has a tree")


class TestRefusedEdits:
    def test_a_table_without_the_exposure_of_the_fit(self):
        made = stored("counts")
        table = rpte.Labelled(*made.given)
        with pytest.raises(InputError, match="the model was fitted with the exposure"):
            rpte.edit(from_dict(made.copy()), table=table, refit=True, **WHO)

    def test_numbers_that_the_loss_has_no_meaning_for(self):
        made = stored("counts")
        table = rpte.Labelled(made.X, made.y - 50, made.weight, **made.beside)
        with pytest.raises(InputError, match="counts, which are not negative"):
            rpte.edit(from_dict(made.copy()), table=table, refit=True, **WHO)

    def test_stage_2_alone(self):
        model = from_dict(stored("boosted_counts").copy())
        with pytest.raises(InputError, match="reassign=false"):
            rpte.edit(model, table=table_of("boosted_counts"), refit=True, **WHO)

    @pytest.mark.parametrize("name", ["counts", "mixed"])
    def test_figures_of_the_other_task_are_no_model_file(self, name, tmp_path):
        """By the library and by the checker."""
        table = table_of(name)
        edited = rpte.edit(from_dict(stored(name).copy()), table=table, refit=True, **WHO)
        document = to_dict(edited)
        numbers = {"rows": 9.0, "deviance_explained": None, "mae": 1.0, "rmse": 1.0}
        classes = {"rows": 9.0, "log_loss": 0.1, "brier": 0.1, "auc": 0.5}
        document["ledger"][0]["before"]["metrics"] = numbers if name == "mixed" else classes
        path = tmp_path / "model.json"
        path.write_text(json.dumps({**document, "hash": content_hash(document)}))
        with pytest.raises(rpte.ModelFileError, match="not of the task"):
            rpte.load(path)
        script = [sys.executable, "-I", rpte_check.__file__, str(path)]
        done = subprocess.run(script, capture_output=True, text=True)
        assert done.returncode == 1
        assert "not those of the task" in done.stdout + done.stderr

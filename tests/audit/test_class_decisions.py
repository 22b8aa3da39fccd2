"""Reasons, decisions, replay and edits of models of several classes."""

import json

import numpy as np
import pytest

import rpte
from class_tables import LABELS, flower_model, flowers
from export_models import number_model
from rpte.audit.decisions.records import Chain, opened, text_of
from rpte.errors import InputError, ModelFileError
from rpte.model.file import content_hash, from_dict, to_dict
from rpte.model.ledger import OPTIMALITY

WHEN = "2026-01-31T12:00:00Z"
WHO = {"by": "A. Smith", "reason": "a test", "when": WHEN}


class TestReasons:
    def test_gaps_are_what_components_add_to_the_difference_beyond_the_mean(self):
        model, (X, _) = flower_model(), flowers()
        rule = rpte.reason_rule(model, most=99, least=0.0)
        score = model.score(X)
        for row, told in enumerate(rpte.reason_codes(model, X[:60], rule)):
            a, b = np.argsort(-score[row])[:2]
            assert (told.chosen, told.against) == (LABELS[a], LABELS[b])
            inputs = model.read(X[row : row + 1])
            means = model.training["mean_contributions"]
            gaps = {}
            for mine, its in zip(model.by_class[a], model.by_class[b], strict=True):
                now = float(mine.subtotal(inputs)[0] - its.subtotal(inputs)[0])
                gap = now - sum(means[t.name][a] - means[t.name][b] for t in mine.parts)
                if gap > 1e-12:
                    gaps[mine.name] = gap
            weights = {}
            for reason in told.reasons:
                weights[reason.component] = weights.get(reason.component, 0.0) + reason.weight
            assert weights == pytest.approx(gaps)

    def test_a_named_class_takes_the_place_of_the_next(self):
        model, (X, _) = flower_model(), flowers()
        rule = rpte.reason_rule(model, "best", against="lily")
        score = model.score(X)
        for row, told in enumerate(rpte.reason_codes(model, X, rule)):
            first, second = np.argsort(-score[row])[:2]
            wanted = "lily" if LABELS[first] != "lily" else LABELS[second]
            assert (told.chosen, told.against) == (LABELS[first], wanted)

    def test_they_are_those_of_the_two_classes(self):
        model, (X, _) = flower_model(), flowers()
        told = rpte.reason_codes(model, X[:1])[0]
        pair = model.between(told.chosen, told.against)
        rule = rpte.reason_rule(pair, adverse=told.chosen)
        assert told.reasons == rpte.reason_codes(pair, X[:1], rule)[0]

    def test_sentences_are_those_of_the_catalogue(self):
        model, (X, _) = flower_model(), flowers()
        said = {"height": {"code": "H", "sentence": "how tall it is", "missing": "no height"}}
        told = rpte.reason_codes(model, X, catalogue=rpte.Catalogue(said))
        codes = {reason.sentence for each in told for reason in each.reasons if reason.code == "H"}
        assert codes == {"how tall it is"}

    @pytest.mark.parametrize(
        ("asked", "words"),
        [
            ({"reference": "threshold"}, "for models of one score"),
            ({"against": "tulip"}, "'tulip' is not a class"),
            ({"reference": "worst"}, "must be one of"),
            ({"most": 0}, "at least one reason"),
            ({"adverse": "rose"}, "adverse is for models of one score"),
            ({"threshold": 0.5}, "threshold is for models of one score"),
        ],
    )
    def test_what_has_no_meaning_is_refused(self, asked, words):
        with pytest.raises(InputError, match=words):
            rpte.reason_rule(flower_model(), **asked)

    def test_a_rule_of_other_classes_is_refused(self):
        rule = rpte.ReasonRule(against="tulip")
        with pytest.raises(InputError, match="'tulip' is not a class"):
            rpte.reason_codes(flower_model(), flowers()[0], rule)

    def test_old_names_warn(self):
        with pytest.warns(FutureWarning, match="is now rpte.reason_rule"):
            rule = rpte.ClassReasonRule("best", "rose", 2, 0.1)
        model = flower_model()
        assert rule == rpte.reason_rule(model, "best", against="rose", most=2, least=0.1)
        with pytest.warns(FutureWarning, match="is now rpte.reason_codes"):
            assert rpte.class_reasons is rpte.reason_codes

    def test_rules_of_one_score_have_no_class_to_compare_with(self):
        model, _, _ = number_model("squared_error")
        with pytest.raises(InputError, match="for models of several classes"):
            rpte.reason_rule(model, against="rose")


def resealed(path, target, line, change):
    """Write a log in which one record is changed and every digest and head made anew."""
    chain, out = Chain(), []
    for number, text in enumerate(path.read_text().splitlines(), 1):
        record = json.loads(opened(text)[0])
        if number == line:
            change(record)
        closing = isinstance(record, dict) and record["record"] == "end"
        if closing:
            record["head"] = chain.head
        out.append(chain.sealed(text_of(record)))
        if closing:
            chain = Chain(out[-1], chain.last)
    target.write_bytes(b"".join(out))


class TestDecisions:
    @pytest.fixture(scope="class")
    def log(self, tmp_path_factory):
        model, (X, _) = flower_model(), flowers()
        path = tmp_path_factory.mktemp("decisions") / "log.jsonl"
        rpte.append_decisions(path, model, X[:40], when=WHEN, ids=list(range(40)))
        rule = rpte.reason_rule(model, "best", against="rose", most=2, least=0.1)
        rpte.append_decisions(path, model, X[40:60], rule, when=WHEN)
        return path

    def test_the_log_holds_class_and_all_scores_to_the_last_bit(self, log):
        model, (X, _) = flower_model(), flowers()
        score = model.score(X)
        cases = [json.loads(line) for line in log.read_text().splitlines()]
        cases = [case for case in cases if isinstance(case, list)]
        assert [case[3] for case in cases[:40]] == model.predict(X[:40]).tolist()
        assert [case[5] for case in cases[:40]] == score[:40].tolist()
        assert [case[4] for case in cases[40:]] == score[40:60].tolist()

    def test_a_replay_proves_it(self, log):
        found = rpte.replay(log, flower_model())
        assert (found.cases, found.findings) == (60, ())
        assert rpte.replay(log, flower_model(), found.head).proved == 60

    @pytest.mark.parametrize("field", ["class", "against", "scores", "reasons", "facts"])
    def test_a_record_that_is_changed_and_sealed_again_is_found(self, log, tmp_path, field):
        place = ["number", "id", "inputs", "class", "against", "scores", "reasons", "facts"]

        def change(record):
            at = place.index(field)
            old = record[at]
            if field == "scores":
                old[0] = float(np.nextafter(old[0], 9.0))
            elif field == "reasons":
                old.reverse()
                old.append(0)
            else:
                record[at] = "rose" if old != "rose" else "lily"

        bad = tmp_path / "bad.jsonl"
        resealed(log, bad, 7, change)
        findings = rpte.replay(bad, flower_model()).findings
        assert [f.line for f in findings] == [7]
        assert f"'{field}' is" in findings[0].text

    @pytest.mark.parametrize(
        "rule",
        [
            {"reference": "mean", "against": "tulip", "most": 4, "least": 0.05},
            {"reference": "mean", "adverse": "rose", "values": {}, "most": 4, "threshold": None,
             "least": 0.05},
        ],
    )  # fmt: skip
    def test_a_rule_that_the_model_does_not_give_is_found(self, log, tmp_path, rule):
        bad = tmp_path / "bad.jsonl"
        resealed(log, bad, 2, lambda record: record.update(rule=rule))
        texts = [finding.text for finding in rpte.replay(bad, flower_model()).findings]
        assert "the rule of reasons is not one that this model gives" in texts

    def test_cases_can_be_read_in_full(self, log):
        model, (X, _) = flower_model(), flowers()
        full = list(rpte.read_decisions(log, model))
        p = model.predict_proba(X[:60])
        assert [case["probabilities"] for case in full] == p.tolist()
        first = full[0]
        assert first["id"] == 0
        added = first["intercept"] + sum(c["value"] for c in first["components"])
        a, b = LABELS.index(first["class"]), LABELS.index(first["against"])
        assert added == pytest.approx(first["scores"][a] - first["scores"][b])

    def test_the_lines_are_those_of_decide(self, tmp_path):
        model, (X, _) = flower_model(), flowers()
        path = tmp_path / "log.jsonl"
        rpte.append_decisions(path, model, X[:5], when=WHEN)
        assert path.read_text().splitlines() == list(rpte.decide(model, X[:5], when=WHEN))

    def test_rules_and_numbers_of_other_models_are_refused(self):
        model, (X, _) = flower_model(), flowers()
        other, cells, _ = number_model("squared_error")
        with pytest.raises(InputError, match="the rule is for one score"):
            list(rpte.decide(model, X, rpte.reason_rule(other)))
        with pytest.raises(InputError, match="the rule is for several classes"):
            list(rpte.decide(other, cells, rpte.reason_rule(model)))
        with pytest.raises(InputError, match="for models of numbers; this tells classes"):
            list(rpte.decide(model, X, exposure=np.ones(len(X))))

    def test_the_log_of_another_model_is_told(self, log):
        shorter = rpte.edit(flower_model(), drop_sources=["soil"], **WHO)
        assert "not of the given one" in rpte.replay(log, shorter).findings[0].text


def failed(checks):
    return [check.name for check in checks if not check.holds]


class TestEdits:
    def test_a_source_that_is_dropped_gives_its_mean_to_the_intercepts(self):
        model, (X, y) = flower_model(), flowers()
        edited = rpte.edit(model, drop_sources=["height"], table=rpte.Labelled(X, y), **WHO)
        assert "height" not in edited.sources
        before, after = model.score(X), edited.score(X)
        gaps = [s[:, 0].mean() - s[:, 1].mean() for s in (before, after)]
        assert gaps[0] == pytest.approx(gaps[1])
        assert sum(edited.intercepts) == pytest.approx(0.0)
        entry = edited.ledger[-1]
        assert entry["withdrawn"] == [OPTIMALITY]
        assert entry["before"]["metrics"]["log_loss"] < entry["after"]["metrics"]["log_loss"]
        assert entry["after"]["intercept"] == list(edited.intercepts)
        assert failed(edited.verify(X, y)) == []

    def test_a_term_is_dropped_from_all_classes(self):
        model = flower_model()
        name = model.outline.direct[0].name
        edited = rpte.edit(model, drop_terms=[name], **WHO)
        assert name not in [rule.term for rule in edited.rules()]
        others = {rule.term: rule.coefficients for rule in model.rules() if rule.term != name}
        assert {rule.term: rule.coefficients for rule in edited.rules()} == others

    def test_stage_3_solved_again_is_the_optimum_of_the_terms_that_stay(self):
        model, (X, y) = flower_model(), flowers()
        once = rpte.edit(model, drop_sources=["height"], **WHO)
        table = rpte.Labelled(X, y)
        solved = rpte.edit(once, refit=True, table=table, **WHO)
        assert solved.ledger[-1]["restored"] == [OPTIMALITY]
        assert failed(solved.verify(X, y)) == []
        assert OPTIMALITY in [check.name for check in solved.verify(X, y)]
        figures = solved.ledger[-1]
        assert figures["after"]["metrics"]["log_loss"] < figures["before"]["metrics"]["log_loss"]
        at_once = rpte.edit(model, drop_sources=["height"], refit=True, table=table, **WHO)
        assert at_once.score(X) == pytest.approx(solved.score(X))

    def test_a_refit_keeps_the_penalty_of_leaves_that_are_merged(self):
        X, y = flowers()
        model = rpte.RPTEClassifier(l1=0.005, max_trees=1, max_leaves=6).fit(X, y).model_
        node = model.outline.trees[0].tree.root.yes
        assert (node.yes, node.no) == (0, 1)  # the first two leaves are siblings
        table, merge = rpte.Labelled(X, y), [["T1.L1", "T1.L2"]]
        edited = rpte.edit(model, merge=merge, refit=True, table=table, **WHO)
        assert 2.0 in [leaf.penalty for leaf in edited.outline.trees[0].leaves]
        assert failed(edited.verify(X, y)) == []

    def test_a_refit_of_all_terms_finds_the_same_coefficients(self):
        model, (X, y) = flower_model(), flowers()
        again = rpte.edit(model, refit=True, table=rpte.Labelled(X, y), **WHO)
        for old, new in zip(model.rules(), again.rules(), strict=True):
            assert new.coefficients == pytest.approx(old.coefficients, abs=1e-6)

    def test_metrics_are_those_of_scikit_learn(self):
        from sklearn.metrics import accuracy_score, log_loss

        model, (X, y) = flower_model(), flowers()
        edited = rpte.edit(model, drop_sources=["soil"], table=rpte.Labelled(X, y), **WHO)
        told, p = edited.ledger[-1]["after"]["metrics"], edited.predict_proba(X)
        assert told["log_loss"] == pytest.approx(log_loss(y, p, labels=LABELS))
        assert told["accuracy"] == pytest.approx(accuracy_score(y, edited.predict(X)))
        wrong = ((p - (y.to_numpy()[:, None] == np.array(LABELS))) ** 2).sum(axis=1).mean()
        assert told["brier"] == pytest.approx(wrong)

    def test_the_file_keeps_the_ledger(self, tmp_path):
        model, (X, y) = flower_model(), flowers()
        edited = rpte.edit(model, drop_sources=["soil"], table=rpte.Labelled(X, y), **WHO)
        edited.save(tmp_path / "edited.json")
        loaded = rpte.load(tmp_path / "edited.json")
        assert loaded == edited
        assert failed(loaded.verify(X, y)) == []
        assert "edit 1" in loaded.summary()

    @pytest.mark.parametrize(
        ("place", "value", "words"),
        [
            ("intercept", 0.5, "must be a list of 3"),
            ("intercept", [0.0] * 4, "must be a list of 3"),
            (
                "metrics",
                {"rows": 1.0, "log_loss": 1.0, "brier": 0.1, "auc": 0.5},
                "several classes",
            ),
        ],
    )
    def test_a_ledger_of_one_score_is_refused(self, place, value, words):
        document = to_dict(rpte.edit(flower_model(), drop_sources=["soil"], **WHO))
        document["ledger"][0]["after"][place] = value
        with pytest.raises(ModelFileError, match=words):
            from_dict({**document, "hash": content_hash(document)})

    def test_an_entry_that_was_changed_is_found(self):
        document = to_dict(rpte.edit(flower_model(), drop_sources=["soil"], **WHO))
        document["ledger"][0]["reason"] = "another"
        model = from_dict({**document, "hash": content_hash(document)})
        assert failed(model.verify()) == ["ledger"]

    @pytest.mark.parametrize(
        ("asked", "words"),
        [
            ({"drop_terms": ["D99"]}, "no such term"),
            ({"drop_sources": ["petals"]}, "no such variable"),
            ({"merge": [["T99.L1", "T99.L2"]]}, "no such leaf"),
            ({"refit": True}, "needs a table"),
        ],
    )
    def test_what_cannot_be_edited_is_refused(self, asked, words):
        with pytest.raises(InputError, match=words):
            rpte.edit(flower_model(), **asked, **WHO)

    def test_a_refit_needs_rows_of_every_class(self):
        model, (X, y) = flower_model(), flowers()
        some = (y != "rose").to_numpy()
        with pytest.raises(InputError, match="no rows of the class 'rose'"):
            rpte.edit(model, refit=True, table=rpte.Labelled(X[some], y[some]), **WHO)

"""Reasons, decisions and their replay for times until an event, at a horizon."""

import json

import pytest

import rpte
from rpte.errors import InputError
from survival_trial import FEATURES, fitted, trial

WHEN = "2026-01-31T12:00:00Z"
HORIZON = 365.0


def table(strata=None):
    return trial()[FEATURES if strata is None else [*FEATURES, strata]]


def survival(model, strata=None):
    return model.survival_at(table(strata), HORIZON, strata=strata)[:, 0]


@pytest.mark.filterwarnings("ignore:the table has 1 columns")
@pytest.mark.parametrize("strata", [None, "centre"])
class TestLog:
    def test_a_replay_gives_every_case_again(self, strata, tmp_path):
        path, model = tmp_path / "log.jsonl", fitted(strata=strata)
        found = survival(model, strata)
        rule = rpte.reason_rule(model, threshold=0.6, horizon=HORIZON)
        beside = {} if strata is None else {"strata": strata}
        done = rpte.append_decisions(path, model, table(strata), rule, when=WHEN, **beside)
        again = rpte.replay(path, model, done.head)
        assert again.findings == ()
        assert again.proved == len(found)
        cases = list(rpte.read_decisions(path, model))
        assert [case["survival"] for case in cases] == found.tolist()
        assert [case["adverse"] for case in cases] == (found <= 0.6).tolist()
        assert 0 < sum(case["adverse"] for case in cases) < len(cases)
        if strata is not None:
            assert [case["strata"] for case in cases] == trial()["centre"].tolist()

    def test_a_change_is_found(self, strata, tmp_path):
        path, model = tmp_path / "log.jsonl", fitted(strata=strata)
        rule = rpte.reason_rule(model, threshold=0.6, horizon=HORIZON)
        beside = {} if strata is None else {"strata": strata}
        rpte.append_decisions(path, model, table(strata), rule, when=WHEN, **beside)
        lines = path.read_text().splitlines()
        for old, new in (('"horizon":365.0', '"horizon":366.0'), (',"horizon":365.0', "")):
            path.write_text("\n".join([lines[0], lines[1].replace(old, new), *lines[2:]]) + "\n")
            assert rpte.replay(path, model).findings
        fields = json.loads(lines[1])["fields"]
        others = [("score", 0.125)]
        others += [] if strata is None else [("strata", "west"), ("strata", None), ("strata", [1])]
        for name, other in others:
            case = json.loads(lines[4])
            case[fields.index(name)] = other
            forged = [*lines[:4], json.dumps(case, separators=(",", ":")), *lines[5:]]
            path.write_text("\n".join(forged) + "\n")
            texts = [str(finding) for finding in rpte.replay(path, model).findings]
            assert any("case 3" in text for text in texts)


def test_another_horizon_sealed_honestly_decides_otherwise(tmp_path):
    """A run sealed anew with another horizon is found by its decisions."""
    model, path = fitted(), tmp_path / "log.jsonl"
    rules = [rpte.reason_rule(model, threshold=0.6, horizon=h) for h in (365.0, 30.0)]
    first, other = (list(rpte.decide(model, table(), rule, when=WHEN)) for rule in rules)
    path.write_text("\n".join([*first[:1], other[1], *first[2:]]) + "\n")
    texts = [str(finding) for finding in rpte.replay(path, model).findings]
    assert any("'adverse' is True, computed False" in text for text in texts)


def test_without_a_horizon_the_hazard_decides(tmp_path):
    model, path = fitted(), tmp_path / "log.jsonl"
    rule = rpte.reason_rule(model, threshold=1.5)
    rpte.append_decisions(path, model, table(), rule, when=WHEN)
    assert rpte.replay(path, model).findings == ()
    hazard = model.response(table())
    cases = list(rpte.read_decisions(path, model))
    assert [case["relative hazard"] for case in cases] == hazard.tolist()
    assert [case["adverse"] for case in cases] == (hazard >= 1.5).tolist()
    assert "horizon" not in path.read_text()


class TestRefused:
    @pytest.mark.parametrize(
        ("options", "says"),
        [
            ({"adverse": "north"}, r"of a hazard it is one of \['high', 'low'\]"),
            ({"threshold": 1.0, "horizon": 365}, "threshold=1.0; it is a probability between"),
            ({"threshold": 0.0}, "threshold=0.0; it is a hazard ratio above 0"),
            ({"threshold": 0.5, "horizon": 1e6}, "outside of what was observed"),
            (
                {"reference": "threshold", "threshold": 1.0 - 1e-9, "horizon": 365},
                "passes the threshold .*; lower it",
            ),
        ],
    )
    def test_rules(self, options, says):
        with pytest.raises(InputError, match=says):
            rpte.reason_rule(fitted(), cases=table(), **options)

    def test_strata_that_are_needed_or_not_known(self):
        model = fitted(strata="centre")
        rule = rpte.reason_rule(model, threshold=0.6, horizon=HORIZON)
        with pytest.raises(InputError, match="give strata="):
            list(rpte.decide(model, table(), rule))
        with pytest.raises(InputError, match="strata holds 'west'"):
            list(rpte.decide(model, table(), rule, strata=["west"] * len(table())))
        with pytest.raises(InputError, match="exposure and offset are for models of numbers"):
            list(rpte.decide(model, table(), exposure=1.0))

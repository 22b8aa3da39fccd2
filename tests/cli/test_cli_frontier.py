"""`rpte frontier`, as a user meets it, and the pictures that it draws."""

import re
import xml.etree.ElementTree as ET

import pytest
from rich.console import Console
from typer.testing import CliRunner

from model_files import sealed, stored, write
from rpte.cli import app
from rpte.cli.audit import frontier_view
from rpte.figures.frontier import Frontier, FrontierPoint, draw_frontier, plot_frontier
from rpte.figures.text import ticks

SVG = "{http://www.w3.org/2000/svg}"


def run(*arguments, width=80):
    env = {"COLUMNS": str(width), "TERM": "dumb"}
    return CliRunner().invoke(app, ["frontier", *map(str, arguments)], env=env)


def made(rows, chosen=0, null=1.3, price=0.002):
    """Return a frontier of (conditions, deviance, error)."""
    points = tuple(FrontierPoint(m, m, d, e, i == chosen) for i, (m, d, e) in enumerate(rows))
    return Frontier(points, null, null - min(d for _, d, _ in rows), price)


STEEP = made(
    [(0, 1.3, 0.002), (2, 0.8, 0.01), (5, 0.3, 0.01), (9, 0.2, 0.02), (30, 0.19, 0.02)], chosen=3
)
FLAT = made([(0, 1.3, 0.01), (1, 1.27, 0.02), (3, 1.25, 0.04), (4, 1.24, 0.04)], chosen=2)
ALONE = made([(0, 1.3, 0.01)])
EXACT = made([(0, 1.3, 0.0), (1, 0.0, 0.0)], chosen=1)
LONG = made([(0, 1.3, 0.0), (1000, 0.9, 0.01), (123456, 0.5, 0.01)], chosen=2)
ALL = [STEEP, FLAT, ALONE, EXACT, LONG]


@pytest.fixture(scope="module")
def document():
    return stored("chosen").document


@pytest.fixture
def file(document, tmp_path):
    return write(document, tmp_path)


def told(document):
    return document["training"]["selection"]


def rows_of(output):
    found = re.findall(
        r"^ *(\d+) +(\d+) +(\d\.\d{4}) +(\d\.\d{4}) +(-?\d+\.\d)%(.*)$", output, re.M
    )
    return [(int(m), int(c), float(d), float(e), float(s), w) for m, c, d, e, s, w in found]


def test_the_table_is_what_the_file_holds(file, document):
    outcome = run(file)
    assert outcome.exit_code == 0, outcome.output
    rows, selection = rows_of(outcome.output), told(document)
    assert len(rows) == len(selection["frontier"]) > 1
    for (miu, components, deviance, error, _, _), at in zip(
        rows, selection["frontier"], strict=True
    ):
        assert (miu, components) == (at["miu"], at["components"])
        assert deviance == pytest.approx(at["deviance"], abs=6e-5)
        assert error == pytest.approx(at["error"], abs=6e-5)
    marked = [at for row, at in zip(rows, selection["frontier"], strict=True) if "chosen" in row[5]]
    assert [at["l1"] for at in marked] == [selection["chosen"]["l1"]]


def test_shares_go_from_the_base_rate_to_the_best_found(file, document):
    null = told(document)["null_deviance"]
    rows = rows_of(run(file).output)
    best = min(row[2] for row in rows)
    assert rows[-1][4] == 100.0
    for row in rows:
        assert row[4] == pytest.approx(100 * (null - row[2]) / (null - best), abs=0.1)


def test_a_chosen_model_off_the_frontier_is_said(document, tmp_path):
    changed = stored("chosen").copy()
    told(changed)["chosen"]["l1"] *= 2
    output = run(write(sealed(changed), tmp_path)).output
    assert "◆" not in output
    assert "not listed" in output


@pytest.mark.parametrize("found", ALL)
@pytest.mark.parametrize("width", [60, 80, 140])
def test_text_plots_keep_within_the_width(found, width):
    lines = plot_frontier(found, width).splitlines()
    assert max(map(len, lines)) <= width
    assert all(line == line.rstrip() for line in lines)


@pytest.mark.parametrize("width", [80, 140])
def test_text_plots_have_a_sign_per_point_at_its_place(width):
    lines = plot_frontier(STEEP, width).splitlines()
    area = lines[1:17]
    signs = sorted(
        (x, y, c) for y, line in enumerate(area) for x, c in enumerate(line) if c in "●◆▲"
    )
    assert "".join(c for _, _, c in signs) == "▲▲●◆●"
    assert [y for _, y, _ in signs] == sorted(y for _, y, _ in signs)
    axis, labels = lines[17], lines[18]
    for number in re.finditer(r"\d+", labels):
        assert axis[number.start()] == "┬"
    zero, thirty = axis.index("┬"), axis.rindex("┬")
    assert signs[0][0] == zero
    assert signs[3][0] == pytest.approx(zero + 9 / 30 * (thirty - zero), abs=1)
    assert signs[-1][0] == thirty


def test_bars_are_drawn_where_they_fit_only():
    assert "standard error" in plot_frontier(FLAT, 80)
    assert "standard error" not in plot_frontier(EXACT, 80)
    assert "above the scale" not in plot_frontier(FLAT, 80)


def test_terminals_without_unicode_get_plain_characters():
    console = Console(width=80)
    with console.capture() as captured:
        console.print(frontier_view(STEEP, 80, ascii_only=True))
    assert captured.get().isascii()
    assert "# chosen" in captured.get()
    assert "o model" in captured.get()


@pytest.mark.parametrize("found", ALL)
def test_pictures_are_sound_and_show_every_point(found):
    root = ET.fromstring(draw_frontier(found))
    width, height = float(root.get("width")), float(root.get("height"))
    high = found.scale()[1]
    others = [p for p in found.points if not p.chosen and p.deviance <= high]
    circles = root.findall(f"{SVG}circle")
    assert len(circles) == len(others)
    for circle in circles:
        assert 0 < float(circle.get("cx")) < width
        assert 0 < float(circle.get("cy")) < height
    legend = " ".join(text.text or "" for text in root.findall(f"{SVG}text"))
    chosen = next(p for p in found.points if p.chosen)
    assert re.search(rf"chosen: {chosen.miu} conditions?, deviance {chosen.deviance:.4f}", legend)
    assert ("triangles lie above the scale" in legend) == any(
        p.deviance > high for p in found.points
    )


def test_the_scale_leaves_out_what_would_squeeze_the_rest():
    assert STEEP.scale() == pytest.approx((0.17, 0.31))
    assert FLAT.scale() == pytest.approx((1.20, 1.31))
    assert ALONE.scale() == pytest.approx((1.29, 1.31))
    chosen_high = made([(p.miu, p.deviance, p.error) for p in STEEP.points], chosen=1)
    assert chosen_high.scale()[1] > 0.8


@pytest.mark.parametrize(("low", "high", "most"), [(0, 1, 5), (0.137, 0.382, 6), (0, 110, 8)])
def test_ticks_are_round_and_inside(low, high, most):
    found = ticks(low, high, most)
    assert 2 <= len(found) <= most + 1
    assert low - 1e-9 <= found[0]
    assert found[-1] <= high + 1e-9
    digits = f"{found[1] - found[0]:.6e}"[:8].rstrip("0").rstrip(".")
    assert digits in ("1", "2", "5")


def test_svg_is_written_whole_or_not_at_all(file, tmp_path):
    target = tmp_path / "frontier.svg"
    outcome = run(file, "--svg", target)
    assert outcome.exit_code == 0
    assert "frontier.svg" in outcome.output
    assert ET.fromstring(target.read_text(encoding="utf-8")).tag == f"{SVG}svg"
    assert sorted(p.name for p in tmp_path.iterdir()) == ["frontier.svg", "model.json"]
    failed = run(file, "--svg", tmp_path / "nowhere" / "frontier.svg")
    assert failed.exit_code == 1
    assert "does not exist; make it first" in failed.stderr


@pytest.mark.parametrize(
    ("name", "reason"),
    [("mixed", "l1='4/n'"), ("array", "l1=0.004"), ("boosted", "reassign=False")],
)
def test_a_model_without_a_frontier_says_why_and_what_to_do(name, reason, tmp_path):
    outcome = run(write(stored(name).document, tmp_path))
    assert outcome.exit_code == 1
    assert outcome.stdout == ""
    assert "no frontier" in outcome.stderr
    assert reason in outcome.stderr
    assert "l1='cv'" in outcome.stderr
    assert outcome.stderr.count("\n") == 1


def test_nothing_validated_is_no_frontier(tmp_path):
    changed = stored("chosen").copy()
    told(changed)["null_deviance"] = 0.0
    outcome = run(write(sealed(changed), tmp_path))
    assert outcome.exit_code == 1
    assert "could be held out" in outcome.stderr


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("{", "is not a JSON document"),
        ("{}", "not a model file"),
        (None, "No such file"),
    ],
)
def test_bad_files_end_in_one_line(content, message, tmp_path):
    path = tmp_path / "model.json"
    if content is not None:
        path.write_text(content)
    outcome = run(path)
    assert outcome.exit_code == 1
    assert message in outcome.stderr
    assert outcome.stderr.startswith("error: ")
    assert outcome.stderr.count("\n") == 1


def test_a_changed_file_is_refused(document, tmp_path):
    changed = stored("chosen").copy()
    told(changed)["frontier"][0]["deviance"] = 0.5
    outcome = run(write(changed, tmp_path))
    assert outcome.exit_code == 1
    assert "hash" in outcome.stderr


def test_any_narrow_terminal_gets_something(file):
    assert run(file, width=10).exit_code == 0

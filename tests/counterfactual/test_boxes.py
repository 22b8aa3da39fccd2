"""No point of a box is better than the mixture of its corners and the slack."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from effort import examples
from rpte import Actions
from rpte.counterfactual.boxes import Grid, blocks_of, boxes_of, corners_of
from rpte.counterfactual.choices import choices_of
from small_models import models, rows

FINE = Actions(steps=dict.fromkeys("absz", 0.5))


@examples(40)
@given(models(curved=True), rows(), st.sampled_from([-1, 1]))
def test_corners_bound_every_point(model, row, sign):
    inputs = model.read(row)
    for component in model.components:
        choices = tuple(choices_of(model, inputs, name, FINE) for name in component.sources)
        grid = Grid(component, choices, sign)
        blocks = [blocks_of(grid, v) for v in range(len(choices))]
        boxes = boxes_of(grid, blocks, range(len(choices) + 1))
        boxes = boxes.take(np.argsort(-boxes.points)[:12])
        _, corners = corners_of(grid, boxes)
        for place in range(len(boxes)):
            points = boxes.take(np.array([place])).all_points()
            cost, gain = grid.cost(points), grid.gain(points)
            own = corners.place == place
            for price in (0.0, 0.2, 1.0, 5.0, 1e4):
                best = corners.cost[own] - price * corners.gain[own]
                assert (cost - price * gain).min() >= best.min() - 1e-9 * (1 + price)


@examples(40)
@given(models(curved=True), rows())
def test_blocks_leave_nothing_out(model, row):
    """Every allowed value is in a block, or is beaten there by a cheaper one that adds the same."""
    inputs = model.read(row)
    for component in model.components:
        choices = tuple(choices_of(model, inputs, name, FINE) for name in component.sources)
        grid = Grid(component, choices, 1)
        for v, own in enumerate(choices):
            held = {p for low, high in blocks_of(grid, v) for p in range(low, high + 1)}
            at = np.zeros((len(own.values), len(choices)), np.intp)
            at[:, v] = np.arange(len(own.values))
            gain = grid.gain(at)
            for p in set(range(1, len(own.values))) - held:
                assert any(gain[q] == gain[p] and own.costs[q] <= own.costs[p] for q in held)

"""Exact fits of several classes: against scikit-learn, by their certificate, in canonical form."""

import warnings

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import minimize
from sklearn.linear_model import LogisticRegression

from effort import examples
from rpte.columns.limits import ZERO
from rpte.estimation.approximate import ApproximateDesign
from rpte.estimation.classes import ClassesPath
from rpte.estimation.softmax import ClassesProblem, solve_classes
from rpte.losses import Multinomial


def problem(seed, classes=3, n=150, q=5, weighted=False, sign=None, penalty=None):
    """Return a problem with signal in the first terms."""
    rng = np.random.default_rng(seed)
    z = rng.normal(size=(q, n)) + 0.5 * rng.normal(size=n)
    z = (z - z.mean(axis=1)[:, None]) / z.std(axis=1)[:, None]
    effect = np.zeros((classes, q))
    effect[:, : min(q, 3)] = rng.normal(size=(classes, min(q, 3)))
    y = np.argmax(effect @ z + rng.gumbel(size=(classes, n)), axis=0).astype(float)
    y[:classes] = np.arange(classes)
    weight = rng.integers(1, 4, n).astype(float) if weighted else np.ones(n)
    sign = np.zeros(q, np.int8) if sign is None else np.array(sign, np.int8)
    given = np.ones(q) if penalty is None else np.asarray(penalty, float)
    return ClassesProblem(z, y, weight, given, sign, Multinomial(classes))


def probabilities(made, fit):
    score = made.at(fit.intercepts, fit.coefficients).score
    return made.loss.response(score).T


def of_scikit_learn(made, l1, l1_ratio=1.0, penalised=True):
    """Return the probabilities of the same problem there: mean deviance is 2 / W of its loss."""
    strength = 2.0 / (l1 * made.weight.sum()) if penalised else np.inf
    solver = {"solver": "saga", "l1_ratio": l1_ratio} if penalised else {"solver": "lbfgs"}
    model = LogisticRegression(C=strength, tol=1e-10, max_iter=200_000, **solver)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model.fit(made.z.T, made.y, made.weight)
    return model.predict_proba(made.z.T)


@pytest.mark.parametrize("l1_ratio", [1.0, 0.5])
@pytest.mark.parametrize(("classes", "weighted"), [(3, False), (4, True), (6, False)])
def test_the_penalised_fit_is_that_of_scikit_learn(classes, weighted, l1_ratio):
    made = problem(classes, classes, weighted=weighted)
    for part in (0.3, 0.03):
        l1 = part * made.lambda_max()
        fit = solve_classes(made, l1, l1_ratio)
        assert fit.converged
        theirs = of_scikit_learn(made, l1, l1_ratio)
        np.testing.assert_allclose(probabilities(made, fit), theirs, atol=1e-6)


@pytest.mark.parametrize("classes", [3, 5])
def test_with_hardly_any_penalty_it_is_the_unpenalised_fit(classes):
    made = problem(10 + classes, classes, n=400)
    fit = solve_classes(made, 1e-9)
    theirs = of_scikit_learn(made, 0.0, penalised=False)
    np.testing.assert_allclose(probabilities(made, fit), theirs, atol=1e-5)


@examples(25)
@given(
    st.integers(0, 9_999),
    st.integers(2, 6),
    st.integers(1, 7),
    st.booleans(),
    st.sampled_from([1.0, 0.6]),
    st.floats(0.01, 0.9),
)
def test_every_fit_has_its_certificate(seed, classes, q, weighted, l1_ratio, part):
    made = problem(seed, classes, 80, q, weighted)
    l1 = part * made.lambda_max(l1_ratio)
    fit = solve_classes(made, l1, l1_ratio)
    assert fit.converged
    at = made.at(fit.intercepts, fit.coefficients)
    of_intercepts, slope = made.slopes(at)
    np.testing.assert_allclose(of_intercepts, 0.0, atol=fit.kkt + 1e-12)
    slope = slope + l1 * (1 - l1_ratio) * fit.coefficients
    active, bound = fit.coefficients != 0.0, l1 * l1_ratio
    left = np.where(
        active,
        np.abs(slope + bound * np.sign(fit.coefficients)),
        np.maximum(np.abs(slope) - bound, 0.0),
    )
    assert left.max() <= fit.kkt + 1e-12 <= 1e-3 * l1
    size = np.abs(fit.coefficients)
    cost = l1 * (l1_ratio * size.sum() + 0.5 * (1 - l1_ratio) * (size**2).sum())
    assert fit.objective == pytest.approx(at.loss + cost, rel=1e-12)
    rng = np.random.default_rng(seed)  # no other point is better
    for scale in (1e-3, 0.1):
        theta = fit.coefficients + scale * rng.normal(size=size.shape)
        other = made.at(fit.intercepts + scale * rng.normal(size=classes), theta)
        more = l1 * (l1_ratio * np.abs(theta).sum() + 0.5 * (1 - l1_ratio) * (theta**2).sum())
        assert other.loss + more >= fit.objective - 1e-9


@examples(25)
@given(st.integers(0, 9_999), st.integers(2, 7), st.integers(1, 6), st.floats(0.01, 0.5))
def test_the_canonical_form(seed, classes, q, part):
    made = problem(seed, classes, 80, q)
    fit = solve_classes(made, part * made.lambda_max())
    assert fit.intercepts.sum() == pytest.approx(0.0, abs=1e-9)
    for sizes in fit.coefficients.T:
        assert (sizes > 0).sum() <= classes / 2
        assert (sizes < 0).sum() <= classes / 2
        assert (sizes == 0.0).any()
        # No other place of the same probabilities and penalty has smaller squares.
        for zero in sizes:
            moved = sizes - zero
            if np.abs(moved).sum() <= np.abs(sizes).sum() * (1 + 1e-12):
                assert (sizes**2).sum() <= (moved**2).sum() * (1 + 1e-8) + 1e-15


@examples(15)
@given(st.integers(0, 9_999), st.integers(3, 5))
def test_names_of_classes_and_the_start_change_nothing(seed, classes):
    made = problem(seed, classes, 90)
    l1 = 0.1 * made.lambda_max()
    fit, rng = solve_classes(made, l1), np.random.default_rng(seed)
    turned = rng.permutation(classes)
    other = ClassesProblem(
        made.z, turned[made.y.astype(int)].astype(float), made.weight, made.penalty, made.sign,
        made.loss,
    )  # fmt: skip
    again = solve_classes(other, l1)
    np.testing.assert_allclose(again.coefficients[turned], fit.coefficients, atol=1e-5)
    np.testing.assert_allclose(again.intercepts[turned], fit.intercepts, atol=1e-5)
    start = rng.normal(size=(classes, 1 + made.n_terms))
    warm = solve_classes(made, l1, start=start)
    np.testing.assert_allclose(probabilities(made, warm), probabilities(made, fit), atol=1e-5)


def test_a_weight_is_a_repetition():
    made = problem(3, 4, weighted=True)
    times = made.weight.astype(int)
    z, y = np.repeat(made.z, times, axis=1), np.repeat(made.y, times)
    rows = ClassesProblem(z, y, np.ones(len(y)), made.penalty, made.sign, made.loss)
    l1 = 0.1 * made.lambda_max()
    assert rows.lambda_max() == pytest.approx(made.lambda_max(), rel=1e-12)
    one, other = solve_classes(made, l1), solve_classes(rows, l1)
    np.testing.assert_allclose(one.coefficients, other.coefficients, atol=1e-6)


@pytest.mark.parametrize("penalty", [None, [1.0, 3.0, 1.0, 0.2, 1.0]])
def test_lambda_max_is_where_the_first_coefficient_is(penalty):
    made = problem(5, 3, penalty=penalty)
    top = made.lambda_max()
    assert not solve_classes(made, 1.000001 * top).coefficients.any()
    assert solve_classes(made, 0.98 * top).coefficients.any()
    assert made.lambda_max(0.5) == pytest.approx(2.0 * top)


def test_signs_are_kept_in_every_class():
    made = problem(6, 3, sign=[1, -1, 0, 1, -1])
    fit = solve_classes(made, 0.02 * made.lambda_max())
    assert fit.converged
    assert (fit.coefficients * made.sign >= 0.0).all()
    assert fit.coefficients[:, 2].any()


def of_scipy(made, l1, l1_ratio):
    """Return the objective of the same problem by L-BFGS-B, on both sides of 0 apart."""
    classes, q = made.loss.n_scores, made.n_terms
    sign = np.broadcast_to(made.sign, (classes, q))
    above, below = np.isin(sign, (0, 1)), np.isin(sign, (0, -1))
    free = [(None, None)] * classes
    sides = [(0.0, None if may else 0.0) for may in (*above.ravel(), *below.ravel())]

    def value(x):
        up, down = x[classes:].reshape(2, classes, q)
        at = made.at(x[:classes], up - down)
        at_intercepts, slope = made.slopes(at)
        size, strength = up + down, l1 * made.penalty
        cost = strength * (l1_ratio * size + 0.5 * (1 - l1_ratio) * (up - down) ** 2)
        ridge = strength * (1 - l1_ratio) * (up - down)
        more = strength * l1_ratio
        slopes = [at_intercepts, (more + slope + ridge).ravel(), (more - slope - ridge).ravel()]
        return at.loss + cost.sum(), np.concatenate(slopes)

    start = np.zeros(classes + 2 * classes * q)
    limits = {"maxiter": 20_000, "maxfun": 50_000, "ftol": 1e-15, "gtol": 1e-9}
    given = {"jac": True, "method": "L-BFGS-B", "bounds": [*free, *sides], "options": limits}
    return float(minimize(value, start, **given).fun)


def by_class(seed, classes, q):
    """Return signs of each class, one of them for all terms 0 in some class."""
    found = np.random.default_rng(seed).choice([-1, 0, 1, ZERO], (classes, q))
    return np.where(found.any(axis=0) & (found != ZERO).any(axis=0), found, 0).astype(np.int8)


@examples(15)
@given(
    st.integers(0, 9_999),
    st.integers(3, 6),
    st.booleans(),
    st.sampled_from([1.0, 0.5]),
    st.floats(0.01, 0.5),
)
def test_signs_by_class_have_the_optimum_of_scipy(seed, classes, weighted, l1_ratio, part):
    signs = by_class(seed, classes, 4)
    made = problem(seed, classes, 100, 4, weighted, signs, [1.0, 2.0, 0.5, 1.0])
    top = made.lambda_max(l1_ratio)
    if top == 0.0:
        return
    fit = solve_classes(made, part * top, l1_ratio)
    assert fit.converged
    assert (np.where(signs == ZERO, 0, signs) * fit.coefficients >= 0.0).all()
    assert not fit.coefficients[signs == ZERO].any()
    oracle = of_scipy(made, part * top, l1_ratio)
    assert fit.objective == pytest.approx(oracle, rel=1e-6)
    assert fit.objective <= oracle + 1e-9
    start = np.random.default_rng(seed).normal(size=(classes, 5))
    again = solve_classes(made, part * top, l1_ratio, start)
    assert again.objective == pytest.approx(fit.objective, rel=1e-7)


@examples(25)
@given(st.integers(0, 9_999), st.integers(3, 7), st.floats(0.01, 0.9))
def test_one_rising_class_leaves_the_canonical_form_no_choice(seed, classes, part):
    """Without a limit that binds, the fit of 3 classes is that without limits."""
    signs = np.full((classes, 1), -1, np.int8)
    signs[0] = 1
    made, free = (problem(seed, classes, 80, 1, sign=s) for s in (signs, [0]))
    fit = solve_classes(made, part * free.lambda_max())
    sizes = fit.coefficients[:, 0]
    assert not sizes.any() or 0.0 in sizes
    other = solve_classes(free, part * free.lambda_max())
    assert fit.objective >= other.objective - 1e-9
    if classes == 3 and (signs * other.coefficients >= 0.0).all():
        np.testing.assert_allclose(fit.coefficients, other.coefficients, atol=1e-5)


@pytest.mark.parametrize("limited", [False, True])
@pytest.mark.parametrize("classes", [3, 5])
def test_the_approximate_path_is_near_the_exact_one(classes, limited):
    sign = by_class(classes, classes, 6) if limited else None
    made = problem(20 + classes, classes, 500, 6, sign=sign)
    rows = np.arange(made.n_terms)
    design = ApproximateDesign(
        made.z.astype(np.float32), rows, made.y, made.weight, made.penalty, made.sign, made.loss
    )
    l1s = made.lambda_max() * np.array([0.5, 0.1, 0.02])
    for l1, found in zip(l1s, ClassesPath(design).to(l1s), strict=True):
        exact = solve_classes(made, float(l1))
        assert not found[:, 1:][np.broadcast_to(made.sign == ZERO, found[:, 1:].shape)].any()
        assert (made.sign * found[:, 1:] >= 0.0).all()
        at = made.at(found[:, 0], found[:, 1:])
        reached = at.loss + l1 * np.abs(found[:, 1:]).sum()
        assert exact.objective - 1e-9 <= reached <= exact.objective * 1.005
        got = made.loss.response(at.score).T
        np.testing.assert_allclose(got, probabilities(made, exact), atol=0.1)

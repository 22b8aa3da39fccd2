"""What all models of one fit share: the rows, the settings, the target, how rows were split."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from rpte.estimation.candidate import Candidate, CandidatePenalty
from rpte.estimation.held_rows import HeldRows, TermValues, leaf_values, refuse_many
from rpte.estimation.monotone import solve_in_order
from rpte.estimation.problem import AnyProblem
from rpte.estimation.softmax import ClassesProblem, solve_classes
from rpte.estimation.terms import TermSet, block_design, choose_terms, make_design
from rpte.fit.coefficients import ClassesEstimate, Estimate, TrainedTerms
from rpte.fit.hazards import TableHazards
from rpte.fit.settings import Settings
from rpte.fit.structure_learner import Discovery, WarmStart
from rpte.kernels.codes import sorted_numbers
from rpte.losses import Multinomial
from rpte.losses.risk_sets import FollowUp
from rpte.model.class_target import ClassesTarget
from rpte.model.survival import SurvivalTarget
from rpte.model.target import AnyTarget
from rpte.rows import scale
from rpte.rows.passes import add
from rpte.rows.threads import thread_map
from rpte.rows.training_rows import MemoryRows, TrainingRows, taken
from rpte.structure.structure import Structure
from rpte.structure.tree import Tree
from rpte.table.fingerprint import fingerprint
from rpte.table.table import Table
from rpte.utils.arrays import Floats

Record = Mapping[str, Any]
NOT_COMPARED: Record = {
    "price": 0.0,
    "many": scale.LOG_PRICE_FROM,
    "compared": 0,
    "null_deviance": None,
    "frontier": [],
}


@dataclass(frozen=True, slots=True)
class Training:
    """What all models of one fit share."""

    rows: TrainingRows
    settings: Settings
    predicts: AnyTarget | ClassesTarget  # what the model is of, its total not yet counted
    validation: Record  # what the file says of the folds of inner validation
    data: Record  # fingerprint of the table
    # Whether weights beside those of exposure only repeat rows, so that both can be told apart.
    whole_weights: bool = True
    hazards: TableHazards | None = (
        None  # of times until an event; `rows` are beside its first baseline
    )

    @classmethod
    def of(
        cls,
        table: Table,
        settings: Settings,
        predicts: AnyTarget | ClassesTarget,
        validation: Record,
        seen: FollowUp | None = None,
    ) -> Training:
        """Return the training of a table in memory; take its fingerprint.

        Of times until an event its targets are keys of what was `seen`.
        """
        inputs, y, profile = table.inputs, table.y, settings.profile
        given = table.weight, predicts.hashed_labels, profile, table.hashes
        data = fingerprint(inputs, y, *given, sort=sorted_numbers, each=thread_map)
        if seen is None:
            return cls(MemoryRows(table), settings, predicts, validation, data)
        assert isinstance(predicts, SurvivalTarget)
        hazards = TableHazards.of(table, seen, predicts)
        rows = MemoryRows(hazards.first)
        return cls(rows, settings, predicts, validation, data, hazards=hazards)

    @property
    def counted(self) -> TrainingRows:
        """The rows as supports count them: of times until an event, rows and events."""
        return self.rows if self.hazards is None else self.hazards.rows

    @property
    def target(self) -> AnyTarget:
        """What a model of one score is of."""
        assert not isinstance(self.predicts, ClassesTarget)
        return self.predicts.with_total(self.counted.target_total, self.counted.total_weight)

    @property
    def fixed_l1(self) -> float:
        """Lambda where it is not chosen by validation."""
        l1 = self.settings.l1
        return 4.0 / self.rows.total_weight if l1 == "4/n" else float(l1)

    def fixed_penalty(self, found: Discovery) -> CandidatePenalty:
        """Return what is fitted where validation does not choose: all trees and columns."""
        everything = Candidate("all", len(found.structure.trees), None)
        return CandidatePenalty(everything, self.settings.fixed_l1_ratio, self.fixed_l1)

    def problem(
        self, found: Discovery, terms: TermSet, start: Floats | None
    ) -> tuple[TermSet, Floats | None, AnyProblem]:
        """Return Stage 3 of some terms, and the fit to start from.

        Where the terms were found on a sample, those that the fit of the sample uses, over blocks
        of all rows; and over blocks too where the values of the terms are not held.
        """
        limits, searched = self.settings.limits, found.table
        if found.searched_rows is None:
            if terms.vocabulary.z.shape[1] == searched.n_rows:
                return terms, start, make_design(searched, found.structure, terms, limits)
            sample = MemoryRows(searched.sample(scale.SAMPLE_ROWS))
            return terms, start, block_design(self.rows, terms, limits, sample)
        if start is None:
            start = np.zeros(1 + sum(terms.leaf_counts) + len(terms.direct))
        terms, start = terms.active(start)
        if not self.settings.paper:  # missing cells go as all rows have it
            terms = replace(terms, trees=self._with_heavier_sides(terms.trees))
        return terms, start, block_design(self.rows, terms, limits, MemoryRows(searched))

    def classes_problem(
        self, found: Discovery, terms: TermSet, start: Floats | None
    ) -> tuple[TermSet, Floats | None, ClassesProblem]:
        """Return Stage 3 of several classes on all rows, in memory, and the fit to start from."""
        table, z = found.table, terms.vocabulary.z
        if found.searched_rows is None and z.shape[1] == table.n_rows:
            codes = found.structure.leaf_codes[list(terms.tree_numbers)]
            values = np.vstack([leaf_values(terms, codes, table.n_rows), z[terms.direct]])
            held = HeldRows(values, table.y, table.weight)
            return terms, start, self._of_classes(terms, held)
        if found.searched_rows is not None and start is not None:
            terms, start = terms.active(start)
            terms = replace(terms, trees=self._with_heavier_sides(terms.trees))
        refuse_many(len(terms.leaf_terms) + len(terms.direct), self.rows.n_rows)
        blocks = self.rows.map(TermValues.of(terms))
        return terms, start, self._of_classes(terms, HeldRows.together(blocks))

    def _of_classes(self, terms: TermSet, held: HeldRows) -> ClassesProblem:
        loss = self.rows.loss
        assert isinstance(loss, Multinomial)
        return ClassesProblem(*held, *terms.penalties(self.settings.limits), loss)

    def _with_heavier_sides(self, trees: tuple[Tree, ...]) -> tuple[Tree, ...]:
        if not trees:
            return ()
        sums = add(_SideWeights(trees), self.rows)
        return tuple(tree.with_heavier_sides(each) for tree, each in zip(trees, sums, strict=True))

    def warm_start(self, mined: Structure) -> WarmStart | None:
        """Return the fit of all direct terms of single variables, if Stage 2 starts from one."""
        settings = self.settings
        if not settings.starts_from_terms:
            return None
        table = self.rows.whole()
        terms = choose_terms(table, mined, Candidate(), settings.admission())
        if table.loss.n_scores > 1:
            return self._warm_start_of_classes(table, terms)
        design = make_design(table, mined, terms, settings.limits)
        if design.n_terms == 0:
            return WarmStart(mined.start, np.zeros(len(mined.vocabulary)))
        fit, _ = solve_in_order(design, [], self.fixed_l1, settings.fixed_l1_ratio)
        score = design.score(fit.intercept, fit.coefficients)
        return WarmStart.of(score, mined.vocabulary, terms.direct, fit.coefficients)

    def _warm_start_of_classes(self, table: Table, terms: TermSet) -> WarmStart:
        z = np.ascontiguousarray(terms.vocabulary.z[terms.direct])
        problem = self._of_classes(terms, HeldRows(z, table.y, table.weight))
        fit = solve_classes(problem, self.fixed_l1, self.settings.fixed_l1_ratio)
        score = problem.at(fit.intercepts, fit.coefficients).score
        return WarmStart.of(score, terms.vocabulary, terms.direct, fit.coefficients)

    def boosted(self, found: Discovery) -> TrainedTerms:
        """Keep the leaf values of Stage 2 and no direct terms (the paper's ablation)."""
        structure = found.structure
        terms = TermSet(structure.vocabulary, structure.trees, np.zeros(0, np.intp))
        coefficients = np.concatenate([np.zeros(0), *structure.steps])
        return TrainedTerms(terms, np.array([found.stage2.base]), coefficients[None])

    def record(
        self,
        found: Discovery,
        estimated: Estimate | ClassesEstimate | None = None,
        penalty: CandidatePenalty | None = None,
        compared: Record | None = None,
    ) -> dict[str, Any]:
        """Return what the file keeps of the fit: Stage 3, how rows were split, trees tried.

        Where the terms were found on some rows, the file says on how many distinct ones, and of
        how many.
        """
        chosen = None if penalty is None else {**(compared or {}), "chosen": penalty.to_dict()}
        searched, rows = found.searched_rows, found.table.n_rows
        sample = {} if searched is None else {"searched_rows": searched, "learned_from_rows": rows}
        return {
            "objective": None if estimated is None else estimated.objective(),
            "selection": chosen,
            "validation": {**self.validation, **sample},
            "vocabulary_size": len(found.structure.vocabulary),
            "rounds": [round_.to_dict() for round_ in found.stage2.rounds],
        }


@dataclass(frozen=True, slots=True)
class _SideWeights:
    """What the rows of a block add up to at the branches of trees."""

    trees: tuple[Tree, ...]

    def __call__(self, block: Table) -> tuple[Floats, ...]:
        some = [(tree, taken(block, tree.sources)) for tree in self.trees]
        return tuple(tree.side_weights(inputs, block.weight) for tree, inputs in some)

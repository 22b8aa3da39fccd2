"""Constants of scale: what a fit does differently by the number of rows, cases or terms.

One place and one value each, read as `scale.NAME`. Each was set on many tables and several seeds.
"""

# Passes. Kernels go through a block in shorter tiles (`TILE_ROWS` of each) that stay near the
# processor.
BLOCK_ROWS = 16_384  # of one task of a thread, added up in block order
SEARCH_BLOCK_ROWS = 4_096  # the same in the search

# Inner validation. Cases are rows, those of whole weight counted as often. Effective ones are those
# that the loss counts: of two classes, the smaller one's.
FOLDS = 5
# A content is heavy, and its cases are no copies, from this share of all on; repeated rows are
# copies where their targets differ less often than this share of what any two cases do.
HEAVY_SHARE, UNLIKE_SHARE = 0.01, 0.25
MANY_ROWS = 5_000  # from here on a coarser path, no ridge share, and the search sees two folds
FEWER_FOLDS_FROM_CASES = 1_000  # effective; with fewer it sees all
# Rows from which on the search sees one fold, structure is that of its training rows, and Stage 3
# does not hold its terms.
LONG_ABOVE = 20_000
SAMPLE_ROWS = 100_000  # of more, structure and penalty come from a sample
FEW_CONTENTS = 100  # of a sample: of fewer it says so, because others have no row in it
OUTSIDE = 5  # times the rows of a sample: up to where they are validated
MATERIAL = 1e-3  # of the explained deviance: less is not worth looking at further folds
FINALISTS = 3  # candidates validated on the folds, or on rows, that the search has not seen
SCREENED_ROWS = 50_000  # of more, products and patterns are screened on a sample
SCREENED_EFFECTIVE_ROWS = 20_000  # distinct, that are enough for products of numbers
HELD_OUT_BLOCKS = 10  # of the held-out rows, for the standard error where there is one fold
SAMPLE_ROWS_KEPT = 256  # of the vocabulary of a sample, once it is searched

# Penalty paths.
PATH_LENGTH = 25  # lambdas
# Of one score, and of several: there models of given lengths start from the best of a path.
PATH_LENGTHS_OF_MANY_ROWS = (21, 11)
SMALLEST_LAMBDA = 1e-4  # of lambda_max
SMALLEST_LAMBDA_OF_NUMBERS = 1e-3  # where models of given lengths start from the best of a path
PATIENCE, PATIENCE_OF_MANY_ROWS = 4, 1  # lambdas past the least cost before a path ends
# How many lambdas above the best of a smaller candidate a larger one starts its path.
HEAD_START, HEAD_START_OF_MANY_ROWS, HEAD_START_OF_LENGTHS = 4, 2, 1
BEATEN = 1.0  # standard errors at which a candidate is dropped
FAMILY_ROWS = 10_000  # of twice as many, shape families are compared on the first ones
CASES_FOR_SHAPES = 40  # effective, to bear more than slopes, logs and levels
CASES_PER_CONDITION = 10  # effective, below which a model may fit them by chance
UNLIKE_FOLDS = 4.0  # times the error that a path began with, and that its cases explain

# Stage 3. Solvers begin with the first rows, which are in random order, or with a sample.
FIRST_ROWS = 32_768  # solved first where there are twice as many
GRAM_ROWS = 16_384  # a Gram matrix of no more rows is always that of all
ROWS_PER_TERM = 100  # at least, in a problem or a Gram matrix of the first rows
SAMPLED_ROWS_PER_TERM = 20  # at least, in a Gram matrix of a sample

# What is compared and kept.
L1_RATIOS = (1.0, 0.15)
L1_RATIOS_OF_RULES = (1.0, 0.7)  # less ridge: it spreads an effect over neighbouring steps
TREE_COUNTS = (0, 1, 2, 3, 5, 8)
MOST_PRODUCTS = 60
# Of numbers: shapes on offer, times rows, beyond which there are fewer, down to so many.
SHAPE_CELLS, SHAPES_OF_MANY_ROWS = 16_000_000, 400
FEW_CONDITIONS = (1, 2, 3)  # of the very short models that forward selection makes
LENGTHS = (5, 8, 12, 20, 30, 50, 80, 120, 200, 300)  # conditions of models compared by length
LADDER = (1, 2, 3, 4, 5, 6, 8, 10, 12, 15, 19, 24, 30, 38, 48, 60, 80, 110, 150, 200, 300)
LADDER_LAMBDAS: tuple[float, ...] = (
    1e-1,
    3e-2,
    1e-2,
    3e-3,
    1e-3,
    1e-4,
)  # of lambda_max, for those of ladders
LENGTHS_FROM_CASES = 200  # effective
LENGTHS_ALONE_FROM_CASES = 1_000  # effective: no penalty paths of products and trees beside them
LENGTH_LAMBDAS: tuple[float, ...] = (
    1e-2,
    3e-3,
    1e-3,
    3e-4,
    1e-4,
)  # of lambda_max, for models of given lengths
PRODUCT_ROUNDS = 4  # there, each from the best fit so far
# Of several classes, such models may have leaves of so many trees as terms. Compared are so many
# lengths, up to so many times that of the best model so far.
TREES_OF_LENGTHS, TREE_LENGTHS, LONGER_WITH_TREES = 3, 3, 1.25
MORE_PRODUCT_ROUNDS = 8  # of numbers, where the search sees more than one fold
FRONTIER = (*range(9), 10, 12, 15, 20, 30, 50, 80, 120, 200, 300)  # conditions of the models kept
FRONTIER_OF_MANY_ROWS = (0, 1, 2, 3, 5, 8, 12, 20, 30, 50, 80, 120, 200, 300)  # and of 5,000 rows
FRONTIER_OF_LONG_TABLES = (0, 1, 2, 3, 8, 25)  # above these rows, where a fit takes long:
LONG_TABLE_ABOVE = 200_000

# The price of a condition.
FULL_PRICE_CASES = 1_000  # from here on it falls with this power of the cases:
PRICE_POWER = 0.75
LOG_PRICE_FROM = 20  # conditions for every 1,000 cases, and on smaller tables
LOG_PRICE_OF_RULES = 5.0  # times as many, where steps do what one slope would

# The published configuration.
HELD_ROWS = 2_048  # of a long table's vocabulary

"""Dask: the same estimators over data frames and arrays that lie on the workers of a cluster.

Partitions stay where they are. A pass sends a function to each of them, and what it returns is
combined on the workers in the order of a fixed tree, so that the model does not depend on how many
workers there are. Only the sample that is searched comes to the client, and statistics.

Imports `estimators/` and what lies below; nothing imports it but the command line.
"""

try:
    import dask.dataframe  # noqa: F401
    import distributed  # noqa: F401
except ImportError as error:
    raise ImportError(
        "rpte.dask needs dask with data frames and distributed; install them with "
        "pip install 'rpte[dask]'"
    ) from error

from rpte.dask.classifier import RPTEClassifier
from rpte.dask.regressor import RPTERegressor

__all__ = ["RPTEClassifier", "RPTERegressor"]

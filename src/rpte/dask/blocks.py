"""Objects on the workers of a cluster, one per partition, and passes over them."""

from __future__ import annotations

import logging
from collections.abc import Callable, Collection, Sequence
from functools import reduce
from typing import Any, Generic, TypeVar
from weakref import WeakSet

from dask import delayed
from distributed import Client, Future, wait

from rpte.errors import InputError
from rpte.kernels.blas import one_blas_thread

logger = logging.getLogger("rpte")

B = TypeVar("B")
T = TypeVar("T")

FAN_IN = 8  # results that one task of the tree combines
PATIENCE = 60.0  # seconds for a result that is there to come
BEAT = 0.5  # seconds between questions whether the fit is cancelled
REMEDY = (
    "start one (client = distributed.Client()), or give its scheduler: "
    "RPTEClassifier(client='tcp://...:8786')"
)


def find_client(client: Any) -> tuple[Client, bool]:
    """Return the client of a cluster, and whether it was made here and is to be closed."""
    if isinstance(client, Client):
        return client, False
    if client is None:
        try:
            return Client.current(), False
        except ValueError:
            raise InputError(f"there is no dask client; {REMEDY}") from None
    if not isinstance(client, str):
        raise InputError(
            f"client={client!r}; it must be a distributed.Client, the address of a scheduler or "
            "None for the current client"
        )
    try:
        return Client(client, set_as_default=False), True
    except (OSError, ValueError) as error:
        raise InputError(f"client={client!r}: no scheduler answers there: {error}") from error


class WorkerLost(Exception):  # noqa: N818  # the pass is begun again
    """A worker is gone that part of a pass was to run on."""


class Session:
    """What one fit asks of a cluster; nothing is left there when it is closed.

    Parameters
    ----------
    client : distributed.Client, address of a scheduler, or None
    tell : callable
        Called while results are waited for; ends the fit by raising.
    """

    def __init__(self, client: Any, tell: Callable[[], None]) -> None:
        self.client, self._own = find_client(client)
        self.tell = tell
        self._futures: WeakSet[Future] = WeakSet()

    def compute(self, tasks: Sequence[Any]) -> list[Future]:
        """Begin tasks, whose results stay on the workers as long as the futures live."""
        futures: list[Future] = self.client.compute(list(tasks), optimize_graph=False)
        self.watch(futures)
        return futures

    def watch(self, futures: Sequence[Future]) -> None:
        """Let go of some futures, too, when all is closed."""
        self._futures.update(futures)

    def result(self, future: Future, needed: Collection[str] = ()) -> Any:
        """Fetch a result; raise `WorkerLost` if a worker that it needs is gone."""
        while True:
            try:
                if not future.done():  # a transfer that is cut off spoils the next one
                    wait(future, timeout=BEAT)
                return future.result(timeout=PATIENCE)
            except TimeoutError:
                if future.status == "error":
                    raise
                self.tell()
                if not {*needed} <= {*self.client.nthreads()}:
                    raise WorkerLost from None

    def wait_for(self, futures: Sequence[Future]) -> None:
        """Wait until results are on the workers."""
        for future in futures:
            while not future.done():
                try:
                    wait(future, timeout=BEAT)
                except TimeoutError:
                    self.tell()

    def close(self) -> None:
        """Let go of all results, and of a client that was made here."""
        for future in [*self._futures]:
            future.release()
        if self._own:
            self.client.close()


class Blocks(Generic[B]):
    """One object per partition, each made by a task that the scheduler can run again."""

    def __init__(self, session: Session, futures: Sequence[Future]) -> None:
        self.session, self.futures = session, list(futures)

    @classmethod
    def of(cls, session: Session, tasks: Sequence[Any]) -> Blocks[B]:
        """Return the results of tasks, which workers keep."""
        return cls(session, session.compute(tasks))

    def __len__(self) -> int:
        return len(self.futures)

    def then(self, function: Callable[[B], T]) -> Blocks[T]:
        """Return what a function makes of each object, kept on the workers."""
        sent, apply = delayed(_Same(function), pure=False)(), delayed(rpte_pass, pure=False)
        return Blocks.of(self.session, [apply(sent, future) for future in self.futures])

    def only(self, numbers: Sequence[int]) -> Blocks[B]:
        """Return some of the objects."""
        return Blocks(self.session, [self.futures[number] for number in numbers])

    def map(self, function: Callable[[B], T]) -> list[T]:
        """Return what a function returns for each object, in their order."""
        return self._pass(function, lambda found: found)

    def reduce(self, function: Callable[[B], T], plus: Callable[[T, T], T]) -> T:
        """Return what a function returns for all objects, combined on the workers.

        The tree is that of the number of objects alone.
        """
        combine = delayed(_Combined(plus), pure=False)

        def tree(level: list[Any]) -> list[Future]:
            while len(level) > 1:
                groups = [level[low : low + FAN_IN] for low in range(0, len(level), FAN_IN)]
                level = [combine(*group) if len(group) > 1 else group[0] for group in groups]
            return self.session.compute(level)

        found: T = self._pass(function, tree)[0]
        return found

    def _pass(
        self, function: Callable[[B], Any], then: Callable[[list[Future]], list[Future]]
    ) -> list[Any]:
        """Apply a function, and fetch what is made of the results; again where a worker dies."""
        while True:
            # One task holds the function, which may be large, and workers hand it to each other.
            sent = self.session.compute([delayed(_Same(function), pure=False)()])[0]
            found, workers = self._applied(sent)
            try:
                return [self.session.result(future, workers) for future in then(found)]
            except WorkerLost:
                logger.info("a worker is gone; what it held is made again")

    def _applied(self, sent: Future) -> tuple[list[Future], set[str]]:
        """Apply a function to each object on the worker that has it; return these workers.

        Otherwise the scheduler might move objects to workers that are idle.
        """
        self.session.wait_for(self.futures)
        client, places = self.session.client, self.session.client.who_has(self.futures)
        by_worker: dict[str, list[int]] = {}
        for number, future in enumerate(self.futures):
            by_worker.setdefault(min(places.get(future.key, ()), default=""), []).append(number)
        found: list[Any] = [None] * len(self.futures)
        for worker, numbers in by_worker.items():
            objects = [self.futures[number] for number in numbers]
            there = {"workers": [worker]} if worker else {}
            made = client.map(rpte_pass, [sent] * len(objects), objects, pure=False, **there)
            for number, future in zip(numbers, made, strict=True):
                found[number] = future
        self.session.watch(found)
        return found, {*by_worker} - {""}


class _Same:
    """A task that returns what it holds."""

    __name__ = "rpte_function"

    def __init__(self, held: Any) -> None:
        self.held = held

    def __call__(self) -> Any:
        return self.held


class _Combined:
    """Results of neighbours, combined from left to right."""

    __name__ = "rpte_combine"

    def __init__(self, plus: Callable[[Any, Any], Any]) -> None:
        self.plus = plus

    def __call__(self, *found: Any) -> Any:
        return reduce(self.plus, found)


def rpte_pass(function: Callable[[B], T], block: B) -> T:
    """Apply a function to a block."""
    with one_blas_thread():
        return function(block)

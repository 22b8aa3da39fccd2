"""The threads of a fit: set once by whoever fits, used by every pass.

No result depends on how many there are: each task writes its own place, or is added up in order.
Tasks may ask for threads themselves, as a fold does whose rows are in blocks. Whoever asks works
too, so there are never more threads at work than were set, and nobody waits for a task that nobody
has begun.
"""

from __future__ import annotations

import multiprocessing
import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import Context, ContextVar, copy_context
from threading import Condition, Lock, Thread
from typing import Any, TypeVar

T = TypeVar("T")

PER_THREAD = 2  # tasks, where what they do can be divided at will

# Called in place of the threads by who measures the tasks: a function like `thread_map`.
recorder: Callable[..., Iterator[Any]] | None = None


class _Job:
    """The tasks of one call, and what they returned."""

    def __init__(self, function: Callable[..., Any], tasks: Sequence[Any], pool: _Pool) -> None:
        self.function, self.tasks, self.context = function, tasks, copy_context()
        self.parent = _parent.get()  # whose task asks
        self.taken = 0
        self.results: dict[int, tuple[Any, BaseException | None]] = {}
        self.running = 0
        self.done = Condition(pool.lock)  # tells of a result, and of tasks to help with

    def __contains__(self, other: _Job) -> bool:
        """Tell whether a job is this one, or asked for by one of its tasks."""
        at: _Job | None = other
        while at is not None and at is not self:
            at = at.parent
        return at is self

    def run(self, number: int) -> tuple[Any, BaseException | None]:
        """Run a task in what was the context of who asks."""

        def task() -> Any:
            _parent.set(self)
            return self.function(*self.tasks[number])

        context: Context = self.context.copy()
        try:
            return context.run(task), None
        except BaseException as error:
            return None, error


class _Pool:
    """As many threads as set, that of the fit among them."""

    def __init__(self, count: int) -> None:
        self.count, self.lock, self.closed = count, Lock(), False
        self.idle = Condition(self.lock)
        self.open: list[_Job] = []  # with tasks that nobody has taken, the oldest first
        self.workers = [Thread(target=self._work, daemon=True) for _ in range(count - 1)]
        for worker in self.workers:
            worker.start()

    def close(self) -> None:
        """End the threads."""
        with self.lock:
            self.closed = True
            self.idle.notify_all()
        for worker in self.workers:
            worker.join()

    def map(self, function: Callable[..., T], tasks: Sequence[Any]) -> Iterator[T]:
        """Yield the results in order, and work until the next is there."""
        job = _Job(function, tasks, self)
        with self.lock:
            self.open.append(job)
            self.idle.notify(len(tasks) - 1)
            above = job.parent
            while above is not None:
                above.done.notify()
                above = above.parent
        try:
            for number in range(len(tasks)):
                while number not in job.results:
                    self._help(job, number)
                value, error = job.results.pop(number)
                if error is not None:
                    raise error
                yield value
        finally:
            self._abandon(job)

    def _help(self, job: _Job, number: int) -> None:
        """Run a task of a job or of those that it waits for; where all are taken, wait."""
        with self.lock:
            if number in job.results:
                return
            found = next((other for other in self.open if other in job), None)
            if found is None:
                job.done.wait()
                return
            taken = self._take(found)
        self._run(found, taken)

    def _work(self) -> None:
        """Run tasks of the oldest job that has any, for as long as there is a fit."""
        while True:
            with self.lock:
                while not self.open and not self.closed:
                    self.idle.wait()
                if self.closed:
                    return
                found = self.open[0]
                taken = self._take(found)
            self._run(found, taken)

    def _take(self, job: _Job) -> int:
        """Take the next task of a job; the lock is held."""
        number, job.taken, job.running = job.taken, job.taken + 1, job.running + 1
        if job.taken == len(job.tasks):
            self.open.remove(job)
        return number

    def _run(self, job: _Job, number: int) -> None:
        found = job.run(number)
        with self.lock:
            job.results[number] = found
            job.running -= 1
            job.done.notify()

    def _abandon(self, job: _Job) -> None:
        """Let nobody begin another task of a job, and wait for those that run."""
        with self.lock:
            if job in self.open:
                self.open.remove(job)
            while job.running:
                job.done.wait()


_pool: ContextVar[_Pool | None] = ContextVar("rpte_threads", default=None)
_parent: ContextVar[_Job | None] = ContextVar("rpte_job", default=None)


def thread_count(n_jobs: int | None) -> int:
    """Return how many threads `n_jobs` stands for.

    -1 is every core that this process may use. So is None, unless OMP_NUM_THREADS is set; inside a
    worker of joblib or multiprocessing it is one, because its neighbours have the other cores.
    """
    if n_jobs is not None and n_jobs > 0:
        return n_jobs
    if n_jobs is None:
        if _is_worker():
            return 1
        told = os.environ.get("OMP_NUM_THREADS", "").split(",")[0]
        if told.isdigit():
            return max(1, int(told))
    allowed = getattr(os, "sched_getaffinity", None)
    return len(allowed(0)) if allowed else os.cpu_count() or 1


def _is_worker() -> bool:
    """Tell whether this runs in a worker process, or in a thread of joblib."""
    from joblib.parallel import get_active_backend

    nested: int | None = get_active_backend()[0].nesting_level
    return multiprocessing.parent_process() is not None or bool(nested)


@contextmanager
def worker_threads(n_jobs: int | None) -> Iterator[None]:
    """Let passes use the threads that `n_jobs` stands for (`thread_count`) in here."""
    count = thread_count(n_jobs)
    if count == 1:
        yield
        return
    pool = _Pool(count)
    token = _pool.set(pool)
    try:
        yield
    finally:
        _pool.reset(token)
        pool.close()


def has_threads() -> bool:
    """Tell whether there is more than one thread."""
    return _pool.get() is not None or recorder is not None


def even_chunks(count: int) -> list[slice]:
    """Return the numbers up to `count` in as many pieces as keep the threads busy; one for one."""
    pool = _pool.get()
    pieces = count if recorder is not None else 1 if pool is None else PER_THREAD * pool.count
    return chunks(count, max(1, -(-count // pieces)))


def chunks(count: int, size: int, first: int = 0) -> list[slice]:
    """Return the numbers from `first` to `count` in pieces of a size, the last one shorter."""
    return [slice(low, min(low + size, count)) for low in range(first, count, size)]


def thread_map(function: Callable[..., T], *arguments: Sequence[Any]) -> Iterator[T]:
    """Map a function over arguments, results in their order, in threads where there are any."""
    pool = _pool.get()
    if len(arguments[0]) < 2 or (pool is None and recorder is None):
        return map(function, *arguments)
    if recorder is not None:
        return recorder(function, *arguments)
    assert pool is not None
    return pool.map(function, list(zip(*arguments, strict=True)))

"""Working on many parts at once, on threads or on a cluster."""

from concurrent.futures import FIRST_COMPLETED, ThreadPoolExecutor, wait
from contextlib import contextmanager

from joblib import effective_n_jobs

from skim.distributed._scheduler import connected


class Workers:
    """Threads, or the workers of a cluster.

    Parameters
    ----------
    executor : Executor
    n_ahead : int
        Number of calls under way, which limits the memory taken by their results.
    share : callable
        Returns what stands for a large argument of many calls.
    """

    def __init__(self, executor, n_ahead, share):
        self.executor = executor
        self.n_ahead = n_ahead
        self.share = share

    def results(self, calls):
        """Yield the results of calls, tuples of function and arguments, as they come.

        A call is taken only when there is room for it.
        """
        pending: set = set()
        try:
            for function, *arguments in calls:
                pending.add(self.executor.submit(function, *arguments))
                while len(pending) >= self.n_ahead:
                    done, pending = wait(pending, return_when=FIRST_COMPLETED)
                    yield from (future.result() for future in done)
            while pending:
                done, pending = wait(pending, return_when=FIRST_COMPLETED)
                yield from (future.result() for future in done)
        finally:
            for future in pending:
                future.cancel()


@contextmanager
def workers_of(scheduler, jobs):
    """Yield the workers of the scheduler at an address, or else threads."""
    if scheduler is None:
        n_jobs = effective_n_jobs(jobs)
        with ThreadPoolExecutor(n_jobs) as executor:
            yield Workers(executor, n_jobs + 1, lambda value: value)
        return
    with connected(scheduler) as client:
        if not client.ncores():
            raise ConnectionError(
                f"The scheduler at {scheduler} has no workers; start some."
            )
        n_cores = sum(client.ncores().values())
        # Sent to each worker once, and again to those that replace a lost one.
        share = lambda value: client.submit(_same, value)  # noqa: E731
        with client.get_executor() as executor:
            yield Workers(executor, 2 * n_cores, share)


def _same(value):
    return value


class Call:
    """A function with keyword arguments, which can be sent to other processes."""

    def __init__(self, function, keywords):
        self.function = function
        self.keywords = keywords

    def __call__(self, *arguments):
        return self.function(*arguments, **self.keywords)

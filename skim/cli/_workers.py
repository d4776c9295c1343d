"""Working on many batches at once, on threads or on a cluster."""

from concurrent.futures import FIRST_COMPLETED, ThreadPoolExecutor, wait
from contextlib import contextmanager

from joblib import effective_n_jobs


@contextmanager
def workers_of(scheduler, jobs):
    """Yield an executor, how many calls it can have under way, and how to share.

    The executor has `jobs` threads, or the workers of the Dask scheduler at an address.
    Sharing a value returns what stands for it in many calls.
    """
    if scheduler is None:
        n_jobs = effective_n_jobs(jobs)
        with ThreadPoolExecutor(n_jobs) as executor:
            yield executor, n_jobs + 1, _same
        return
    try:
        import dask
        from distributed import Client
    except ImportError as error:
        raise ImportError(
            "--scheduler needs Dask: pip install 'skim-od[dask]'"
        ) from error
    try:
        client = Client(scheduler, set_as_default=False)
    except (OSError, ValueError) as error:
        raise ConnectionError(
            f"No Dask scheduler answers at {scheduler}; check its address and that it "
            "is running."
        ) from error
    # A batch is part of its task, so that it is not lost with a worker.
    quietly = dask.config.set(
        {"distributed.admin.large-graph-warning-threshold": "1TB"}
    )
    with client, quietly:
        n_cores = sum(client.ncores().values())
        if not n_cores:
            raise ConnectionError(
                f"The scheduler at {scheduler} has no workers; start some."
            )
        with client.get_executor() as executor:
            # Sent to each worker once, and again to those that replace a lost one.
            yield executor, 2 * n_cores, lambda value: client.submit(_same, value)


def results_of(executor, n_ahead, function, calls):
    """Yield the results of calls, given as tuples of arguments, as they come.

    At most `n_ahead` are under way, which limits the memory taken by batches.
    """
    pending = set()
    try:
        for call in calls:
            pending.add(executor.submit(function, *call))
            if len(pending) >= n_ahead:
                done, pending = wait(pending, return_when=FIRST_COMPLETED)
                yield from (future.result() for future in done)
        while pending:
            done, pending = wait(pending, return_when=FIRST_COMPLETED)
            yield from (future.result() for future in done)
    finally:
        for future in pending:
            future.cancel()


def _same(value):
    return value

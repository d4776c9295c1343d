"""Where Dask computes: on threads, or on a cluster."""

import sys
from contextlib import contextmanager

LOCAL = ("threads", "processes", "synchronous", "sync", "single-threaded")


def import_dask():
    """Return dask, or raise with installation advice."""
    try:
        import dask
        import dask.array
        import dask.dataframe
    except ImportError as error:
        raise ImportError(
            "DaskDetector needs Dask: pip install 'skim-od[dask]'"
        ) from error
    return dask


@contextmanager
def connected(scheduler):
    """Yield the client of a cluster, or None for schedulers of this process.

    Parameters
    ----------
    scheduler : None, str, Client or cluster
        None means the current client, if there is one. A client that is made here
        ends with the context.
    """
    if scheduler is None:
        yield _current_client()
    elif isinstance(scheduler, str) and scheduler in LOCAL:
        yield None
    elif hasattr(scheduler, "submit") and hasattr(scheduler, "gather"):
        yield scheduler
    else:
        with _client(scheduler) as client:
            yield client


def _current_client():
    distributed = sys.modules.get("distributed")
    if distributed is None:
        return None
    try:
        return distributed.get_client()
    except ValueError:
        return None


def _client(scheduler):
    """Return a new client of a cluster, or of the scheduler at an address."""
    try:
        from distributed import Client
    except ImportError as error:
        raise ImportError(
            "A cluster needs Dask's distributed: pip install 'skim-od[dask]'"
        ) from error
    if not isinstance(scheduler, str) and not hasattr(scheduler, "scheduler_address"):
        raise TypeError(
            "scheduler must be None, the name of a scheduler, an address, a Client or "
            f"a cluster, not {type(scheduler).__name__}."
        )
    if isinstance(scheduler, str) and ":" not in scheduler:
        raise ValueError(
            f"scheduler={scheduler!r} is neither an address such as tcp://host:8786 "
            f"nor one of {', '.join(LOCAL)}."
        )
    try:
        return Client(scheduler, set_as_default=False)
    except (OSError, ValueError) as error:
        raise ConnectionError(
            f"No Dask scheduler answers at {scheduler}; check its address and that it "
            "is running."
        ) from error


def compute(value, scheduler, verbose):
    """Compute a delayed value, with a progress bar on request."""
    with connected(scheduler) as client:
        if client is not None:
            future = client.compute(value)
            if verbose:
                from distributed import progress

                with client.as_current():
                    progress(future, notebook=False)
                print()  # the bar does not end its line
            return future.result()
        named = {} if scheduler is None else {"scheduler": scheduler}
        if not verbose:
            return value.compute(**named)
        from dask.diagnostics import ProgressBar

        with ProgressBar(out=sys.stderr):
            return value.compute(**named)

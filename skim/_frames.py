"""Tables for people who work with pandas."""


def to_frame(values, *, columns=None, index=None):
    """Make a DataFrame of an array.

    Parameters
    ----------
    values : ndarray of shape (n, p)
    columns : sequence of str, default=None
        By default x0, x1 and so on.
    index : object, default=None
        Used if it is an index of pandas.

    Returns
    -------
    frame : DataFrame
    """
    pd = import_pandas()
    if columns is None:
        columns = [f"x{j}" for j in range(values.shape[1])]
    if not isinstance(index, pd.Index):
        index = None
    return pd.DataFrame(values, columns=columns, index=index)


def import_pandas():
    """Return pandas, or say how to get it."""
    try:
        import pandas as pd
    except ImportError as error:
        raise ImportError("A data frame needs pandas: pip install pandas") from error
    return pd

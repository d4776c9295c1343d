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


def feature_names(transformer, detector):
    """Return the names of the features that a detector sees, None if not known.

    Parameters
    ----------
    transformer : estimator
        What comes before the detector.
    detector : estimator
    """
    names = getattr(detector, "feature_names_in_", None)
    if names is not None:
        return names
    try:
        return transformer.get_feature_names_out()
    except (AttributeError, ValueError):  # a step has none, or would need X's names
        return None


def import_pandas(otherwise="A data frame needs pandas: pip install pandas"):
    """Return pandas, or say how to get it."""
    try:
        import pandas as pd
    except ImportError as error:
        raise ImportError(otherwise) from error
    return pd

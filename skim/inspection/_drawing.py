"""Colours and axes shared by all plots."""

# Distinguishable in colour, with colour blindness, and in greyscale.
INLIER = "#56b4e9"
OUTLIER = "#9a3412"
ALL = "#3f3f46"
SHADE = "#e4e4e7"


def pyplot():
    """Return matplotlib.pyplot, or raise with installation advice."""
    try:
        import matplotlib.pyplot as plt
    except ImportError as error:
        raise ImportError(
            "Plots need matplotlib: pip install 'skim-od[plot]'"
        ) from error
    return plt


def new_axes(axes, n_rows=1, figsize=None):
    """Return `n_rows` axes: the given ones, or those of a new figure."""
    if axes is None:
        _, axes = pyplot().subplots(
            n_rows, sharex=n_rows > 1, figsize=figsize, layout="constrained"
        )
    axes = [axes] if n_rows == 1 else list(axes)
    if len(axes) != n_rows:
        raise ValueError(f"axes must have {n_rows} elements, not {len(axes)}.")
    return axes


def tidy(ax):
    """Remove the top and right spines."""
    ax.spines[["top", "right"]].set_visible(False)
    return ax

"""Pictures that stay the same as long as what they show does."""

from matplotlib import rc_context


def save_svg(figure, path):
    """Write a figure so that drawing it again gives the same file, byte for byte."""
    with rc_context({"svg.hashsalt": path.stem}):
        figure.savefig(path, metadata={"Date": None})

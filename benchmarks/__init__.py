"""Studies that are run from a checkout, each of which writes its own tables."""

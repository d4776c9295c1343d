"""A module of one's own that cannot be imported."""

raise LookupError("there is a mistake in this module")

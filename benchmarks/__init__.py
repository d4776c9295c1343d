"""Studies that are run from a checkout, each of which writes its own tables.

A study is a module, or a folder if it has more than one, with a function of the same
name that is its command. `_shared` has what more than one study uses.
"""

"""``python -m skim`` is the command ``skim``."""

from skim.cli import main

if __name__ == "__main__":
    main()

"""``python -m whichbits``, for interpreters whose scripts are not on the path."""

import sys

from whichbits.cli import main

if __name__ == "__main__":
    sys.exit(main())

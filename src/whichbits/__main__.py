"""``python -m whichbits``, for interpreters whose scripts are not on the path."""

from whichbits.cli import main

if __name__ == "__main__":
    main()

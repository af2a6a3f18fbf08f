"""`python -m surefoot` is the command line."""

from surefoot.cli import main

if __name__ == "__main__":
    main()

"""`python -m sapwood`: the command line."""

from sapwood.cli.main import main

if __name__ == "__main__":
    main()

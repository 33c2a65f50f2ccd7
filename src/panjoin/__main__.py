"""`python -m panjoin` is the program `panjoin`."""

from panjoin.cli.app import main

if __name__ == "__main__":
    main()

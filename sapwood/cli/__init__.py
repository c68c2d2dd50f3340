"""The command line: a thin shell over the library. `main` is the entry point; a command is a module; `drawing` and `context` are pure."""

"""Speed and size, ours beside what it is measured by, in one run."""

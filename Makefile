.PHONY: check test fix bench

check:          ## format, lint, two type checkers, the house's own rules
	uv run ruff format --check . && uv run ruff check .
	uv run mypy && uv run pyright
	uv run pytest -q tests/house/test_layout.py tests/house/test_imports.py

test:           ## everything but the full counts; under three minutes
	uv run pytest -q -n 2

fix:            ## what a machine can put right
	uv run ruff check --fix . && uv run ruff format .

bench:          ## ours beside what it is measured by, in one run
	uv run python -m benchmarks

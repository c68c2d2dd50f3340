.PHONY: check lint mypy pyright layout test fix bench

check: lint mypy pyright layout         ## `make -j 2 check` does two at a time

lint:           ## format and lint
	uv run ruff format --check . && uv run ruff check .

mypy:           ## one type checker
	uv run mypy

pyright:        ## and the other: they find different faults
	uv run pyright

layout:         ## the house's own rules
	uv run pytest -q tests/house/test_layout.py tests/house/test_imports.py

test:           ## everything but the full counts; under three minutes
	uv run pytest -q -n 2 --dist loadgroup

fix:            ## what a machine can put right
	uv run ruff check --fix . && uv run ruff format .

bench:          ## ours beside what it is measured by, in one run
	uv run python -m benchmarks

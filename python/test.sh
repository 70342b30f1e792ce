#!/usr/bin/env bash
# Makes the environments (see setup.sh) and runs every check. PYTHON names the interpreter; arguments go to pytest.
set -euo pipefail
cd "$(dirname "$0")"
./setup.sh

.venv/bin/ruff check --quiet src tests ../examples/business
.venv/bin/ruff format --quiet --check src tests ../examples/business
.venv/bin/mypy --no-error-summary
rm -rf .venv/wheel
.venv/bin/pip wheel --quiet --disable-pip-version-check --no-deps --wheel-dir .venv/wheel .
./test-wheel.sh .venv/wheel/toolgate-*.whl
MCP_1_PYTHON=$PWD/.venv-mcp1/bin/python MCP_2_PYTHON=$PWD/.venv-mcp2/bin/python .venv/bin/pytest "$@"

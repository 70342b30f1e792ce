#!/usr/bin/env bash
# Makes an environment in .venv, installs the package and the official clients, and runs every check.
# PYTHON names the interpreter; arguments go to pytest.
set -euo pipefail
cd "$(dirname "$0")"
python=${PYTHON:-python3}

environment() { # name, then what to install; made anew when this script or the package's needs change
  local home=.venv$1 && shift
  if [ ! -f "$home/.installed" ] || [ pyproject.toml -nt "$home/.installed" ] || [ test.sh -nt "$home/.installed" ]; then
    "$python" -m venv --clear "$home"
    "$home/bin/pip" install --quiet --disable-pip-version-check "$@"
    touch "$home/.installed"
  fi
}

environment "" --editable '.[test]'
environment -mcp1 'mcp>=1.20,<2'
environment -mcp2 'mcp>=2,<3'

.venv/bin/ruff check --quiet src tests ../examples/business
.venv/bin/ruff format --quiet --check src tests ../examples/business
.venv/bin/mypy --no-error-summary
.venv/bin/pip wheel --quiet --disable-pip-version-check --no-deps --wheel-dir .venv/wheel .
MCP_1_PYTHON=$PWD/.venv-mcp1/bin/python MCP_2_PYTHON=$PWD/.venv-mcp2/bin/python .venv/bin/pytest "$@"

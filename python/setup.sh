#!/usr/bin/env bash
# Makes the environments that tests need, unless they are there already: .venv with the package and its checks, and one for
# each generation of the official client. PYTHON names the interpreter.
set -euo pipefail
cd "$(dirname "$0")"
python=${PYTHON:-python3}

environment() { # name, then what to install; made anew when this script or the package's needs change
  local home=.venv$1 && shift
  if [ ! -f "$home/.installed" ] || [ pyproject.toml -nt "$home/.installed" ] || [ setup.sh -nt "$home/.installed" ]; then
    "$python" -m venv --clear "$home"
    "$home/bin/pip" install --quiet --disable-pip-version-check "$@"
    touch "$home/.installed"
  fi
}

environment "" --editable '.[test]'
environment -mcp1 'mcp>=1.20,<2'
environment -mcp2 'mcp>=2,<3'

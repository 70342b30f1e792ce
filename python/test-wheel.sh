#!/usr/bin/env bash
# Installs a wheel into an environment of its own, as users do, and uses it there. PYTHON names the interpreter.
set -euo pipefail
wheel=$(realpath "$1")
cd "$(dirname "$0")"
fresh=$(mktemp -d)
trap 'rm -rf "$fresh"' EXIT

"${PYTHON:-python3}" -m venv "$fresh"
"$fresh/bin/pip" install --quiet --disable-pip-version-check "$wheel"
cp tests/handlers/scene.py "$fresh/scene.py"
cd "$fresh"
# Type checkers believe the types of a package only if it says that it has some.
bin/python -c 'import pathlib, toolgate; home = pathlib.Path(toolgate.__file__).parent
assert (home / "py.typed").is_file() and "site-packages" in str(home), home'
bin/python -m toolgate.worker scene.py --strict --check 2>check.log || { cat check.log; exit 1; }
grep -q "tool 'add'" check.log
bin/toolgate-worker scene.py --check 2>/dev/null

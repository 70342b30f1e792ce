#!/usr/bin/env bash
# Installs the real servers and clients, in the versions of the lock and requirements files, unless they are there already.
set -euo pipefail
cd "$(dirname "$0")"

if [ ! -f node_modules/.installed ] || [ package-lock.json -nt node_modules/.installed ]; then
  # Not `npm ci`: it refuses a lock file made where the optional packages of other platforms could not be had.
  npm install --no-save --no-audit --no-fund --loglevel=error
  touch node_modules/.installed
fi

for what in client-1 client-2 reader; do
  venv=.venv-${what#client-}
  wanted=requirements-$what.txt
  if [ ! -f "$venv/.installed" ] || [ "$wanted" -nt "$venv/.installed" ]; then
    python3 -m venv "$venv"
    "$venv/bin/pip" install --quiet --disable-pip-version-check --requirement "$wanted"
    touch "$venv/.installed"
  fi
done

# The Python of the example project's handlers.
../../python/setup.sh

# The client on the Rust SDK. Cargo itself sees whether anything has changed.
cargo build --quiet --locked --manifest-path clients/rmcp/Cargo.toml --target-dir clients/rmcp/target
node_modules/.bin/node --version

#!/usr/bin/env bash
# Installs Node 22, the official conformance suite and the SDK of the reference upstream, as the lock file says.
set -euo pipefail
cd "$(dirname "$0")"
if [ ! -f node_modules/.installed ] || [ package-lock.json -nt node_modules/.installed ]; then
  npm ci --no-audit --no-fund --loglevel=error
  touch node_modules/.installed
fi
node_modules/.bin/node --version

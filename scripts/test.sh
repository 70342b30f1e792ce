#!/usr/bin/env bash
# The whole test command. With words as arguments, only the steps whose names contain one of them.
set -euo pipefail
cd "$(dirname "$0")/.."
export PATH="$PATH:$HOME/.cargo/bin"
./scripts/setup.sh
exec cargo xtask test "$@"

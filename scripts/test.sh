#!/usr/bin/env bash
# The whole test command. With words as arguments, only the steps whose names contain one of them.
set -euo pipefail
cd "$(dirname "$0")/.."
export PATH="$PATH:$HOME/.cargo/bin"
./scripts/setup.sh
# What is built once gains nothing from being built in pieces.
[ -d target ] || export CARGO_INCREMENTAL=0
exec cargo xtask test "$@"

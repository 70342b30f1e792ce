#!/usr/bin/env bash
# Builds the gateway and runs it with three real servers, or with the arguments of `toolgate start` that are given.
set -euo pipefail
cd "$(dirname "$0")/.."
export PATH="$PATH:$HOME/.cargo/bin"
if [ $# -eq 0 ]; then set -- --transport http --config examples/three-servers.yaml; fi
exec cargo run --profile quick --package toolgate -- start "$@"

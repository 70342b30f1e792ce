#!/usr/bin/env bash
# Makes a Debian-like machine ready to build and test. Installs only what is missing; says what it cannot install.
set -euo pipefail
cd "$(dirname "$0")/.."

missing=()
has() { command -v "$1" >/dev/null 2>&1; }
need() { "${@:2}" >/dev/null 2>&1 || missing+=("$1"); }

need gcc has gcc
need g++ has g++
need git has git
need curl has curl
need ca-certificates test -e /etc/ssl/certs/ca-certificates.crt
need python3 has python3
need python3-venv python3 -c 'import ensurepip, venv'
need dbus has dbus-daemon
need gnome-keyring has gnome-keyring-daemon
need libsecret-tools has secret-tool
if ! has node; then missing+=(nodejs npm); fi

if [ ${#missing[@]} -gt 0 ]; then
  echo "installing ${missing[*]}"
  run() { if [ "$(id -u)" = 0 ]; then "$@"; else sudo "$@"; fi; }
  if ! has apt-get; then
    echo "please install these yourself: ${missing[*]}" >&2
    exit 1
  fi
  run env DEBIAN_FRONTEND=noninteractive apt-get update -qq
  run env DEBIAN_FRONTEND=noninteractive apt-get install -qq --no-install-recommends "${missing[@]}"
fi

node_major=$(node --version | sed 's/^v\([0-9]*\).*/\1/')
if [ "$node_major" -lt 20 ] || ! has npm; then
  echo "Node 20 or newer with npm is needed; here is $(node --version). See https://nodejs.org/en/download" >&2
  exit 1
fi

if ! has cargo && [ -x "$HOME/.cargo/bin/cargo" ]; then export PATH="$HOME/.cargo/bin:$PATH"; fi
if ! has cargo; then
  echo "Rust is needed. See https://rustup.rs" >&2
  exit 1
fi
cargo fmt --version >/dev/null 2>&1 || rustup component add rustfmt
cargo clippy --version >/dev/null 2>&1 || rustup component add clippy

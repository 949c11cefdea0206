#!/usr/bin/env bash
# tests/gpu_code_test.sh NVCC FILE.cu: what nvcc cannot compile for a GPU it replaces by a trap, without a
# word: a reference to a constant that only the host has, say. So no kernel may hold one.
set -euo pipefail
cd "$(dirname "$0")/.."

scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
flags=(-std=c++20 -O3 --expt-relaxed-constexpr -I. -arch=sm_90)
"$1" "${flags[@]}" -ptx "$2" -o "$scratch/code.ptx"
kernels=$(grep -c '\.entry ' "$scratch/code.ptx")
if grep -nE '^\s*trap;' "$scratch/code.ptx"; then
  echo "$2: a kernel of $kernels traps; -lineinfo tells where" >&2
  exit 1
fi
echo "$2: $kernels kernels, none traps"

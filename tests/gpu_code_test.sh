#!/usr/bin/env bash
# tests/gpu_code_test.sh NVCC FILE.cu: checks that no kernel holds a trap, by which nvcc silently
# replaces code that it cannot compile for a GPU, such as a reference to a constant of the host.
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

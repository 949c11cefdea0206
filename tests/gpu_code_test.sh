#!/usr/bin/env bash
# tests/gpu_code_test.sh NVCC FILE.cu: looks for code that nvcc silently compiles into other code.
#   traps          instead of what a GPU cannot do, such as a reference to a constant of the host
#   std::countr_*  the constant 32: it drops a builtin of g++ that they call (core/bits.h)
set -euo pipefail
cd "$(dirname "$0")/.."

scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
flags=(-std=c++20 -O3 --expt-relaxed-constexpr -I. -arch=sm_90)

own=$("$1" "${flags[@]}" -M "$2" | tr -s ' \\' '\n' | grep -E '^[a-z.]+/')
if grep -nE 'std::countr_|__builtin_(ctz|ffs)' $own | grep -v '//.*std::countr_'; then
  echo "$2: on a GPU this is a constant; LowestBit of core/bits.h is not" >&2
  exit 1
fi
"$1" "${flags[@]}" -ptx "$2" -o "$scratch/code.ptx"
kernels=$(grep -c '\.entry ' "$scratch/code.ptx")
if grep -nE '^\s*trap;' "$scratch/code.ptx"; then
  echo "$2: a kernel of $kernels traps; -lineinfo tells where" >&2
  exit 1
fi
echo "$2: $kernels kernels, none traps"

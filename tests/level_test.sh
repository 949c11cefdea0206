#!/usr/bin/env bash
# tests/level_test.sh NM READELF OBJECT...: looks for code of a level (net/cpu/levels.h) that could
# run on a processor without its instructions:
#   names that are not local, groups of which a linker takes one for the whole program, and code
#   that runs when the program starts;
# and for ops that the level takes from the rest of the program.
set -euo pipefail

nm=$1 readelf=$2
shift 2
fail() { echo "$object: $*" >&2; exit 1; }
for object in "$@"; do
  names=$("$nm" --demangle --defined-only --extern-only --format=just-symbols "$object")
  [[ $(grep -c . <<<"$names") == 1 && $names == *"::MakeBackend("* ]] || fail "not local: $names"
  [[ $("$readelf" --section-groups --wide "$object") != *COMDAT* ]] || fail "has groups"
  [[ $("$readelf" --sections --wide "$object") != *_array* ]] || fail "runs code at the start"
  taken=$("$nm" --demangle --undefined-only --format=just-symbols "$object" |
    grep 'starling::net::' |
    grep -vE '::(PrepareThread|Gemm|Bf16Gemm)\b|MakeReferenceBackend' || true)
  [ -z "$taken" ] || fail "takes from the rest of the program: $taken"
  echo "$(basename "$object"): $names"
done

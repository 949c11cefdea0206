#!/usr/bin/env bash
# tests/package/wheel_test.sh: `pip install .` into a new environment, and the package in it, away from
# the source tree. Needs the network for pip, and minutes where build/package is not there.
set -euo pipefail

root=$(realpath "$(dirname "$0")/../..")
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
python3=$(command -v /usr/bin/python3 python3 | head -n 1)
"$python3" -c "import sys; sys.exit(sys.version_info < (3, 11))" || {
  echo "wheel_test: left out, there is no Python 3.11 here" >&2
  exit
}
"$python3" -m venv "$scratch/venv"
pip() { "$scratch/venv/bin/pip" --quiet --disable-pip-version-check "$@"; }
pip download --dest "$scratch" "scikit-build-core>=0.10,<1" || {
  echo "wheel_test: left out, pip reaches no index" >&2
  exit
}
cd "$root"
CC=cc CXX=c++ pip install .  # as scripts/package: what is built there is not built again
cd "$scratch"
unset STARLING_HOME PYTHONPATH
cp -r "$root/python/tests" .
mkdir examples && cp -r "$root/examples/supervised" "$root/examples/torch_a3c" examples/
mkdir python && mv tests python/
# It loads nothing of this tree, and of the system the libraries of its compiler alone.
package=$(venv/bin/python -c "import starling, os; print(os.path.dirname(starling.__file__))")
[[ $package == "$scratch"/* ]] || { echo "wheel_test: it is $package" >&2; exit 1; }
others=$(ldd "$package"/bin/starling-learner "$package"/lib/libstarling-seat.so.1 |
  awk '$2 == "=>" && $3 !~ "^'"$package"'" {print $1}' | sort -u |
  grep -vE '^(libc|libm|libmvec|libdl|librt|libpthread|libresolv|libstdc\+\+|libgcc_s)\.so' || true)
! ls "$package"/lib | grep -E '^(ld-linux|libc\.so|libm\.so|libpthread\.so|libstdc|libgcc)' ||
  { echo "wheel_test: it brings the libraries of a compiler" >&2; exit 1; }
[ -z "$others" ] || { echo "wheel_test: it loads the system's $others" >&2; exit 1; }
venv/bin/starling --version
timeout 300 venv/bin/python -B -m unittest discover -s python/tests

#!/usr/bin/env bash
# tests/package/python_test.sh BUILD: the Python package of the source tree, on what was built. 77: no
# Python with numpy here (scripts/setup --torch installs Debian's).
set -euo pipefail

build=$1
root=$(realpath "$(dirname "$0")/../..")
for python in "${STARLING_TORCH_PYTHON-}" /usr/bin/python3 python3; do
  "$python" -c "import sys, numpy; sys.exit(sys.version_info < (3, 11))" 2>/dev/null || continue
  export PYTHONPATH=$root/python STARLING_HOME=$build
  exec "$python" -B -m unittest discover -s "$root/python/tests"
done
echo "no Python 3.11 with numpy here: scripts/setup --torch"
exit 77

"""run_tests.py [PACKAGE] [TEST...]: the tests of this folder, with an image of this package or,
slowly, of one that is built in it (scripts/test --container). What this machine cannot do is left
out, with the reason."""

import signal
import sys
import unittest
from pathlib import Path

sys.dont_write_bytecode = True
sys.path.insert(0, str(Path(__file__).resolve().parent))

import image

if __name__ == "__main__":
    signal.signal(signal.SIGTERM, signal.default_int_handler)  # so that nothing is left
    words = sys.argv[1:]
    if words and words[0].endswith(".tar.gz"):
        image.package = words.pop(0)
    unittest.main(module=None, verbosity=2,
                  argv=[sys.argv[0], *(words or ["image_test", "kubernetes_test"])])

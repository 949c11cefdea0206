"""Tests run_ctest.py: its screen, and its second tries with a ctest of its own."""
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import unittest

import run_ctest
from run_ctest import Case, Second

GTEST_OUTPUT = '[ RUN      ] A.B\n/src/a_test.cc:3: Skipped\nthere is no GPU\n[  SKIPPED ] A.B (0 ms)\n'


def passed(name, seconds=0.0):
    return Case(name, 'passed', seconds, '')


class Screen(unittest.TestCase):
    def test_counts_and_names(self):
        cases = [passed('A.Good', 0.25), Case('A.Bad', 'failed', 1.5, ''), Case('B.Late', 'failed', 12.0, ''),
                 Case('B.Bad', 'failed', 0.0, ''), Case('C.Gpu', 'skipped', 0.0, 'no GPU'),
                 Case('C.Ale', 'skipped', 0.0, 'no ALE'), Case('C.Cuda', 'skipped', 0.0, 'no GPU')]
        self.assertEqual(run_ctest.screen(cases, Second({'B.Late'}, {'B.Bad'})), [
            '2 passed, 2 failed, 3 skipped; 1 passed only at the second try',
            'failed:', '  A.Bad', '  B.Bad (twice)',
            'passed only at the second try:', '  B.Late',
            'skipped:', '      2  no GPU', '      1  no ALE',
            'slowest:', '   12.0 s  B.Late', '    1.5 s  A.Bad', '    0.2 s  A.Good', '    0.0 s  B.Bad',
            '    0.0 s  C.Gpu'])

    def test_is_short_however_much_fails(self):
        cases = [Case(f'A.Bad{i}', 'failed', 0.0, '') for i in range(500)]
        cases += [Case(f'B.Skip{i}', 'skipped', 0.0, f'reason {i}') for i in range(500)]
        cases += [Case(f'C.Late{i}', 'failed', 0.0, '') for i in range(500)]
        lines = run_ctest.screen(cases, Second({f'C.Late{i}' for i in range(500)}, set()))
        self.assertLessEqual(len(lines), 40)
        self.assertIn('  and 492 more', lines)

    def test_the_reason_of_a_skip_is_its_message(self):
        self.assertEqual(run_ctest.skip_reason(GTEST_OUTPUT), 'there is no GPU')
        self.assertEqual(run_ctest.skip_reason('x.cc:3: Skipped\n\n'), 'no reason given')
        self.assertEqual(run_ctest.skip_reason(''), 'no reason given')


# A build directory with these cases. `Once` fails at its first try.
CASES = '''
add_test(Io.Good true)
add_test(Unit.Once sh -c "test -e unit || { touch unit; exit 1; }")
add_test(Io.Once sh -c "test -e io || { touch io; exit 1; }")
add_test(Io.Bad false)
add_test(Unit.Skip echo "x_test.cc:3: Skipped
no GPU")
set_tests_properties(Unit.Skip PROPERTIES SKIP_REGULAR_EXPRESSION "Skipped")
set_tests_properties(Io.Good PROPERTIES LABELS sanitized_io)
set_tests_properties(Io.Once Io.Bad PROPERTIES LABELS io)
'''


class Run(unittest.TestCase):
    def run_cases(self, *options):
        with tempfile.TemporaryDirectory() as build:
            with open(os.path.join(build, 'CTestTestfile.cmake'), 'w') as file:
                file.write(CASES)
            script = os.path.join(os.path.dirname(__file__), 'run_ctest.py')
            done = subprocess.run([sys.executable, '-B', script, build, *options], capture_output=True, text=True)
        return done.returncode, done.stdout

    def test_a_second_try_is_for_io_alone(self):
        status, out = self.run_cases()
        self.assertNotEqual(status, 0)
        self.assertIn('2 passed, 2 failed, 1 skipped; 1 passed only at the second try\n'
                      'failed:\n  Unit.Once\n  Io.Bad (twice)\n'
                      'passed only at the second try:\n  Io.Once\n'
                      'skipped:\n      1  no GPU\n', out)

    def test_a_case_that_passed_at_its_second_try_has_passed(self):
        status, out = self.run_cases('-R', 'Io.(Good|Once)')
        self.assertEqual(status, 0)
        self.assertIn('2 passed, 0 failed', out)

    def test_nothing_is_printed_before_the_screen_if_all_pass(self):
        status, out = self.run_cases('-R', 'Good|Skip')
        self.assertEqual(status, 0)
        self.assertTrue(out.startswith('1 passed, 0 failed, 1 skipped\n'), out)

    def test_no_cases_at_all_fail_if_asked_to(self):
        self.assertNotEqual(self.run_cases('-R', 'nothing', '--no-tests=error')[0], 0)
        self.assertEqual(self.run_cases('-R', 'nothing', '--no-tests=ignore')[0], 0)


class Suites(unittest.TestCase):
    def test_those_with_second_tries_exist(self):
        tests = pathlib.Path(__file__).parent.parent
        lists = re.findall(r'^set\(io_(\w+) ([^)]*)\)', (tests / 'CMakeLists.txt').read_text(), re.M)
        self.assertTrue(lists)
        for room, suites in lists:
            code = '\n'.join(file.read_text() for file in (tests / room).rglob('*_test.cc'))
            for suite in suites.split():
                found = re.search(rf'TEST(_F|_P)?\({suite},', code)
                self.assertTrue(found, f'io_{room} of tests/CMakeLists.txt names {suite}')


if __name__ == '__main__':
    unittest.main()

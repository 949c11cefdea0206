"""Runs ctest for scripts/test: prints failures as they happen and ends with one screen.

usage: run_ctest.py BUILD-DIR CTEST-OPTION...

A failed case with the label `io` (it starts processes, opens sockets or runs interpreters) is tried a second
time, alone. The exit status is 0 if each case passed at one of its tries or was skipped, otherwise ctest's.
"""
import collections
import os
import re
import subprocess
import sys
import xml.etree.ElementTree

MAX_NAMES = 8  # of one kind on the screen
MAX_SLOWEST = 5

Case = collections.namedtuple('Case', 'name result seconds reason')  # result: passed, failed or skipped
Second = collections.namedtuple('Second', 'passed failed')  # names of the cases that were tried twice


def skip_reason(output):
    """Returns the message of GTEST_SKIP, which follows the line "FILE:LINE: Skipped"."""
    lines = output.splitlines()
    for i, line in enumerate(lines[:-1]):
        if re.search(r':\d+: Skipped$', line):
            return lines[i + 1].strip() or 'no reason given'
    return 'no reason given'


def read_cases(path):
    """Returns the cases of a JUnit file that ctest wrote; disabled ones are left out."""
    cases = []
    for node in xml.etree.ElementTree.parse(path).getroot().iter('testcase'):
        status, skipped, reason = node.get('status'), node.find('skipped'), ''
        if status == 'disabled':
            continue
        if status == 'run':
            result = 'passed'
        elif skipped is not None and skipped.get('message', '').startswith('SKIP_'):
            result, reason = 'skipped', skip_reason(node.findtext('system-out') or '')
        else:  # failed, or its program could not be started
            result = 'failed'
        cases.append(Case(node.get('name'), result, float(node.get('time', 0)), reason))
    return cases


def shortened(rows):
    more = len(rows) - MAX_NAMES
    return rows if more <= 0 else rows[:MAX_NAMES] + [f'and {more} more']


def screen(cases, second):
    """Returns the last lines of a run, at most about thirty."""
    failed = [c.name + (' (twice)' if c.name in second.failed else '')
              for c in cases if c.result == 'failed' and c.name not in second.passed]
    reasons = collections.Counter(c.reason for c in cases if c.result == 'skipped')
    passed = sum(c.result == 'passed' for c in cases) + len(second.passed)
    head = f'{passed} passed, {len(failed)} failed, {sum(reasons.values())} skipped'
    if second.passed:
        head += f'; {len(second.passed)} passed only at the second try'
    lines = [head]

    def add(title, rows):
        if rows:
            lines.append(title)
            lines.extend('  ' + row for row in shortened(rows))

    add('failed:', failed)
    add('passed only at the second try:', sorted(second.passed))
    add('skipped:', [f'{n:5}  {reason}' for reason, n in reasons.most_common()])
    slowest = sorted(cases, key=lambda c: -c.seconds)[:MAX_SLOWEST]
    add('slowest:', [f'{c.seconds:5.1f} s  {c.name}' for c in slowest])
    return lines


def shown(line):
    """Whether a line of ctest's output is about a failure."""
    return not re.match(r'(Internal ctest|Test project| *Start +\d+:|$)', line) and not re.match(
        r' *\d+/\d+ Test .*(   Passed |\*\*\*Skipped |\*\*\*Not Run \(Disabled\))', line)


def run(build, options, results):
    """Runs ctest, prints its output up to its own summary, and returns its exit status."""
    command = ['ctest', '--test-dir', build, '--output-on-failure', '--output-junit', results, *options]
    print('+ ' + ' '.join(command), file=sys.stderr, flush=True)
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True, errors='replace')
    summary = False
    for line in process.stdout:
        summary = summary or bool(re.match(r'\d+% tests passed, \d+ tests? failed out of \d+', line))
        if not summary and shown(line):
            print(line, end='', flush=True)
    return process.wait()


def only(names):
    """Returns the regular expression, as ctest understands it, of these names."""
    return '^(' + '|'.join(re.sub(r'([^\w/ -])', r'\\\1', name) for name in names) + ')$'


def main(build, *options):
    results = [os.path.abspath(os.path.join(build, name)) for name in ('first_try.xml', 'second_try.xml')]
    for path in results:
        if os.path.exists(path):
            os.remove(path)
    # 1. All cases.
    status = run(build, options, results[0])
    if not os.path.exists(results[0]):
        return status or 1
    cases = read_cases(results[0])
    failed = [c.name for c in cases if c.result == 'failed']
    # 2. The failed ones with the label `io` again, one at a time.
    again = []
    if failed:
        run(build, ['-L', 'io', '-R', only(failed), '--no-tests=ignore'], results[1])
        again = read_cases(results[1]) if os.path.exists(results[1]) else []
    second = Second({c.name for c in again if c.result == 'passed'},
                    {c.name for c in again if c.result == 'failed'})
    # 3. The screen.
    print('\n'.join(screen(cases, second)), flush=True)
    return 0 if failed and set(failed) <= second.passed else status


if __name__ == '__main__':
    sys.exit(main(*sys.argv[1:]))

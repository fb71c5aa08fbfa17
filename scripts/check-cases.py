#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""Does every test that the security model names exist?

usage: scripts/check-cases.py

Reads Documentation/networking/vhost_tap-security.rst. A name there is
``PROGRAM.TEST`` for a test of a kselftest program, ``unit.TEST`` for one of the
userspace tests, or ``PROGRAM`` alone. Prints what is named and is not there, and the
mutants that are named by a number that none has; says nothing if all is well.
"""
import glob
import os
import re
import sys

DOC = "Documentation/networking/vhost_tap-security.rst"
KSELFTESTS = "tools/testing/selftests/vhost_tap"
UNITS = "tools/testing/vhost_tap"


def read(path):
    with open(path, encoding="utf-8") as f:
        return f.read()


def kselftests(program):
    """The tests in a program's source, or None without such a program."""
    path = f"{KSELFTESTS}/{program}.c"
    if not os.path.exists(path):
        return None
    return set(re.findall(r"^TEST(?:_F)?(?:_TIMEOUT)?\((?:\w+, *)?(\w+)",
                          read(path), re.M))


def units():
    """The names in the tables of the userspace tests."""
    names = set()
    for path in glob.glob(f"{UNITS}/test_*.c"):
        text = read(path)
        names |= set(re.findall(r"^\tT\((\w+)\),", text, re.M))
        names |= set(re.findall(r"^\t\{ \"(\w+)\", \w+ \},", text, re.M))
    return names


def mutants(text):
    """Numbers of mutants that the text names, ranges included."""
    for words in re.findall(r"\bmutants?\s((?:[0-9]{2}(?:,\s*|\s+to\s+)?)+)", text):
        for first, _, last in re.findall(r"([0-9]{2})(\s+to\s+([0-9]{2}))?", words):
            for n in range(int(first), int(last or first) + 1):
                yield n


def main():
    os.chdir(os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
    text = read(DOC)
    known = units()
    missing = []
    for name in sorted(set(re.findall(r"``(\w+_test|unit)(?:\.(\w+))?``", text))):
        program, test = name
        if program == "unit":
            there = not test or test in known
        else:
            tests = kselftests(program)
            script = any(os.path.exists(f"{d}/{program}")
                         for d in (KSELFTESTS, "scripts/vm"))
            there = test in tests if tests and test else bool(tests) or script
        if not there:
            missing.append(f"{program}.{test}" if test else program)
    for n in sorted(set(mutants(text))):
        if not glob.glob(f"{UNITS}/mutants/{n:02d}-*.patch"):
            missing.append(f"mutant {n:02d}")
    for name in missing:
        print(f"{DOC}: there is no {name}")


if __name__ == "__main__":
    sys.exit(main())

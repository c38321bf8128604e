"""Runs the tests of modules and prints what `go test -json` would (go doc test2json): one JSON object a line.

test/clients makes subtests of them.
"""

import json
import sys
import unittest


class Events(unittest.TestResult):
    def event(self, test, action, **more):
        print(json.dumps({'Action': action, 'Package': 'python', 'Test': str(test.id()), **more}), flush=True)

    def ended(self, test, action, output=''):
        if output:
            self.event(test, 'output', Output=output + '\n')
        self.event(test, action)

    def addSuccess(self, test):
        self.ended(test, 'pass')

    def addSkip(self, test, reason):
        self.ended(test, 'skip', reason)

    def addFailure(self, test, err):
        super().addFailure(test, err)
        self.ended(test, 'fail', self.failures[-1][1])

    def addError(self, test, err):
        super().addError(test, err)
        self.ended(test, 'fail', self.errors[-1][1])

    def addSubTest(self, test, subtest, err):
        super().addSubTest(test, subtest, err)
        if err is not None:
            self.ended(subtest, 'fail', ''.join(text for _, text in (self.failures + self.errors)[-1:]))


suite = unittest.defaultTestLoader.loadTestsFromNames(sys.argv[1:])
sys.exit(not suite.run(Events()).wasSuccessful())

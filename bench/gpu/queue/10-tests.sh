# shellcheck shell=bash
# question: Do all cases that need a GPU pass?
# kind: correctness
# prediction: tests_failed 0..0
# rule: tests_failed == 0 && tests_passed > 0
# limit: 250
# value: 90
# needs: tests/ops_tests tests/transport_tests tests/actor_tests tests/strategy_tests
# depends: ops transport actors strategies tests/ops tests/transport tests/actors tests/strategies
checks tests check_suites

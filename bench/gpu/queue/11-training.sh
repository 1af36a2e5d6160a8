# shellcheck shell=bash
# question: Do trainings on the GPU give the losses, accuracy and, captured or not, the bits that they should?
# kind: correctness
# prediction: training_failed 0..0
# rule: training_failed == 0 && training_passed > 0
# limit: 240
# value: 80
# needs: examples/fashion_mnist
# depends: ops actors strategies examples/fashion_mnist
check_all_trainings() { start_trainings_on_cores && check_trainings; }
checks training check_all_trainings

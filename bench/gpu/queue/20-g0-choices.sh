# shellcheck shell=bash disable=SC2154  # the runner sets root and log
# question: How much do steps differ whose products were chosen by three measurements anew (item G0)?
# kind: speed
# prediction: g0_slowest_to_fastest 1.00..1.06, g0_differing_percent 0..40
# rule: g0_slowest_to_fastest < 1.01
# limit: 120
# value: 40
# needs: bench/gpu_bench
# depends: ops/cuda ops/core/measured_choices.cpp bench/gpu/step.cpp
for i in 1 2 3; do
  TROUPE_CUDA_CHOICES=$log/choices_$i gpu_bench step --model gpt2 --layers 2 --batch 32 --precision bfloat16 --steps 20 \
    --repetitions 1 --figures "g0_$i"
done | tee "$log/steps.txt"
figure g0_slowest_to_fastest "$(awk '/^figure g0_._ms/ { print $3 }' "$log/steps.txt" | sort -n |
  awk 'NR == 1 { least = $1 } { most = $1 } END { printf "%.4f", most / least }')" of_fastest
figure g0_differing_percent "$(cat "$log"/choices_? | sort | uniq -c |
  awk '{ ++keys[$2]; if ($1 < 3) differing[$2] } END { for (key in keys) { ++all; differ += key in differing }
         printf "%.1f", all ? 100 * differ / all : 0 }')" %

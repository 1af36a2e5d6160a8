# shellcheck shell=bash disable=SC2154  # run_all sets what the parts share
# Trainings on Fashion-MNIST, and their reports.

# train NAME LIMIT DEVICES FLAGS...: trains. The report, the losses and the output go to the log under that name.
train() {
  local name=$1 most=$2 devices=$3 strategy=one_device
  shift 3
  [[ $devices == *[*,]* ]] && strategy=mirrored
  ours run "$name" "$most" "$build/examples/fashion_mnist" --data "$data" --strategy "$strategy" \
    --devices "$devices" --report "$log/$name.json" --loss-curve "$log/$name.losses" "$@"
}

# reported KEY NAME: prints a value from the report of a training, or nothing if there is none.
reported() { sed -n "s/.*\"$1\": \"\{0,1\}\([0-9a-f.eE+-]*\).*/\1/p" "$log/$2.json" 2>/dev/null || true; }

# largest_difference NAME NAME: prints the largest difference of the first 200 losses relative to the second training's,
# or nothing if there are fewer losses.
largest_difference() {
  paste "$log/$1.losses" "$log/$2.losses" 2>/dev/null | head -200 | awk '
    NF == 2 { d = ($1 - $2) / $2; if (d < 0) d = -d; if (d > most) most = d; ++count }
    END { if (count == 200) printf "%.2e", most }'
}

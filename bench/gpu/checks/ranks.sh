# shellcheck shell=bash disable=SC2154  # run_all sets what the parts share
# Point 4: NCCL between processes that share one GPU.

declare -A rank_pids=()

# start_rank NAME RANK COMMAND...: starts a rank in the background. NCCL regards each process as one on its own machine.
start_rank() {
  local name=$1 rank=$2
  shift 2
  printf '$ %s\n' "$*" >"$log/$name.$rank.txt"
  NCCL_HOSTID=troupe-$rank NCCL_SOCKET_IFNAME=lo NCCL_DEBUG=INFO NCCL_DEBUG_FILE=$log/$name.$rank.nccl.txt \
    LD_LIBRARY_PATH=$libraries "$@" >>"$log/$name.$rank.txt" 2>&1 &
  rank_pids[$rank]=$!
}

# moment_in SECONDS: prints the moment in that many seconds, in units of the variable SECONDS, but at most this script's
# limit.
moment_in() {
  local left
  left=$(seconds_left)
  echo $((SECONDS + ($1 < left ? $1 : left)))
}

# end_rank RANK MOMENT: waits for a rank and returns its status, or kills it at that moment and returns 124.
end_rank() {
  local pid=${rank_pids[$1]} until=$2 status=0
  while kill -0 "$pid" 2>/dev/null && ((SECONDS < until)); do sleep 0.1; done
  if kill -0 "$pid" 2>/dev/null; then
    kill -KILL "$pid" 2>/dev/null || true
    wait "$pid" 2>/dev/null || true
    return 124
  fi
  wait "$pid" 2>/dev/null || status=$?
  return "$status"
}

free_port() {
  local port
  while :; do
    port=$((20000 + RANDOM % 10000))
    (exec 3<>"/dev/tcp/127.0.0.1/$port") 2>/dev/null || break
  done
  echo "$port"
}

# last_line NAME RANK: prints the last line of a rank's output.
last_line() { sed -e '1d' -e '/^ *$/d' "$log/$1.$2.txt" | tail -1 | cut -c1-120; }

check_collectives() {
  local world=$1 name="nccl_$1" rank port until status=0 worst=0 program=$build/bench/nccl_ranks
  [[ -x $program ]] || { row 4 "NCCL, $world ranks" "right" "there is no $program" SKIPPED && return; }
  port=$(free_port)
  for ((rank = 0; rank < world; ++rank)); do
    start_rank "$name" "$rank" "$program" --rank "$rank" --world-size "$world" --rendezvous "127.0.0.1:$port"
  done
  until=$(moment_in 90)
  for ((rank = 0; rank < world; ++rank)); do
    status=0
    end_rank "$rank" "$until" || status=$?
    ((status == 0)) || worst=$rank:$status
  done
  verdict 4 "NCCL, $world ranks: all collectives, sizes, dtypes" "right" \
    "$(if [[ $worst == 0 ]]; then last_line "$name" 0; else last_line "$name" "${worst%:*}"; fi)" test "$worst" == 0
}

# start_training NAME FLAGS...: starts fashion_mnist as two ranks on one GPU.
start_training() {
  local name=$1 rank port program=$build/examples/fashion_mnist over=()
  shift
  port=$(free_port)
  [[ $(ours "$program" --help 2>&1) == *nccl* ]] && over=(--all-reduce nccl)
  for rank in 0 1; do
    start_rank "$name" "$rank" "$program" --data "$data" --strategy multi_worker_mirrored --devices cuda:0 \
      --rank "$rank" --world-size 2 --rendezvous "127.0.0.1:$port" --report "$log/$name" "${over[@]}" "$@"
  done
}

# check_over_nccl NAME WHAT: checks whether the ranks of a training have used NCCL.
check_over_nccl() {
  local message="NCCL was not used"
  grep -qs 'Init COMPLETE' "$log/$1.0.nccl.txt" && message="NCCL has made its communicator"
  verdict 4 "$2: over NCCL" "used" "$message" test "$message" != "NCCL was not used"
}

check_training() {
  local rank until status=0 worst=0 hashes=()
  start_training nccl_training --epochs 1 --batch-size 600 --seed 4
  until=$(moment_in 90)
  for rank in 0 1; do
    status=0
    end_rank "$rank" "$until" || status=$?
    ((status == 0)) || worst=$status
    hashes+=("$(sed -n 's/.*"parameters_hash": "\(.*\)".*/\1/p' "$log/nccl_training.$rank" 2>/dev/null || true)")
  done
  if ((worst > 0)); then
    row 4 "Mirrored over 2 ranks" "trains" "$(last_line nccl_training 0)" FAIL
    return
  fi
  verdict 4 "Mirrored over 2 ranks: hash" "${hashes[0]:-none}" "${hashes[1]:-none}" \
    test -n "${hashes[0]}" -a "${hashes[0]}" == "${hashes[1]}"
  check_over_nccl nccl_training "Mirrored over 2 ranks"
}

# kill_rank_1 NAME PATTERN: kills rank 1 once rank 0 has printed the pattern. Sets `begun`, and `status` and `ms` of
# rank 0's end.
kill_rank_1() {
  local name=$1 until killed
  until=$(moment_in 60)
  begun=false status=0
  until grep -q "$2" "$log/$name.0.txt" || ((SECONDS > until)) || ! kill -0 "${rank_pids[0]}" 2>/dev/null; do
    sleep 0.1
  done
  grep -q "$2" "$log/$name.0.txt" && begun=true
  sleep 0.7
  killed=$(date +%s%N)
  kill -KILL "${rank_pids[1]}" 2>/dev/null || true
  end_rank 0 "$(moment_in 40)" || status=$?
  ms=$((($(date +%s%N) - killed) / 1000000))
  end_rank 1 "$((SECONDS + 5))" 2>/dev/null || true
}

check_lost_rank() {
  local begun status ms
  start_training nccl_lost --epochs 1000 --batch-size 600
  kill_rank_1 nccl_lost 'epoch 1/'
  verdict 4 "training, rank 1 killed: the other" "ends, and names rank 1" "$ms ms: $(last_line nccl_lost 0)" \
    test "$begun $status $(grep -cE 'fashion_mnist: .*(process|rank) 1\b' "$log/nccl_lost.0.txt")" == "true 1 1"
}

# Without a run around it, a group only detects that its limit has passed.
check_limit() {
  local begun status ms rank port program=$build/bench/nccl_ranks
  [[ -x $program ]] || return 0
  port=$(free_port)
  for rank in 0 1; do
    start_rank nccl_limit "$rank" "$program" --rank "$rank" --world-size 2 --rendezvous "127.0.0.1:$port" --limit 8 \
      --forever
  done
  kill_rank_1 nccl_limit 'are right'
  verdict 4 "collectives, rank 1 killed: the other" "ends, limit of 8 s" "$ms ms: $(last_line nccl_limit 0)" \
    holds "\"$begun $status\" == \"true 1\" && $ms < 20000"
}

check_point_4() {
  local check
  for check in "check_collectives 2" "check_collectives 4" check_training check_lost_rank check_limit; do
    if (($(seconds_left) < 45)); then
      row 4 "${check#check_}" "" "no time left" SKIPPED
    else
      $check
    fi
  done
}

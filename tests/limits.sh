# Limits, events and ports of the test scripts, which source this file. tests/limits.hpp has the limits of the programs.

work() {
  local i
  for ((i = 0; i < 50000; ++i)); do :; done
}
# A process that answers lines, as a partner of one that waits for each answer.
hand_over() {
  local i
  coproc partner { while read -r; do echo; done; }
  for ((i = 0; i < 1000; ++i)); do echo >&"${partner[1]}" && read -r <&"${partner[0]}"; done
}
# seconds_of COMMAND
seconds_of() {
  local begin=$EPOCHREALTIME end
  "$1"
  end=$EPOCHREALTIME
  awk -v end="${end/,/.}" -v begin="${begin/,/.}" 'BEGIN { print end - begin }'
}
# The time of fixed pieces of work, divided by their time on the idle reference machine, at least 1: see
# troupe::testing::slowness(). On a busy machine two processes that wait for each other lose more time than one that
# computes. Handoffs take 0.02 to 0.07 s where both processors are idle. Programs that the script starts read the number from
# the environment.
measure_slowness() {
  awk -v work="$(seconds_of work)" -v handoffs="$(seconds_of hand_over)" 'BEGIN {
    slowness = work / 0.12
    if (handoffs / 0.07 > slowness) slowness = handoffs / 0.07
    print(slowness < 1 ? 1 : slowness > 10 ? 10 : slowness)
  }'
}
: "${TROUPE_SLOWNESS:=$(measure_slowness)}"
export TROUPE_SLOWNESS

# limit SECONDS: a limit that suits the reference machine, in whole seconds of this one.
limit() { awk -v seconds="$1" -v slowness="$TROUPE_SLOWNESS" 'BEGIN { printf "%d\n", seconds * slowness + 0.999 }'; }

# Flags of programs of several processes: a busy machine keeps a live process from running for longer than an idle one.
lost_after=(--lost-after "$(limit 2.5)")

# until_true SECONDS COMMAND...: waits until the command succeeds; fails if it does not within the limit.
until_true() {
  local deadline=$((SECONDS + $(limit "$1")))
  shift
  until "$@"; do
    [ "$SECONDS" -lt "$deadline" ] || return 1
    sleep 0.05
  done
}

has_ended() { ! kill -0 "$1" 2>/dev/null; }
has_line_or_ended() { grep -qs -- "$1" "$2" || has_ended "$3"; }

# wait_for_line TEXT FILE PROCESS: waits until a process has written a line with this text; fails if it ends before.
wait_for_line() { until_true 60 has_line_or_ended "$@" && grep -qs -- "$1" "$2"; }

# listens PORT: a process of this machine listens at this port.
listens() { grep -qE "^ *[0-9]+: [0-9A-F]+:$(printf %04X "$1") [0-9A-F]+:0000 0A " /proc/net/tcp; }
listens_or_ended() { listens "$1" || has_ended "$2"; }

# wait_for_listener PORT PROCESS: waits until the process listens at a port; fails if it ends before.
wait_for_listener() { until_true 60 listens_or_ended "$@" && listens "$1"; }

# reserve_port: sets `port` to a port of the loopback interface that no other process is given until this script ends. A
# socket is bound to it that does not listen; a listener with SO_REUSEADDR may be bound beside it.
reserve_port() {
  if [ -z "${reserved_ports_PID:-}" ]; then
    # The input of the process ends with this script.
    coproc reserved_ports {
      exec perl -MSocket -e '$| = 1; while (<STDIN>) {
        my $socket;
        socket($socket, PF_INET, SOCK_STREAM, 0) && setsockopt($socket, SOL_SOCKET, SO_REUSEADDR, 1) &&
          bind($socket, sockaddr_in(0, INADDR_LOOPBACK)) or die "no port can be reserved: $!";
        push @sockets, $socket;
        print((sockaddr_in(getsockname($socket)))[0], "\n");
      }'
    }
  fi
  echo >&"${reserved_ports[1]}"
  read -r port <&"${reserved_ports[0]}"
}

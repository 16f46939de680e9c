#!/usr/bin/env bash
# Measures the performance requirements of the project as ratios and prints PASS or FAIL for each.
# Figures without a requirement are marked INFO.
#   benchmarks/acceptance.sh [path of superstep-bench]
# Figures are the minimum CPU time of nine repetitions, unless noted. The load of the machine changes all figures.
# Each bound is therefore a ratio to another figure of the same session.
# Exit code: 0 if all requirements passed or were skipped, else 1.
set -euo pipefail
here=$(cd "$(dirname "$0")/.." && pwd)
bench=${1:-$here/build/release/bin/superstep-bench}
[ -x "$bench" ] || { echo "no program at $bench: build it, or pass its path" >&2; exit 1; }

failed=0
# member NAME: prints a number of the report on standard input.
member() { tr ',{' '\n\n' | sed -n "s/^\"$1\":\\([-0-9.eE+]*\\)}*\$/\\1/p" | head -n 1; }
# figure MEMBER WORKLOAD key=value …: prints one number of one run.
figure() {
  local name=$1
  shift
  "$bench" "$@" | member "$name"
}
# least NUMBER …: prints the minimum.
least() { printf '%s\n' "$@" | sort -g | head -n 1; }
# compute EXPRESSION: prints its value.
compute() { awk "BEGIN { printf \"%.9g\", $1 }"; }
is_true() { awk "BEGIN { exit !($1) }"; }
# in_hops SECONDS: prints a duration as a multiple of one hop.
in_hops() { compute "$1 * 1e9 / $h"; }
# tell WHAT VALUE: prints a figure without a requirement.
tell() { printf 'INFO  %-58s %8.3f\n' "$1" "$2"; }
# judge WHAT VALUE OPERATOR BOUND: prints PASS or FAIL.
judge() {
  local verdict=PASS
  is_true "$2 $3 $4" || { verdict=FAIL; failed=1; }
  printf '%-4s  %-58s %8.3f  (%s %s)\n' "$verdict" "$1" "$2" "$3" "$4"
}
# cpu_per_unit WORKLOAD …: prints CPU seconds per unit.
cpu_per_unit() {
  local line cpu units
  line=$("$bench" "$@" | tr ',{' '\n\n')
  cpu=$(sed -n 's/^"cpu_seconds_min":\(.*\)$/\1/p' <<<"$line")
  units=$(sed -n 's/^"units":\(.*\)$/\1/p' <<<"$line")
  compute "$cpu / $units"
}

# in_turn 'WORKLOAD …' …: prints the minimum CPU seconds per unit of each workload, in order. It measures all
# workloads in turn, five times with nine repetitions, so that a slow phase of the machine affects them equally.
in_turn() {
  local i round
  local -a minima=()
  for round in 1 2 3 4 5; do
    for ((i = 1; i <= $#; ++i)); do
      # shellcheck disable=SC2086 # the words of one workload
      minima[i]=$(least ${minima[i]:-} "$(cpu_per_unit ${!i} reps=9)")
    done
  done
  echo "${minima[@]}"
}

h=$(figure hop_ns floor dir=/tmp)
printf '      one hop h: %.0f ns\n' "$h"

for fresh in 0 1; do
  for name in chain3 fan5; do
    run=$(cpu_per_unit $name fresh=$fresh reps=9)
    case $name$fresh in chain30) bound=2 ;; chain31) bound=4 ;; fan50) bound=3 ;; *) bound=10 ;; esac
    judge "$name fresh=$fresh, run in h" "$(in_hops "$run")" '<=' $bound
  done
done
judge 'W1 K=100, super-step in h' "$(in_hops "$(cpu_per_unit W1 K=100 runs=200 reps=9)")" '<=' 0.75
judge 'W3 S=1000, super-step in h' "$(in_hops "$(cpu_per_unit W3 S=1000 runs=20 reps=9)")" '<=' 0.75
line=$("$bench" wide-step N=all reps=9)
judge 'wide-step, a of a + b·N in h' "$(compute "$(member a_us <<<"$line") * 1e3 / $h")" '<=' 3
judge 'wide-step, b of a + b·N in h' "$(compute "$(member b_ns <<<"$line") / $h")" '<=' 0.5
judge 'wide-step, worst deviation from a + b·N' "$(member worst_deviation <<<"$line")" '<=' 0.15
read -r empty full < <(echo "$(figure send_cpu_us send-state M=0 runs=20 reps=9)" \
  "$(figure send_cpu_us send-state M=2000 runs=20 reps=9)")
judge 'send-state, Send with 2,000 messages against none' "$(compute "$full / $empty")" '<=' 1.1

# Each repetition is a series of runs. A single run takes a few microseconds, so the wake-up of the calling thread
# would dominate its time.
read -r n100 n1000 n10000 < <(in_turn 'W2 N=100 runs=1000' 'W2 N=1000 runs=100' 'W2 N=10000 runs=10')
slope=$(compute "($n1000 * 1000 - $n100 * 100) / 900")
judge 'W2, (N=1000 - N=100) / 900 in h' "$(compute "$slope * 1e9 / $h")" '<=' 1
judge 'W2, per Send N=10000 against that slope' "$(compute "$n10000 / $slope")" '<=' 1.2

read -r s100 s10000 < <(in_turn 'W3 S=100 runs=1000' 'W3 S=10000 runs=10')
judge 'W3, per step S=10000 against S=100' "$(compute "$s10000 / $s100")" '<=' 1.1

for version in v1 v2; do
  for calls in 1 8; do
    w4="W4 C=$calls version=$version"
    read -r t10 t100 < <(in_turn "$w4 T=10 runs=100" "$w4 T=100 runs=10")
    judge "W4 $version C=$calls, per call T=100 against T=10" "$(compute "$t100 / $t10")" '<=' 1.5
  done
done

# Each measurement uses a new process, because later batches of a process reuse the memory of the first.
resident=() seconds=()
for i in 1 2 3; do
  line=$("$bench" W7 R=10000 lat=50 reps=1)
  resident+=("$(member rss_per_run_kb <<<"$line")")
  seconds+=("$(member seconds <<<"$line")")
done
judge 'W7 R=10000 lat=50, KiB resident per run, best of 3' "$(least "${resident[@]}")" '<=' 16
judge 'W7 R=10000 lat=50, seconds, best of 3' "$(least "${seconds[@]}")" '<=' 3

a10=$(figure last_us append S=10 runs=3000 reps=9)
for steps in 3000 10000; do
  late=$(figure last_us append S=$steps runs=3 reps=9)
  judge "append, step at $steps against step at 10" "$(compute "$late / $a10")" '<=' 1.3
done

for runs in 10000 100000; do
  judge "idle N=$runs, bytes per waiting run" "$(figure bytes_per_run idle N=$runs)" '<=' 4096
  line=$("$bench" cancel N=$runs)
  judge "cancel N=$runs, us per run until all are marked" "$(member marked_us <<<"$line")" '<=' 2
  judge "cancel N=$runs, us per run until all are unwound" "$(member unwound_us <<<"$line")" '<=' 15
done

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
one=$("$bench" batch R=5000 workers=1 dir="$folder")
judge 'batch workers=1, CPU per row in us' "$(member cpu_us_per_row <<<"$one")" '<=' 25
cores=$(nproc)
for ((workers = 2; workers <= cores; workers *= 2)); do
  line=$("$bench" batch R=5000 workers=$workers dir="$folder")
  judge "batch workers=$workers, rows per second against one worker" \
    "$(compute "$(member rows_per_s <<<"$line") / $(member rows_per_s <<<"$one")")" '>=' \
    "$(compute "$workers == 2 ? 1.85 : 0.85 * $workers")"
done

tell 'W5 25x300, CPU per super-step in us' "$(compute "$(cpu_per_unit W5 reps=9) * 1e6")"
tell 'W5k, CPU per key written in ns' "$(compute "$(cpu_per_unit W5k reps=9) * 1e9")"
tell 'W6 N=100, CPU per super-step of a subgraph in us' "$(compute "$(cpu_per_unit W6 reps=9) * 1e6")"
for saver in mem sqlite; do
  tell "W8loop saver=$saver, CPU per super-step in us" \
    "$(compute "$(cpu_per_unit W8loop saver=$saver dir="$folder") * 1e6")"
  tell "W8chat saver=$saver, CPU of a late turn in ms" \
    "$(figure old_cpu_ms W8chat H=200 saver=$saver dir="$folder")"
done
tell 'W11, CPU per get in us' "$(figure get_us W11)"
tell 'W12, CPU until the first run has ended in ms' \
  "$(line=$("$bench" W12) && compute "($(member import_s <<<"$line") + $(member cpu_seconds <<<"$line")) * 1e3")"

# Compares an engine with two lanes with two processes of one lane each. Each repetition measures both thirty times in
# turn, a tenth of a second each, because the speed of a core can change within seconds. The requirement is on wall
# time, which shows idle cores. CPU time, which depends less on the load of the machine, is printed as well.
good=0
for i in 1 2 3 4 5 6 7 8 9 10; do
  together=0 apart=0 together_cpu=0 apart_cpu=0
  for ((turn = 0; turn < 30; ++turn)); do
    both=$("$bench" runs workers=2 ms=100)
    "$bench" runs workers=1 ms=100 >"/tmp/superstep-bench.$$.a" &
    other=$!
    b=$("$bench" runs workers=1 ms=100)
    wait $other
    a=$(cat "/tmp/superstep-bench.$$.a")
    rm -f "/tmp/superstep-bench.$$.a"
    of() { member "$1" <<<"$2"; }
    together=$(compute "$together + $(of runs_per_s "$both")")
    apart=$(compute "$apart + $(of runs_per_s "$a") + $(of runs_per_s "$b")")
    together_cpu=$(compute "$together_cpu + $(of runs_per_cpu_s "$both")")
    apart_cpu=$(compute "$apart_cpu + ($(of runs_per_cpu_s "$a") + $(of runs_per_cpu_s "$b")) / 2")
  done
  ratio=$(compute "$together / $apart")
  cpu=$(compute "$together_cpu / $apart_cpu")
  printf '      runs %2d: 2 workers / two processes %.3f, by CPU time %.3f\n' $i "$ratio" "$cpu"
  is_true "$ratio >= 0.85" && good=$((good + 1))
done
judge 'runs, repetitions at 0.85 or more, of 10' $good '>=' 10

judge 'W10, CPU per streamed token in us' "$(figure cpu_per_token_us W10 reps=9)" '<=' 1
# The last two of eight calls wait for places, so the floor is 0.7 s of 0.95 s.
early=$(figure seconds early limit=6 early=1 reps=1)
judge 'early, a turn of 8 calls, 6 at once, against one without' \
  "$(compute "$early / $(figure seconds early limit=6 early=0 reps=1)")" '<=' 0.75

# The test server is in the folder beside that of superstep-bench if the tests were built. CPU time is judged with a
# server that answers at once: after a wait of 20 ms, empty caches cost more than the request.
server=$(dirname "$bench")/../tests/chat_server
if [ ! -x "$server" ]; then
  printf 'SKIP  W13: no server at %s\n' "$server"
else
  exec 3< <(exec "$server" --scripted --latency-ms 20 --daemon)
  servers=$!
  exec 4< <(exec "$server" --scripted --daemon)
  servers+=" $!"
  trap 'kill $servers; rm -rf "$folder"' EXIT
  read -r slow <&3
  read -r fast <&4
  for conc in 1 10 100; do
    tell "http conc=$conc, CPU per request in us" \
      "$(figure cpu_us_per_request http conc=$conc "url=http://127.0.0.1:$fast/v1")"
  done
  w13() { figure "$1" W13 "conc=$2" "url=http://127.0.0.1:$3/v1"; }
  judge 'W13 conc=1, run against 3 x 20 ms' "$(compute "1 / 0.06 / $(w13 runs_per_s 1 "$slow")")" '<=' 1.03
  judge 'W13 conc=10, run against 3 x 20 ms' "$(compute "10 / 0.06 / $(w13 runs_per_s 10 "$slow")")" '<=' 1.15
  judge 'W13 conc=100, run against 3 x 20 ms' "$(compute "100 / 0.06 / $(w13 runs_per_s 100 "$slow")")" '<=' 1.4286
  judge 'W13 conc=1, CPU per request in us' "$(compute "$(w13 cpu_per_run_ms 1 "$fast") / 3 * 1000")" '<=' 120
  judge 'W13 conc=100, CPU per request in us' "$(compute "$(w13 cpu_per_run_ms 100 "$fast") / 3 * 1000")" '<=' 60
  tell 'W13 conc=1, CPU per request in us after waits of 20 ms' \
    "$(compute "$(w13 cpu_per_run_ms 1 "$slow") / 3 * 1000")"
fi

line=$("$bench" W9 workers=2 reps=9)
of() { member "$1" <<<"$line"; }
threads=$(of threads_speedup)
if is_true "$threads < 1.6"; then
  printf 'SKIP  W9: two bare threads reach only %.2f here, less than 1.6\n' "$threads"
else
  judge "W9, speed-up against that of bare threads ($threads)" \
    "$(compute "$(of speedup) / $threads")" '>=' 0.92
fi
exit $failed

#!/usr/bin/env bash
# Six phases with 1, 2, 4 … 32 requests in flight on a simulated device with one channel. The result is in ./staircase.
set -euo pipefail
{
    cat <<'PLAN'
version = 2
run_id = 1
seed = 7
engine = { kind = "sim", service = "90us", jitter = "10us", channels = 1 }

[[target]]
path = "dev"
size = "1GiB"
PLAN
    for depth in 1 2 4 8 16 32; do
        cat <<PLAN

[[phase]]
name = "depth $depth"

[[phase.job]]
target = 0
depth = $depth
workload = { kind = "generated", order = "random", block_size = "4KiB", read_percent = 100, pace = { kind = "closed" }, stop = { requests = 5000 } }
PLAN
    done
} > staircase.toml
iosonar run staircase.toml --no-progress -o staircase

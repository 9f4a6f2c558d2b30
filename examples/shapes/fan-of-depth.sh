#!/usr/bin/env bash
# The rate rises to a little more than a simulated device with one channel can do. The result is in ./fan-of-depth.
set -euo pipefail
cat > fan-of-depth.toml <<'PLAN'
version = 2
run_id = 1
seed = 7
depth = 256
engine = { kind = "sim", service = "50us", jitter = "50us", channels = 1 }

[[target]]
path = "dev"
size = "1GiB"

[target.workload]
kind = "generated"
order = "random"
block_size = "4KiB"
read_percent = 100
pace = { kind = "rising", from = 500, to = 11000, over = "4s" }
stop = { requests = 23000 }
PLAN
iosonar run fan-of-depth.toml --no-progress -o fan-of-depth

#!/usr/bin/env bash
# SPDX-FileCopyrightText: 2026 The ModuleLens authors
# SPDX-License-Identifier: MIT
#
# gpu_run.sh [--device NAME] [--output FILE] [--minutes N] [--dry-run]
#
# What is to be measured when a machine with a GPU is at hand, in one go: the matrix of exactness, every benchmark mode and
# the engine's benchmark against eager PyTorch on that device. Leaves a text report for docs/.
#
#   --device NAME   cuda:0 by default
#   --output FILE   the report; gpu-report.txt by default
#   --minutes N     for all of it, 9 by default: a part that runs out of its share is cut, and the report says so
#   --dry-run       on the CPU, with few cases: shows that the script works
#
# MODULELENS_PYTHON names a Python with torch for that device (else `./dev setup` finds or makes one). MODULELENS_BIN_DIR names
# a folder with programs that are built already, against the same torch; else `./dev build` builds them.
set -euo pipefail

root=$(cd "$(dirname "$(readlink -f "${BASH_SOURCE[0]}")")/../.." && pwd -P)
device=cuda:0 output=gpu-report.txt minutes=9 dry=""
while [ $# -gt 0 ]; do
    case $1 in
        --device) device=${2:?--device needs a name}; shift 2 ;;
        --output) output=${2:?--output needs a file}; shift 2 ;;
        --minutes) minutes=${2:?--minutes needs a number}; shift 2 ;;
        --dry-run) dry=yes; shift ;;
        *) sed -n '5,17s/^# \{0,1\}//p' "$0" >&2; exit 2 ;;
    esac
done
[ -z "$dry" ] || device=cpu

if [ -z "${MODULELENS_BIN_DIR:-}" ]; then
    "$root/dev" build
    export MODULELENS_BIN_DIR=$root/build/dev/bin
    MODULELENS_PYTHON=$root/.venv/bin/python
fi
python=${MODULELENS_PYTHON:-python3}
[ -x "$MODULELENS_BIN_DIR/modulelens-worker" ] || { echo "gpu_run.sh: there is no worker in $MODULELENS_BIN_DIR" >&2; exit 7; }
export MODULELENS_SOURCE_DIR=$root PYTHONPATH=$root/backend/python${PYTHONPATH:+:$PYTHONPATH} MODULELENS_BENCH_DEVICE=$device
# What is installed decides, nothing is fetched.
export HF_HUB_OFFLINE=1 MODULELENS_BENCH_AOTINDUCTOR=none
work=$(mktemp -d)
# The user's own settings, results and calibrations are left alone.
export XDG_DATA_HOME=$work/data XDG_CONFIG_HOME=$work/config XDG_CACHE_HOME=$work/cache
trap 'rm -rf "$work"' EXIT
end=$(($(date +%s) + minutes * 60))

# part TITLE SHARE COMMAND...: runs a part for at most SHARE percent of what is left of the time; nothing it does ends the script.
part() {
    local title=$1 share=$2 left status=0
    shift 2
    left=$(((end - $(date +%s)) * share / 100))
    printf '\n== %s\n' "$title"
    if [ "$left" -lt 5 ]; then
        echo "left out: no time was left"
        return
    fi
    timeout --kill-after=10 "$left" "$@" 2>&1 </dev/null || status=$?
    case $status in
        0) echo "-- done" ;;
        124 | 137) echo "-- cut after $left s" ;;
        *) echo "-- ended with $status" ;;
    esac
}

environment() {
    date -u +%Y-%m-%d
    git -C "$root" rev-parse HEAD 2>/dev/null || true
    nvidia-smi --query-gpu=name,driver_version,memory.total,clocks.sm,power.limit --format=csv 2>/dev/null || echo "no nvidia-smi"
    "$python" - <<'PY'
import os
import torch

device = torch.device(os.environ["MODULELENS_BENCH_DEVICE"])
print("torch", torch.__version__, "device", device, "threads", torch.get_num_threads())
tensor = torch.ones(4, device=device)
assert tensor.sum().item() == 4
PY
}
export -f environment
export root python

# The golden modules, as a registry: what a user would do.
modes() {
    local cli=$MODULELENS_BIN_DIR/modulelens mode
    export MODULELENS_REGISTRY=$work/registry MODULELENS_WORKER=$MODULELENS_BIN_DIR/modulelens-worker
    "$cli" import "$root/tests/data/programs/torch-2.13.0.mlens" | tail -n 1
    for mode in hot cold host_e2e graph; do
        echo "mode $mode:"
        "$cli" benchmark golden::attention --device "$device" --mode "$mode" --budget 2 || echo "exit code $?"
    done
    "$cli" profile golden::attention --device "$device" --train adam || echo "exit code $?"
    "$cli" memory golden::attention --device "$device" --train adam || echo "exit code $?"
    "$cli" calibrate --device "$device" --budget 5 || echo "exit code $?"
}
export -f modes
export device work

report() {
    part "Environment" 50 bash -c environment
    part "Every mode, a profile with a training step, memory, peaks" 30 bash -c modes
    if [ -n "$dry" ]; then
        part "Matrix of exactness" 60 "$python" "$root/tests/engine/matrix/run_matrix.py" --fast --only linear --verbose
        part "Engine against eager PyTorch" 90 env MODULELENS_BENCH_MODELS=bert_tiny MODULELENS_BENCH_ROUNDS=3 \
            "$python" "$root/tests/bench/run.py" engine
    else
        part "Matrix of exactness" 60 "$python" "$root/tests/engine/matrix/run_matrix.py" --rows fixed --verbose
        # One by one: what is cut has said nothing yet.
        for model in bert_base_layer llama_tiny bert_tiny block stack dlrm mixer resnet_eval rnn t5_tiny stackmed; do
            part "Engine against eager PyTorch: $model" 50 env MODULELENS_BENCH_MODELS="$model" MODULELENS_BENCH_ROUNDS=10 \
                "$python" "$root/tests/bench/run.py" engine
        done
    fi
}
report | tee "$output"
echo "gpu_run.sh: the report is in $output" >&2

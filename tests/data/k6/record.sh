#!/bin/sh
# Record the files of this directory again. Usage: record.sh BASE_URL UNUSED_PORT
# BASE_URL is a running examples/encoder_server; k6 must be in the PATH; nothing may listen on UNUSED_PORT.
set -u
cd "$(dirname "$0")" || exit 2

record() {
    name=$1 base_url=$2
    shift 2
    mkdir -p "$name"
    k6 run --quiet --no-color --no-usage-report --address 127.0.0.1:0 --log-output=none \
        --summary-export "$name/export.json" \
        --env RUN="${name%%.*}" --env BASE_URL="$base_url" --env DIRECTORY="$name" "$@" mixed.js
    echo $? >"$name/exit_code"
    echo "$name: exit code $(cat "$name/exit_code")"
}

record mixed "$1"
record mixed.summary_mode_full "$1" --summary-mode=full
record mixed.summary_mode_legacy "$1" --summary-mode=legacy
record clean "$1"
record threshold_crossed "$1"
record nothing_listens "http://127.0.0.1:$2"
record cut_by_max_duration "$1"
record arrival_rate "$1"
record arrival_rate_overloaded "$1"
record aborted "$1"

#!/bin/sh
# Record this sample again: record.sh [DESTINATION]. Takes about a minute.
set -eu
destination=${1:-$(dirname "$0")}
for repeat in 0 1 2; do  # the repeats are taken in turns, not back to back
    for algorithm in md5 sha1 sha256 sha512; do
        for block_bytes in 64 1024 16384; do
            test_dir=$destination/$algorithm/block_$block_bytes/repeat_$repeat
            mkdir -p "$test_dir"
            printf 'algorithm: %s\nblock_bytes: %s\nrepeat: %s\n' "$algorithm" "$block_bytes" "$repeat" \
                >"$test_dir/settings.yaml"
            exit_code=0
            openssl speed -seconds 1 -bytes "$block_bytes" -evp "$algorithm" >"$test_dir/speed.txt" 2>&1 \
                || exit_code=$?
            echo "$exit_code" >"$test_dir/exit_code"
        done
    done
done

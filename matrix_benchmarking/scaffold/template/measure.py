"""What is measured: how fast hashlib digests blocks. CHANGE it for a program of your own, in any language.

It gets settings as arguments, and prints what it measured; `matbench benchmark` keeps what it prints.
"""

import hashlib
import json
import sys
import time

ROUNDS, ROUND_S = 10, 0.005


def digest(algorithm: str, block: bytes) -> bytes:
    """The code whose speed is in question."""
    return hashlib.new(algorithm, block).digest()


def seconds_of(algorithm: str, block: bytes, blocks: int) -> float:
    """Processor time of so many digests: other programs on the machine disturb it less than the time that passes."""
    started = time.process_time()
    for _ in range(blocks):
        digest(algorithm, block)
    return time.process_time() - started


def measure(algorithm: str, block_bytes: int) -> dict[str, object]:
    """The seconds of each round, and how many blocks of how many bytes a round hashed."""
    block, blocks = bytes(block_bytes), 1
    while seconds_of(algorithm, block, blocks) < ROUND_S:
        blocks *= 2
    seconds = [seconds_of(algorithm, block, blocks) for _ in range(ROUNDS)]
    return {"block_bytes": block_bytes, "blocks": blocks, "seconds": seconds}


if __name__ == "__main__":
    print(json.dumps(measure(sys.argv[1], int(sys.argv[2]))))

"""A quiet machine for the example of the pages: its processor time goes by the bytes that it is asked to digest.

Python imports this where PYTHONPATH names the folder. What the page says of ten versions and of a slower one is true on
a machine whose speed stays within a fifth; one that runs tests is none. What was digested once isn't digested again.
"""

import random
import sys

if sys.orig_argv[1:2] == ["measure.py"]:
    import functools
    import hashlib
    import time

    NS_A_BYTE = {"sha256": 0.6, "blake2b": 0.9}
    digest, spent_ns, pace = functools.cache(hashlib.new), [0.0], random.gauss(1.0, 0.01)

    def new(name: str, data: bytes = b"") -> object:
        spent_ns[0] += pace * (0.96 + 0.08 * random.random()) * (500.0 + NS_A_BYTE[name] * len(data))
        return digest(name, data)

    hashlib.new = new  # type: ignore[assignment]
    time.process_time = lambda: spent_ns[0] * 1e-9

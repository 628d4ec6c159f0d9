"""``python -m matrix_benchmarking`` is ``matbench``."""

import sys

from .cli import main

sys.exit(main())

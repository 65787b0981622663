"""`FUSE=on`, as `make test-all` has it, plays the goldens, the corpus, Nexmark and the fuzzer with sources that leave
out what no query wants, each script by itself. They must come to the same."""

from __future__ import annotations

import os

IS_FUSED = os.environ.get("FUSE", "off") == "on"

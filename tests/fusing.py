"""`FUSE=off pytest ...` has the goldens, the corpus, Nexmark and the fuzzer play their scripts with sources that hand
over every row. They must come to the same."""

from __future__ import annotations

import os

IS_FUSED = os.environ.get("FUSE", "on") == "on"

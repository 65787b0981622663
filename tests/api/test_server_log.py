"""What the control plane writes to standard error."""

from __future__ import annotations

import re
import subprocess
import sys

_PROGRAM = """
import logging
from engine.server import log_to_standard_error

log_to_standard_error()
logging.getLogger("engine.api.pipelines.previews").info("pipeline orders was deleted by ann")
logging.getLogger("somebody.else").info("chatter")
logging.getLogger("somebody.else").warning("trouble")
"""


def test_who_did_what_is_written_down_with_its_time_and_without_the_chatter_of_others() -> None:
    ended = subprocess.run([sys.executable, "-c", _PROGRAM], capture_output=True, text=True, timeout=120, check=True)

    lines = ended.stderr.splitlines()
    assert [re.sub(r"^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z ", "", line) for line in lines] == [
        "INFO engine.api.pipelines.previews: pipeline orders was deleted by ann",
        "WARNING somebody.else: trouble",
    ]

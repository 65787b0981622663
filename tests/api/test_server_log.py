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


def test_server_log_has_the_requester_and_time_of_each_change_and_no_library_messages() -> None:
    ended = subprocess.run([sys.executable, "-c", _PROGRAM], capture_output=True, text=True, timeout=120, check=True)

    lines = ended.stderr.splitlines()
    assert [re.sub(r"^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z ", "", line) for line in lines] == [
        "INFO engine.api.pipelines.previews: pipeline orders was deleted by ann",
        "WARNING somebody.else: trouble",
    ]

"""A module for `python -m`: it tells what it was started as, and does as it is told."""

import json
import os
import signal
import sys
from pathlib import Path

if __name__ == "__main__":
    told = {
        "arguments": sys.argv[1:],
        "environment": os.environ.get("FORKED"),
        "folder": str(Path.cwd()),
        "path": sys.path[:2],
        "standard input": "" if sys.argv[1] == "wait" else sys.stdin.read(),
        "number": os.getpid(),
    }
    sys.stdout.write(json.dumps(told) + "\n")
    sys.stdout.flush()
    match sys.argv[1]:
        case "exit":
            sys.exit(int(sys.argv[2]))
        case "fail":
            raise ValueError(sys.argv[2])
        case "kill":
            os.kill(os.getpid(), signal.SIGKILL)
        case "wait":
            signal.pause()

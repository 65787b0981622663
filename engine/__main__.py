"""`python -m engine` is the `arroyo` command."""

import sys

from engine.cli import main

sys.exit(main())

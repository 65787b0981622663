"""Tests; importing any of them lets this process, and all that it starts, find the connectors of `tests.scripted`."""

import os

os.environ["ARROYO_TEST_CONNECTORS"] = "tests.scripted"
os.environ["ARROYO_TEST_CONNECTORS_ALLOWED"] = "1"

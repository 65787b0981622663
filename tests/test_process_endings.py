"""How processes end, in words."""

import pytest

from engine.values.process_endings import count_memory_kills, describe_ending


@pytest.mark.parametrize(
    ("returncode", "memory_kills", "text"),
    [
        (7, 0, "ended with exit code 7"),
        (-9, 0, "was killed by signal 9 (SIGKILL)"),
        (-9, 2, "was ended by the kernel, which was out of memory (signal 9)"),
        (-11, 2, "was killed by signal 11 (SIGSEGV)"),
        (-250, 0, "was killed by signal 250 (unknown)"),
    ],
)
def test_an_ending_is_told_in_words(returncode: int, memory_kills: int, text: str) -> None:
    assert describe_ending(returncode, memory_kills) == text


def test_the_kernels_count_never_falls() -> None:
    assert count_memory_kills() <= count_memory_kills()

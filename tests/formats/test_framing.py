from __future__ import annotations

import pyarrow as pa

from engine.formats.lines import cut_lines, split_messages


def test_each_line_of_a_message_is_a_record() -> None:
    records, origin = split_messages(pa.array([b"a\nb\n", None, b"c", b"d\n\ne"], pa.binary()))

    assert records.to_pylist() == [b"a", b"b", b"c", b"d", b"", b"e"]
    assert origin.to_pylist() == [0, 0, 2, 3, 3, 3]


def test_records_longer_than_allowed_are_cut() -> None:
    records, _ = split_messages(pa.array([b"abc\nd"], pa.binary()), longest=2)

    assert records.to_pylist() == [b"ab", b"d"]


def test_lines_longer_than_allowed_are_cut() -> None:
    assert cut_lines(b"abc\nd\nefgh", 3) == b"abc\nd\nefg\n"
    assert cut_lines(b"abc\nd\n", 3) == b"abc\nd\n"
    assert cut_lines(b"", 3) == b""

from collections.abc import Iterator
from typing import NamedTuple

from engine.udf import udtf


class Word(NamedTuple):
    text: str
    size: int


@udtf
def words(text: str) -> Iterator[Word]:
    for word in text.split():
        yield Word(word, len(word))

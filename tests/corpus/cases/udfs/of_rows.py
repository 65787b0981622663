import asyncio
from datetime import datetime, timedelta

import pyarrow.compute as pc

from engine.udf import udf


@udf
def twice(number: int) -> int:
    return 2 * number


@udf
def shout(text: str, times: int = 1) -> str:
    return text.upper() + "!" * times


@udf
def is_nothing(value: int | None) -> bool:
    return value is None


@udf
def starts_with_b(text: str) -> bool:
    return text.startswith("b")


@udf
def next_minute(moment: datetime) -> datetime:
    return moment + timedelta(minutes=1)


@udf(vectorized=True)
def plus(one: int, other: float) -> float:
    return pc.add(one, other)


@udf(ordered=True, max_in_flight=10, timeout="1s")
async def later(number: int) -> int:
    await asyncio.sleep(0)
    return number + 1

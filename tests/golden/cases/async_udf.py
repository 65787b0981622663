import asyncio

from engine.udf import udf


@udf(ordered=True)
async def slow_double_negative(value: int) -> int:
    await asyncio.sleep(value % 100 / 1000)
    return -2 * value

from engine.udf import udf


@udf
def half(number):
    return number / 2


@udf
def sqrt(number: float) -> float:
    return number**0.5


@udf
async def later(number: int) -> dict:
    return {}

from engine.udf import udf


@udf
def over_two(number: int) -> int:
    if number <= 2:
        raise ValueError("too small")
    return number

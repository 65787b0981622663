from engine.udf import udaf, udf


@udf
def half(number: int) -> float:
    return number / 2


@udaf
def most(values: list[int]) -> int:
    return max(values)

from engine.udf import udaf, udf, udtf


@udf
def half(number: int) -> float:
    return number / 2


@udaf
def most(values: list[int]) -> int:
    return max(values)


@udtf
def some(number: int) -> list[int]:
    return [number]

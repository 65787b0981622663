from engine.udf import udaf, udf


@udf
def parity(number: int) -> str:
    return "odd" if number % 2 else "even"


@udaf
def total(values: list[int]) -> int:
    return sum(values)

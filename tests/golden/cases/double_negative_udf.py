from engine.udf import udf


@udf
def double_negative(value: int) -> int:
    return -2 * value

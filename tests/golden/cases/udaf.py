from engine.udf import udaf


@udaf
def my_median(values: list[int]) -> float:
    ordered, middle = sorted(values), len(values) // 2
    return ordered[middle] if len(ordered) % 2 else (ordered[middle - 1] + ordered[middle]) / 2


@udaf
def none_of(values: list[int]) -> float | None:
    return None


@udaf
def max_product(first_factors: list[int], second_factors: list[int]) -> int:
    return max(a * b for a, b in zip(first_factors, second_factors, strict=True))

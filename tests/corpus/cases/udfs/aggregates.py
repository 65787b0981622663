from engine.udf import udaf


@udaf
def middle(values: list[int]) -> float | None:
    ordered = sorted(values)
    return ordered[len(ordered) // 2] if ordered else None


@udaf
def joined(keys: list[str | None], values: list[int | None]) -> str:
    return " ".join(sorted(f"{key}={value}" for key, value in zip(keys, values, strict=True)))


@udaf
class Spread:
    def __init__(self) -> None:
        self.values = []

    def add(self, value: int) -> None:
        self.values.append(value)

    def finish(self) -> int:
        return max(self.values) - min(self.values)

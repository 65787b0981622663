from engine.udf import udaf


@udaf
def joined(texts: list[str | None]) -> str:
    return ", ".join(sorted(map(str, texts)))

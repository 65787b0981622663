from __future__ import annotations

from xml.etree import ElementTree

from benchmarks.charts import grouped_bars, shares

SVG = "{http://www.w3.org/2000/svg}"


def bars(svg: str) -> dict[str, float]:
    """The heights of the bars, by what they say when somebody points at them."""
    rectangles = ElementTree.fromstring(svg).iter(f"{SVG}rect")
    return {
        str(title.text): float(rectangle.get("height", "nan"))
        for rectangle in rectangles
        if (title := rectangle.find(f"{SVG}title")) is not None
    }


def test_bars_are_as_high_as_their_values() -> None:
    svg = grouped_bars("CPU", {"q0": {"ours": 1.0, "fused": 0.5}, "q1": {"fused": 2.0}}, "s")

    heights = bars(svg)
    assert set(heights) == {"q0, ours: 1.00 s", "q0, fused: 0.50 s", "q1, fused: 2.00 s"}
    assert heights["q1, fused: 2.00 s"] == 2 * heights["q0, ours: 1.00 s"] == 4 * heights["q0, fused: 0.50 s"]


def test_shares_fill_their_bar_whatever_they_are_of() -> None:
    heights = bars(shares("phases", {"q0": {"plan": 1.0, "compute": 3.0}, "q1": {"plan": 0.2}, "q2": {"plan": 0.0}}))

    assert heights["q0, plan: 25 %"] * 3 == heights["q0, compute: 75 %"]
    assert heights["q0, plan: 25 %"] + heights["q0, compute: 75 %"] == heights["q1, plan: 100 %"]
    assert not any(name.startswith("q2") for name in heights)


def test_text_of_a_chart_is_text_whatever_is_in_it() -> None:
    root = ElementTree.fromstring(grouped_bars("a < b & c", {"<q>": {"x & y": 1.0}}, "%", line=2.0))

    texts = [element.text for element in root.iter(f"{SVG}text")]
    assert {"a < b & c", "<q>", "x & y"} <= set(texts)


def test_no_figures_make_a_chart_all_the_same() -> None:
    assert bars(grouped_bars("nothing", {}, "s")) == {}
    assert bars(shares("nothing", {"q0": {}})) == {}

"""Bar charts as SVG, of nothing but text: the same figures always make the same file."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from html import escape

Groups = Mapping[str, Mapping[str, float]]
"""What is drawn: for each group on the axis, such as a query, the values of its bars by name."""

_COLOURS = ("#2f6f9f", "#5fb3a1", "#e08e45", "#b5546b", "#8a8a8a", "#6b5b95")
_HEIGHT, _TOP, _BOTTOM, _LEFT, _RIGHT = 300, 56, 30, 52, 12
_BAR, _GAP = 12, 14


def grouped_bars(title: str, groups: Groups, unit: str, line: float | None = None) -> str:
    """Bars side by side in each group, all from zero; `line` is a value to compare them with."""
    names = _names(groups)
    top = _round_up(max([*(value for bars in groups.values() for value in bars.values()), line or 0.0], default=1.0))
    step = _BAR * len(names) + _GAP
    parts = [*_axis(top, len(groups) * step, unit), *_legend(names)]
    for place, (group, bars) in enumerate(groups.items()):
        left = _LEFT + place * step + _GAP / 2
        parts.append(_text(left + _BAR * len(names) / 2, _HEIGHT - _BOTTOM + 16, group, "middle"))
        for number, name in enumerate(names):
            if name in bars:
                says = f"{group}, {name}: {bars[name]:.2f} {unit}"
                parts.append(_bar(left + number * _BAR, 0.0, bars[name], top, _COLOURS[number], says))
    if line is not None:
        parts.append(_line(_y(line, top), len(groups) * step, 'stroke="#222" stroke-dasharray="4 3"'))
    return _picture(title, len(groups) * step, parts)


def shares(title: str, groups: Groups) -> str:
    """One bar for each group, divided into the shares of its parts; a group without any is left out."""
    groups = {group: parts for group, parts in groups.items() if sum(parts.values()) > 0}
    names, step = _names(groups), 3 * _BAR + _GAP
    parts = [*_axis(100.0, len(groups) * step, "%"), *_legend(names)]
    for place, (group, values) in enumerate(groups.items()):
        left, bottom, whole = _LEFT + place * step + _GAP / 2, 0.0, sum(values.values())
        parts.append(_text(left + 1.5 * _BAR, _HEIGHT - _BOTTOM + 16, group, "middle"))
        for number, name in enumerate(names):
            share = 100 * values.get(name, 0.0) / whole
            says = f"{group}, {name}: {share:.0f} %"
            parts.append(_bar(left, bottom, share, 100.0, _COLOURS[number], says, width=3 * _BAR))
            bottom += share
    return _picture(title, len(groups) * step, parts)


def _names(groups: Groups) -> Sequence[str]:
    return list(dict.fromkeys(name for bars in groups.values() for name in bars))


def _round_up(value: float) -> float:
    """The next of 1, 2, 5, 10, 20 and so on."""
    power = 10.0 ** math.floor(math.log10(value)) if value > 0 else 1.0
    return next(step * power for step in (1, 2, 5, 10) if step * power >= value)


def _y(value: float, top: float) -> float:
    return _HEIGHT - _BOTTOM - value / top * (_HEIGHT - _TOP - _BOTTOM)


def _axis(top: float, width: float, unit: str) -> Iterable[str]:
    for quarter in range(5):
        value = top * quarter / 4
        height = _y(value, top)
        yield _line(height, width, 'stroke="#ddd"')
        yield _text(_LEFT - 6, height + 4, f"{value:g}", "end")
    yield _text(_LEFT - 6, _TOP - 10, unit, "end")


def _line(height: float, width: float, look: str) -> str:
    return f'<line x1="{_LEFT}" x2="{_LEFT + width:.0f}" y1="{height:.1f}" y2="{height:.1f}" {look}/>'


def _legend(names: Sequence[str]) -> Iterable[str]:
    left = float(_LEFT)
    for number, name in enumerate(names):
        yield f'<rect x="{left:.0f}" y="28" width="10" height="10" fill="{_COLOURS[number]}"/>'
        yield _text(left + 14, 37, name, "start")
        left += 30 + 6.5 * len(name)


def _bar(left: float, bottom: float, value: float, top: float, colour: str, says: str, width: int = _BAR - 1) -> str:
    upper, lower = _y(bottom + value, top), _y(bottom, top)
    return (
        f'<rect x="{left:.1f}" y="{upper:.1f}" width="{width}" height="{lower - upper:.1f}" fill="{colour}">'
        f"<title>{escape(says)}</title></rect>"
    )


def _text(x: float, y: float, text: str, anchor: str) -> str:
    return f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}">{escape(text)}</text>'


def _picture(title: str, width: float, parts: Iterable[str]) -> str:
    full = max(_LEFT + width + _RIGHT, 420)
    head = (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {full:.0f} {_HEIGHT}" width="{full:.0f}" '
        f'height="{_HEIGHT}" font-family="sans-serif" font-size="11" fill="#222" role="img">'
    )
    ground = f'<rect width="{full:.0f}" height="{_HEIGHT}" fill="#fff"/>'
    heading = f'<text x="{_LEFT}" y="18" font-size="13" font-weight="bold">{escape(title)}</text>'
    return "\n".join([head, f"<title>{escape(title)}</title>", ground, heading, *parts, "</svg>", ""])

"""A picture of a session: the tokens of each request's view, with and without compaction.

    python -m benchmarks.picture [--seed N] [--messages N] [--budget TOKENS] [--out docs/session.svg]

The session is a generated one and tokens are counted by the estimate, so the picture is the same on every machine.
"""

from __future__ import annotations

import argparse
import asyncio
import os
from collections.abc import Mapping, Sequence

from amplifier_module_context_persistent.config import Config
from amplifier_module_context_persistent.evidence import Session
from amplifier_module_context_persistent.player import Player
from amplifier_module_context_persistent.policies import POLICIES, CachedCounter
from amplifier_module_context_persistent.tokens import EstimateCounter, count_message
from fixtures.generate import generate_session

WIDTH, HEIGHT = 860, 400
_LEFT, _RIGHT, _TOP, _BOTTOM = 70, 20, 34, 46
_COLOURS = ("#9aa0a6", "#1a73e8", "#e8710a")


def draw(series: Mapping[str, Sequence[int]], levels: Mapping[str, float], *, title: str) -> str:
    """Draw an SVG: a line for each series of tokens by request, and a dashed one for each level; text is escaped."""
    requests = max(2, *(len(tokens) for tokens in series.values()))
    most = max(1.0, *levels.values(), *(max(tokens, default=0) for tokens in series.values()))
    step = next(size for power in range(12) for size in (10**power, 2 * 10**power, 5 * 10**power) if most / size <= 8)

    def x(request: float) -> float:
        return _LEFT + request * (WIDTH - _LEFT - _RIGHT) / (requests - 1)

    def y(tokens: float) -> float:
        return HEIGHT - _BOTTOM - tokens * (HEIGHT - _TOP - _BOTTOM) / most

    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" font-family="sans-serif" '
        'font-size="12">',
        f'<rect width="{WIDTH}" height="{HEIGHT}" fill="white"/>',
        f'<text x="{_LEFT}" y="18" font-size="14">{_escaped(title)}</text>',
        f'<text x="{WIDTH - _RIGHT}" y="{HEIGHT - 10}" text-anchor="end">request</text>',
    ]
    for tokens in range(0, int(most) + 1, step):
        parts.append(
            f'<line x1="{_LEFT}" y1="{y(tokens):.1f}" x2="{x(requests - 1):.1f}" y2="{y(tokens):.1f}" stroke="#eee"/>'
        )
        parts.append(f'<text x="{_LEFT - 6}" y="{y(tokens) + 4:.1f}" text-anchor="end">{tokens:,}</text>')
    parts += [
        f'<text x="{x(request):.1f}" y="{HEIGHT - 28}" text-anchor="middle">{request}</text>'
        for request in range(0, requests, max(1, requests // 8))
    ]
    for name, tokens in levels.items():
        parts.append(
            f'<line x1="{_LEFT}" y1="{y(tokens):.1f}" x2="{x(requests - 1):.1f}" y2="{y(tokens):.1f}" stroke="#444" '
            'stroke-dasharray="5 4"/>'
        )
        parts.append(f'<text x="{_LEFT + 6}" y="{y(tokens) - 4:.1f}" fill="#444">{_escaped(name)}</text>')
    for place, (name, tokens) in enumerate(series.items()):
        colour = _COLOURS[place % len(_COLOURS)]
        points = " ".join(f"{x(request):.1f},{y(count):.1f}" for request, count in enumerate(tokens))
        parts.append(f'<polyline points="{points}" fill="none" stroke="{colour}" stroke-width="1.6"/>')
        parts.append(f'<text x="{_LEFT + 200 * place}" y="{HEIGHT - 10}" fill="{colour}">{_escaped(name)}</text>')
    return "\n".join([*parts, "</svg>", ""])


def _escaped(text: str) -> str:
    return text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")


def picture(seed: int, messages: int, budget_tokens: int) -> str:
    """Play a generated session and draw it."""
    counter = CachedCounter(EstimateCounter())
    session = Session.of(
        "picture", generate_session(seed, messages, mean_bytes=0), lambda message: count_message(message, counter)
    )
    player = Player(session, counter)
    names = {"none": "the whole history", "truncate": "views by 'truncate'"}
    played = {
        title: asyncio.run(player.play(name, POLICIES[name], budget_tokens, {})).request_tokens
        for name, title in names.items()
    }
    config = Config.load()
    shown = {title: [min(tokens, 3 * budget_tokens // 2) for tokens in played[title]] for title in played}
    levels = {
        "budget": float(budget_tokens),
        "compact_threshold": config.compact_threshold * budget_tokens,
        "target_usage": config.target_usage * budget_tokens,
    }
    title = f"Tokens of each request: {messages} messages, a budget of {budget_tokens:,} (cut off at one and a half)"
    return draw(shown, levels, title=title)


def main(arguments: Sequence[str] | None = None) -> None:
    """Draw and write."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.picture", description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    root = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
    parser.add_argument("--seed", type=int, default=3)
    parser.add_argument("--messages", type=int, default=400)
    parser.add_argument("--budget", type=int, default=40_000)
    parser.add_argument("--out", default=os.path.join(root, "docs", "session.svg"))
    given = parser.parse_args(arguments)
    with open(given.out, "w", encoding="utf-8") as file:
        file.write(picture(given.seed, given.messages, given.budget))
    print(given.out)


if __name__ == "__main__":
    main()

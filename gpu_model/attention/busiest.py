"""Tiles of different lengths given to SMs: what the SM with most steps has to do."""

from __future__ import annotations

from collections import Counter
from functools import lru_cache
from heapq import heapify, heapreplace

# Tiles up to which every one is given to an SM; of more, SMs differ by less than a tile.
COUNTED_TILES = 1024
# Different tiles of one SM that a Program shows; of more, it shows their mean.
SHOWN = 8


@lru_cache(maxsize=1024)
def busiest(kept: tuple[tuple[int, int], ...], sm_count: int) -> tuple[tuple[int, int], ...]:
    """(tiles, steps) of the SM with most steps, if each tile in turn goes to the SM that is least busy."""
    tiles = sum(count for count, _ in kept)
    if tiles > COUNTED_TILES:
        # The last SM to end is half of the last tile behind the mean.
        all_steps = sum(count * steps for count, steps in kept)
        return _mean(-(-tiles // sm_count), -(-all_steps // sm_count) + kept[-1][1] // 2)
    sms = [(0, sm) for sm in range(min(sm_count, tiles))]
    given: list[Counter[int]] = [Counter() for _ in sms]
    heapify(sms)
    for count, steps in kept:
        for _ in range(count):
            busy, sm = sms[0]
            heapreplace(sms, (busy + steps, sm))
            given[sm][steps] += 1
    most = given[max(sms)[1]]
    if len(most) > SHOWN:
        return _mean(most.total(), sum(count * steps for steps, count in most.items()))
    return tuple((count, steps) for steps, count in sorted(most.items(), reverse=True))


def _mean(tiles: int, all_steps: int) -> tuple[tuple[int, int], ...]:
    """So many tiles with so many steps together, as equal as they can be."""
    steps, more = divmod(max(tiles, all_steps), tiles)
    return tuple((count, length) for count, length in ((more, steps + 1), (tiles - more, steps)) if count)

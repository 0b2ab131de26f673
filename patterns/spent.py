"""What a run spends in energy: events that its plan counts, and the time it takes, at the prices of its machine."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping

from patterns.energy import Energy, EnergyPart, EnergyPrices, Range, energy_part
from patterns.plan import Plan
from patterns.units import PS_PER_S

# Parts in the order they are shown, with the events that each is of and the price of one.
PARTS: Mapping[str, tuple[tuple[str, str], ...]] = {
    "matrix": (
        ("bf16_flops", "bf16_joules_per_flop"),
        ("fp8_flops", "fp8_joules_per_flop"),
        ("fp32_flops", "fp32_joules_per_flop"),
    ),
    "vector": (("vector_ops", "vector_joules_per_op"),),
    "special": (("special_ops", "special_joules_per_op"),),
    "issue": (("instructions", "issue_joules_per_instruction"),),
    "smem": (("smem_bytes", "smem_joules_per_byte"),),
    "onchip": (("onchip", "onchip_joules_per_byte"),),
    "l2": (("l2", "l2_joules_per_byte"),),
    "hbm": (("hbm", "hbm_joules_per_byte"),),
    "ddr": (("ddr", "ddr_joules_per_byte"),),
    "network": (("network", "network_joules_per_byte"),),
}
STATIC = "static"
ENERGY_PARTS = (*PARTS, STATIC)
# Work that no level of memory counts; the rest of a call's work is bytes, which its traffic has.
_OPS = ("vector_ops", "special_ops")


def energy_of(plan: Plan, time_ps: int) -> Energy | None:
    """The energy of a run that takes `time_ps`; None where the machine's file has no energies."""
    prices = plan.prices
    if prices is None or prices.static_watts is None:
        return None
    events = events_of(plan)
    return Energy((*_spent(events, prices), _static(plan.members * time_ps, prices.static_watts)))


def events_of(plan: Plan) -> Mapping[str, int]:
    """How many of everything that may have a price, over all calls and members."""
    events: Counter[str] = Counter()
    for call in plan.calls:
        ops = ((name, amount) for name, amount in call.work if name in _OPS)
        for name, amount in (*ops, *call.traffic, *call.events):
            events[name] += amount * call.count * plan.members
    return events


def _spent(events: Mapping[str, int], prices: EnergyPrices) -> Iterator[EnergyPart]:
    """A part for each thing that the machine prices, in order. Raises where something happened that it does not."""
    for part, priced in PARTS.items():
        found = [(events.get(event, 0), _price(events, event, field, prices)) for event, field in priced]
        known = [(count, price) for count, price in found if price is not None]
        if known:
            yield energy_part(part, known)


def _price(events: Mapping[str, int], event: str, field: str, prices: EnergyPrices) -> Range | None:
    price: Range | None = getattr(prices, field)
    if price is None and events.get(event, 0):
        raise AssertionError(f"{event} has no price: the machine's file lacks {field}")
    return price


def _static(on_ps: int, watts: Range) -> EnergyPart:
    low, typical, high = (on_ps * each / PS_PER_S for each in watts)
    return EnergyPart(STATIC, on_ps, low, typical, high)

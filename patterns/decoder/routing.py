"""How DeepSeek's routers choose experts: best groups of experts first, shares of a softmax or of sigmoids."""

from __future__ import annotations

from patterns.decoder import BLOCK
from patterns.decoder.experts import SHARES_OF_ALL
from patterns.graph_file.draft import Draft

# Mixtral's nodes from the router's scores to the experts' shares.
MIXTRAL = ("best", "chosen", "best_top", "best_shifted", "best_powers", "best_total", "share")

SIGMOIDS = "all_scores: {kind: map, fn: sigmoid, reads: [router]}"
SOFTMAX = f"{SHARES_OF_ALL}all_scores: {{kind: zip, fn: div, reads: [all_powers, all_total]}}"
# A bias that balances the load counts where experts are chosen, not in their shares.
BALANCED = "balanced: {kind: zip, fn: add, reads: [all_scores, router_bias]}"
# Groups whose scores are less than those of so many others are left out.
GROUPS = """
by_group:      {kind: buffer, fn: split,  reads: [${x}], along: experts, to: expert_groups in_group}
group_bests:   {kind: select, fn: values, reads: [by_group], along: in_group, to: group_best}
group_score:   {kind: reduce, fn: sum,    reads: [group_bests], over: [group_best]}
group_top:     {kind: select, fn: values, reads: [group_score], along: expert_groups, to: chosen_groups}
group_least:   {kind: reduce, fn: min,    reads: [group_top], over: [chosen_groups]}
group_out:     {kind: zip,    fn: less,   reads: [group_score, group_least]}
group_penalty: {kind: map,    fn: scale,  reads: [group_out], by: -1.0e+30}
kept_scores:   {kind: zip,    fn: add,    reads: [by_group, group_penalty]}
of_groups:     {kind: buffer, fn: merge,  reads: [kept_scores], parts: expert_groups in_group, to: experts}
"""
CHOSEN = """
chosen:        {kind: select, fn: indices, reads: [${x}], along: experts, to: chosen_experts}
chosen_scores: {kind: gather, reads: [all_scores, chosen], along: experts}
"""
NORMED = """
chosen_total: {kind: reduce, fn: sum, reads: [chosen_scores], over: [chosen_experts]}
chosen_share: {kind: zip,    fn: div, reads: [chosen_scores, chosen_total]}
"""
SHARE = "share: {kind: map, fn: scale, reads: [${x}], by: ${by}}"


def with_routing(
    draft: Draft, *, sigmoid: bool, balanced: bool, groups: tuple[int, int, int], normed: bool, factor: float
) -> Draft:
    """The draft whose experts are chosen as DeepSeek's are.

    groups: how many there are, are chosen, and how many of its best experts a group is judged by; (1, 1, 1): none.
    normed: shares of the chosen add up to one, before they are multiplied with `factor`.
    """
    many, chosen, best = groups
    parts = [SIGMOIDS if sigmoid else SOFTMAX, BALANCED if balanced else ""]
    x = "balanced" if balanced else "all_scores"
    if many > chosen:
        parts.append(GROUPS.replace("${x}", x))
        x = "of_groups"
        in_group = "experts / expert_groups"
        draft = draft.extents(expert_groups=many, chosen_groups=chosen, group_best=best, in_group=in_group)
    parts += [CHOSEN.replace("${x}", x), NORMED if normed else "", SHARE]
    last = "chosen_share" if normed else "chosen_scores"
    made = draft.instead(MIXTRAL, "\n".join(parts), x=last, by=repr(float(factor)))
    return made.block_tensors(BLOCK, _BIAS) if balanced else made


_BIAS = {"router_bias": {"dims": ["experts"], "dtype": "fp32", "role": "weight"}}

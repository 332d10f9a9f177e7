"""What a report says in words: the verdict, what each chart shows, whether one study is better than another."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from harness.decide import NAMES, signed
from harness.engines import RANK_FUSIONS
from harness.findings import Findings
from harness.sidebyside import SideBySide
from harness.types import Params


def describe(params: Params) -> str:
    """A setting in a few words; rrf_k only where it counts."""
    constant = f" with constant {params.rrf_k}" if params.fusion in RANK_FUSIONS else ""
    setting = f"{params.fusion} fusion{constant}, semantic weight {params.semantic_weight:.4f}"
    return f"{setting}, K = {params.top_k}, depth {params.depth}"


def verdict_sentences(summary: Mapping[str, Any], objective: str, pick: Params, kept: Params) -> tuple[str, str]:
    """The verdict for someone who reads nothing else: what to run and why, then how far to trust it."""
    verdict, labels = summary["verdict"], summary["labels"]
    name = NAMES.get(verdict["compared_with"], verdict["compared_with"])
    fitted = summary.get("cross_fitted")
    if fitted is None:
        return f"Undecided between the pick ({describe(pick)}) and {name}.", f"{_capital('; '.join(verdict['reasons']))}."
    against = fitted["baselines"][verdict["compared_with"]]
    interval = against.get("interval")
    reach = f" (95 % interval {signed(interval[0])} to {signed(interval[1])})" if interval else ""
    measured = f"{objective} changes by {signed(against['mean'])}{reach} on prompts that it was not chosen on"
    first = {
        "adopt": f"Adopt the pick ({describe(pick)}): against {name} {measured}.",
        "keep": f"Keep {name} ({describe(kept)}): with the pick ({describe(pick)}) {measured}.",
    }.get(verdict["decision"], f"Undecided between {name} and the pick ({describe(pick)}): with it {measured}.")
    return first, _trust(verdict["decision"], summary["pick"], labels, against)


def _trust(decision: str, pick: Mapping[str, Any], labels: Mapping[str, Any], against: Mapping[str, Any]) -> str:
    low, high = pick["interval"]
    alike = f"these {labels['prompts']} prompts cannot tell weights {low:.2f} to {high:.2f} apart"
    needed = labels.get("prompts_to_prove_the_observed_gain")
    if decision == "adopt":
        return f"It wins on {against['wins']}, ties on {against['ties']} and loses on {against['losses']} prompts; {alike}."
    if needed is not None and needed > labels["prompts"]:
        return f"About {needed} prompts would prove a gain of this size with 80 % power; {alike}."
    return f"It wins on {against['wins']}, ties on {against['ties']} and loses on {against['losses']} prompts; {alike}."


def _capital(text: str) -> str:
    return text[:1].upper() + text[1:]


def alternatives(findings: Findings, names: Mapping[str, str]) -> dict[str, str]:
    """What each chart shows, in words, for those who cannot see it."""
    top_k, objective = findings.top_k, findings.config.objective[0]
    cut_at = {c.system: c.at(top_k) for c in findings.cutoffs}
    said = {
        "trade_off": f"Precision over recall of {len(findings.trials)} trials, each at its own K; {len(findings.front)} of them"
        " are on the Pareto front, listed in the table below.",
        "precision": "Precision over K. "
        + "; ".join(f"{names[system]} {precision:.4f} at K = {top_k}" for system, (precision, _) in cut_at.items()),
        "recall": "Recall over K. "
        + "; ".join(f"{names[system]} {recall:.4f} at K = {top_k}" for system, (_, recall) in cut_at.items()),
        "swings": "How far the objective moves with each parameter alone. "
        + "; ".join(f"{s.name} from {s.lowest:.4f} to {s.highest:.4f}" for s in findings.sensitivities),
        "groups": "The pick's difference to what is kept, by group. "
        + "; ".join(f"{g.group or '(none)'} {signed(g.difference)}" for g in findings.groups),
        "objectives": f"Both objectives of {len(findings.trials)} trials, with their Pareto front.",
    }
    if findings.curve is not None:
        drawn = findings.curve
        marks = "; ".join(f"{names[m.system]} {m.score:.4f} at weight {m.weight:.4f}" for m in drawn.marks)
        said["curve"] = (
            f"{objective} over the semantic weight in {drawn.curve.on.size} exact steps, from {drawn.curve.on.min():.4f} to"
            f" {drawn.curve.on.max():.4f}. {marks}."
        )
        proved = drawn.against_kept.low > 0
        share = float(proved.mean())
        said["difference"] = (
            f"The difference to {names[findings.prompts.kept]} over the semantic weight. Its 95 % interval lies above 0 on"
            f" {share:.0%} of the weights."
        )
    return said


def compare_sentences(both: SideBySide) -> list[str]:
    """For each further study, whether it is better than the first."""
    first, said = both.rows[0].name, []
    for row in both.rows[1:]:
        c = row.fitted or row.difference
        assert c is not None
        how = "on prompts that neither was chosen on" if row.fitted is not None else "on the prompts that both were tuned on"
        if c.interval is None:
            said.append(f"{row.name}: {signed(c.mean)} against {first} {how}; one independent prompt proves nothing.")
            continue
        low, high = c.interval
        word = "is better than" if low > 0 else "is worse than" if high < 0 else "cannot be told from"
        said.append(
            f"{row.name} {word} {first}: {both.objective} {signed(c.mean)} (95 % interval {signed(low)} to {signed(high)}) {how}."
        )
    return said

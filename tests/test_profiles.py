"""The exact profile: against direct evaluation, against a twin in exact fractions, and the curve's own rules by hand."""

from __future__ import annotations

import itertools
import tracemalloc
from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import HealthCheck, assume, example, given, settings
from hypothesis import strategies as st

import harness.profiles
from harness.candidates import merge_lists
from harness.files import pad_qrels
from harness.fusion import FUSIONS, Lines
from harness.hybrid import Hybrid, rank_judged
from harness.measures import MEASURES, WITHOUT_CUTOFF, Judgements, Measure, prepare_judgements, score_queries
from harness.profiles import (
    SAME_POINT,
    Curve,
    Profiles,
    find_optimum,
    find_plateau,
    mean_curve,
    merge,
    profile,
    profile_cuts,
    restrict,
)
from harness.types import Conventions, Params, RankedLists

Scores = dict[int, float]  # row → score
DEPTH = 8
relaxed = settings(deadline=None, suppress_health_check=[HealthCheck.too_slow, HealthCheck.filter_too_much])


def make_lists(each: Sequence[Scores]) -> RankedLists:
    rows, scores = np.full((len(each), DEPTH), -1, dtype=np.int32), np.full((len(each), DEPTH), np.nan)
    for i, of in enumerate(each):
        for place, row in enumerate(sorted(of, key=lambda row: (-of[row], row))[:DEPTH]):
            rows[i, place], scores[i, place] = row, of[row]
    return RankedLists(rows, scores)


def make_hybrid(
    keyword: Sequence[Scores],
    semantic: Sequence[Scores],
    judged: Sequence[dict[int, int]],
    conventions: Conventions | None = None,
) -> Hybrid:
    candidates = merge_lists(make_lists(keyword), make_lists(semantic))
    return Hybrid(candidates, pad_qrels(list(judged)), conventions or Conventions(), Params(depth=DEPTH))


def profile_of(hybrid: Hybrid, params: Params, measure: Measure, top_k: int | None) -> Profiles:
    _, lines, columns = hybrid.setting(params)
    return profile(lines, columns, hybrid.judgements, measure, top_k=top_k)


def evaluate(hybrid: Hybrid, params: Params, measure: Measure, top_k: int | None, weight: float) -> np.ndarray:
    """What a trial computes at this weight."""
    ranking = hybrid.rank(replace(params, semantic_weight=float(weight)))
    return score_queries(measure, ranking if top_k is None else ranking.cut(top_k), hybrid.judgements)


def is_clear(lines: Lines, columns: np.ndarray, weight: float) -> bool:
    """Whether no judged document's line meets another one within 1e-9 + 1e-12 / |difference of slopes| of this weight."""
    for q in range(columns.shape[0]):
        for j in columns[q][columns[q] >= 0]:
            a = (lines.keyword_end[q] - lines.keyword_end[q, j])[lines.held[q]]
            b = (lines.semantic_end[q] - lines.semantic_end[q, j])[lines.held[q]]
            apart = (np.abs(a) > 5e-13) | (np.abs(b) > 5e-13)
            a, b = a[apart], b[apart]
            slope = np.abs(a - b)
            parallel = slope < 1e-15
            if (parallel & (np.abs(a) < 1e-11)).any():
                return False  # neither a tie throughout nor told apart by 12 decimals
            a, b, slope = a[~parallel], b[~parallel], slope[~parallel]
            if (np.abs(a / (a - b) - weight) <= SAME_POINT + 1e-12 / slope).any():
                return False
    return True


coarse = st.integers(0, 12).map(lambda n: n / 4)  # many ties, and lists of one value
fine = st.floats(-5, 5).map(lambda x: round(x, 3))
row_scores = st.one_of(
    st.dictionaries(st.integers(0, 9), coarse, max_size=DEPTH),
    st.dictionaries(st.integers(0, 9), fine, max_size=DEPTH),
    st.dictionaries(st.integers(0, 9), st.just(1.5), max_size=4),
)
one_query = st.tuples(row_scores, row_scores, st.dictionaries(st.integers(0, 12), st.integers(-1, 3), min_size=1, max_size=5))
mirrored = st.integers(1, DEPTH).flatmap(  # both lists hold the same documents in opposite order: RRF ties at .5
    lambda n: st.tuples(
        st.just({row: float(n - row) for row in range(n)}),
        st.just({row: float(row) for row in range(n)}),
        st.dictionaries(st.integers(0, n), st.integers(0, 2), min_size=1, max_size=4),
    )
)
unretrieved = st.tuples(row_scores, row_scores, st.just({20: 1, 21: 2}))
queries = st.lists(st.one_of(one_query, mirrored, unretrieved), min_size=1, max_size=4)
all_measures = st.one_of(
    st.builds(Measure, st.sampled_from(sorted(MEASURES)), st.sampled_from([1, 2, 3, 5, 20])),
    st.builds(Measure, st.sampled_from(WITHOUT_CUTOFF), st.none()),
)
all_conventions = st.builds(
    Conventions,
    relevance_threshold=st.sampled_from([1, 2]),
    ap_denominator=st.sampled_from(["R", "min(R,K)", "retrieved"]),
    precision_denominator=st.sampled_from(["K", "returned"]),
    gain=st.sampled_from(["linear", "exponential"]),
)
settings_of_lines = st.builds(
    Params,
    fusion=st.sampled_from(sorted(FUSIONS)),
    rrf_k=st.sampled_from([1, 2, 60]),
    depth=st.sampled_from([1, 2, 3, 5, DEPTH]),
)
cuts = st.sampled_from([None, 1, 2, 3, 7])
weights = st.lists(st.one_of(st.floats(1e-6, 1 - 1e-6), st.fractions(0, 1, max_denominator=12).map(float)), max_size=6)
GRID = np.linspace(0, 1, 41)
ONE_DOCUMENT = ({3: 1.0}, {3: 0.5}, {3: 1})
SAME_LISTS = ({0: 2.0, 1: 1.0}, {0: 2.0, 1: 1.0}, {1: 1})


# --- against direct evaluation ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("fusion", FUSIONS)
@relaxed
@given(queries, settings_of_lines, all_measures, cuts, all_conventions, weights)
@example([ONE_DOCUMENT], Params(depth=DEPTH), Measure("MAP", None), None, Conventions(), [0.3])
@example([SAME_LISTS, SAME_LISTS], Params(depth=DEPTH), Measure("MRR", 1), 1, Conventions(), [0.3])
@example([({}, {}, {0: 1})], Params(depth=DEPTH), Measure("nDCG", 3), None, Conventions(), [0.3])
def test_the_profile_equals_direct_evaluation_at_random_weights_and_on_a_grid(
    fusion: str,
    each: list,
    params: Params,
    measure: Measure,
    top_k: int | None,
    conventions: Conventions,
    more: list[float],
) -> None:
    hybrid = make_hybrid(*zip(*each, strict=True), conventions)
    params = replace(params, fusion=fusion)
    profiles = profile_of(hybrid, params, measure, top_k)
    _, lines, columns = hybrid.setting(params)
    for weight in [*GRID, *more]:
        if weight in (0, 1) or (weight in profiles.points) or is_clear(lines, columns, weight):
            expected = evaluate(hybrid, params, measure, top_k, weight)
            assert profiles.scores_at(np.array([weight]))[:, 0] == pytest.approx(expected, abs=1e-12), weight


@pytest.mark.parametrize("fusion", FUSIONS)
@relaxed
@given(queries, settings_of_lines, all_measures, cuts, all_conventions)
def test_the_profile_equals_direct_evaluation_at_every_point_and_in_the_middle_of_every_interval(
    fusion: str, each: list, params: Params, measure: Measure, top_k: int | None, conventions: Conventions
) -> None:
    hybrid = make_hybrid(*zip(*each, strict=True), conventions)
    params = replace(params, fusion=fusion)
    profiles = profile_of(hybrid, params, measure, top_k)
    _, lines, columns = hybrid.setting(params)
    assert profiles.points[0] == 0 and profiles.points[-1] == 1
    assert (np.diff(profiles.points) > 0).all()
    for point in profiles.points:
        expected = evaluate(hybrid, params, measure, top_k, point)
        assert profiles.scores_at(np.array([point]))[:, 0] == pytest.approx(expected, abs=1e-12), point
    for middle in profiles.middles:
        if is_clear(lines, columns, middle):
            expected = evaluate(hybrid, params, measure, top_k, middle)
            assert profiles.scores_at(np.array([middle]))[:, 0] == pytest.approx(expected, abs=1e-12), middle


@relaxed
@given(queries, settings_of_lines, all_measures)
def test_several_cuts_at_once_give_what_each_gives_alone(each: list, params: Params, measure: Measure) -> None:
    hybrid = make_hybrid(*zip(*each, strict=True))
    _, lines, columns = hybrid.setting(params)
    all_top_k = [1, 2, 5, None]
    for top_k, profiles in zip(all_top_k, profile_cuts(lines, columns, hybrid.judgements, measure, all_top_k), strict=True):
        alone = profile(lines, columns, hybrid.judgements, measure, top_k=top_k)
        for weight in (0.0, 0.21, 0.5, 0.77, 1.0):
            if weight in (0, 0.5, 1) or is_clear(lines, columns, weight):
                at = np.array([weight])
                assert profiles.scores_at(at).tolist() == alone.scores_at(at).tolist(), (top_k, weight)


def test_a_cutoff_of_top_k_is_each_cut_of_its_own() -> None:
    hybrid = make_hybrid([{0: 3.0, 1: 2.0, 2: 1.0}], [{2: 3.0, 0: 2.0, 1: 1.0}], [{2: 1}])
    _, lines, columns = hybrid.setting(Params(depth=DEPTH))
    one, three = profile_cuts(lines, columns, hybrid.judgements, Measure("Precision", "top_k"), [1, 3])
    assert one.scores_at(np.array([0.1, 0.9])).tolist() == [[0, 1]]
    assert three.scores_at(np.array([0.1, 0.9])).tolist() == [[1 / 3, 1 / 3]]


@relaxed
@given(queries, settings_of_lines, all_measures)
def test_profiling_leaves_its_inputs_unchanged(each: list, params: Params, measure: Measure) -> None:
    hybrid = make_hybrid(*zip(*each, strict=True))
    _, lines, columns = hybrid.setting(params)
    arrays = [
        *(a for a in vars(lines).values() if isinstance(a, np.ndarray)),
        columns,
        hybrid.judgements.gains,
        hybrid.judgements.relevant,
        hybrid.judgements.judged,
    ]
    before = [array.copy() for array in arrays]
    mean_curve(profile(lines, columns, hybrid.judgements, measure))
    assert all(np.array_equal(a, b) for a, b in zip(arrays, before, strict=True))


# --- points ----------------------------------------------------------------------------------------------------------


def test_mirrored_rrf_lists_make_one_half_a_point_with_a_score_of_its_own() -> None:
    """Documents 0, 1, 2 and 2, 1, 0: at .5 documents 0 and 2 tie above 1, and the lower row goes first."""
    hybrid = make_hybrid([{0: 3.0, 1: 2.0, 2: 1.0}], [{2: 3.0, 1: 2.0, 0: 1.0}], [{2: 1}])
    curve = mean_curve(profile_of(hybrid, Params(fusion="rrf", rrf_k=60, depth=DEPTH), Measure("MRR", None), None))
    rows = list(curve.rows())
    assert (0.5, 0.5, 1 / 2) in rows
    left, right = next(r for r in rows if r[1] == 0.5 and r[0] < 0.5), next(r for r in rows if r[0] == 0.5 and r[1] > 0.5)
    # document 2 passes 1 at w = (1/62 − 1/63) / (1/61 − 1/63), and 0 at .5
    passes = float((Fraction(1, 62) - Fraction(1, 63)) / (Fraction(1, 61) - Fraction(1, 63)))
    assert left == (pytest.approx(passes, abs=1e-12), 0.5, 1 / 2)
    assert right == (0.5, 1.0, 1.0)


def test_a_point_can_be_worse_than_both_neighbours() -> None:
    """Relevant document 2 is above 0 before the point and above 1 behind it; at the point all three tie, lower rows first."""
    lines = lines_of([(0.0, 1.0), (1.0, 0.0), (0.5, 0.5)])
    profiles = profile(lines, np.array([[2]], dtype=np.int32), judge([{2: 1}]), Measure("MRR", None))
    assert list(mean_curve(profiles).rows()) == [
        (0.0, 0.0, 1 / 2),
        (0.0, 0.5, 1 / 2),
        (0.5, 0.5, 1 / 3),
        (0.5, 1.0, 1 / 2),
        (1.0, 1.0, 1 / 2),
    ]


def test_a_weight_nearer_than_a_billionth_counts_as_the_point() -> None:
    lines = lines_of([(0.0, 1.0), (1.0, 0.0), (0.5, 0.5)])
    profiles = profile(lines, np.array([[2]], dtype=np.int32), judge([{2: 1}]), Measure("MRR", None))
    near, far = np.array([0.5 - 9e-10, 0.5 + 9e-10]), np.array([0.5 - 1.1e-9, 0.5 + 1.1e-9])
    assert profiles.scores_at(near).tolist() == [[1 / 3, 1 / 3]]
    assert profiles.scores_at(far).tolist() == [[1 / 2, 1 / 2]]


def lines_of(documents: Sequence[tuple[float, float]]) -> Lines:
    """One query whose every document both lists hold, with these ends."""
    ends = np.array([documents], dtype=np.float64)
    ranks = [(np.argsort(np.argsort(-ends[:, :, side], kind="stable"), kind="stable") + 1).astype(np.int32) for side in (0, 1)]
    return Lines(ends[:, :, 0].copy(), ends[:, :, 1].copy(), *ranks)


def judge(judged: list[dict[int, int]], conventions: Conventions | None = None) -> Judgements:
    return prepare_judgements(pad_qrels(judged), conventions or Conventions())


def through(weight: float, value: float, slope: float) -> tuple[float, float]:
    """The ends of the line that has this value at this weight."""
    return value - slope * weight, value + slope * (1 - weight)


def test_crossings_within_a_billionth_are_one_point_and_further_ones_are_not() -> None:
    for gap, n_points in ((8e-10, 1), (2e-9, 2)):
        lines = lines_of([(1.0, 1.0), through(0.5, 1.0, 1.0), through(0.5 + gap, 1.0, 1.0)])
        profiles = profile(lines, np.array([[0]], dtype=np.int32), judge([{0: 1}]), Measure("MRR", None))
        assert profiles.points.size == 2 + n_points, gap
        assert profiles.scores_at(np.array([0.4, 0.6])).tolist() == [[1, 1 / 3]]


def test_crossings_chained_to_one_point_are_followed_in_full() -> None:
    """Three crossings 8e-10 apart, of two documents: one point, and behind it every document has its own rank."""
    lines, columns, judgements = chained()
    profiles = profile(lines, columns, judgements, Measure("MAP", None))
    assert profiles.points.size == 3
    for weight in (0.4, 0.6):
        expected = score_queries(Measure("MAP", None), rank_judged(lines, columns, weight), judgements)
        assert profiles.scores_at(np.array([weight]))[:, 0] == pytest.approx(expected, abs=1e-12)


def chained() -> tuple[Lines, np.ndarray, Judgements]:
    """Document 0 is passed by 1 at .5 and passes 2 at .5 + 1.6e-9; far down document 8 passes 7 between the two."""
    gap = 8e-10
    documents = [(10.0, 10.0), through(0.5, 10.0, 1.0), through(0.5 + 2 * gap, 10.0, -1.0)]
    documents += [(5.0, 5.0)] * 4 + [(1.0, 1.0), through(0.5 + gap, 1.0, 1.0)]
    return lines_of(documents), np.array([[0, 7]], dtype=np.int32), judge([{0: 1, 7: 1}])


@pytest.mark.parametrize("name", ["MRR", "MAP", "nDCG"])
def test_crossings_beyond_the_cutoff_do_not_disturb_the_order_of_those_within_it(name: str) -> None:
    lines, columns, judgements = chained()
    measure = Measure(name, 3)
    profiles = profile(lines, columns, judgements, measure)
    for weight in (0.3, 0.7):
        expected = score_queries(measure, rank_judged(lines, columns, weight), judgements)
        assert profiles.scores_at(np.array([weight]))[:, 0] == pytest.approx(expected, abs=1e-12), weight


def test_crossings_of_another_prompt_do_not_disturb_a_prompts_order() -> None:
    """As above, but what lies between is a crossing in another query, beyond the cutoff."""
    one, _, _ = chained()
    near, far = [0, 1, 2, 3, 4, 5, 6], [3, 4, 5, 6, 7, 8]
    width = 7
    arrays = []
    for array in (one.keyword_end, one.semantic_end, one.keyword_ranks, one.semantic_ranks):
        rows = np.zeros((2, width), dtype=array.dtype)
        rows[0, :7], rows[1, :6] = array[0, near], array[0, far]
        arrays.append(rows)
    lines = Lines(*arrays)
    columns, judgements = np.array([[0], [4]], dtype=np.int32), judge([{0: 1}, {4: 1}])
    measure = Measure("MRR", 3)
    profiles = profile(lines, columns, judgements, measure)
    for weight in (0.3, 0.7):
        expected = score_queries(measure, rank_judged(lines, columns, weight), judgements)
        assert profiles.scores_at(np.array([weight]))[:, 0] == pytest.approx(expected, abs=1e-12), weight


def test_lines_that_rounding_ties_throughout_are_ties() -> None:
    lines = lines_of([(0.3, 0.1), (0.3 - 2e-13, 0.1 + 2e-13), (0.1 + 0.2, 0.1)])
    for column, score in ((0, 1.0), (1, 1 / 2), (2, 1 / 3)):
        profiles = profile(lines, np.array([[column]], dtype=np.int32), judge([{column: 1}]), Measure("MRR", None))
        assert profiles.points.tolist() == [0, 1]
        assert profiles.scores_at(np.array([0.2, 0.5, 0.9])).tolist() == [[score] * 3]


def test_at_the_ends_a_retriever_stands_alone() -> None:
    """Document 1 is in the keyword list only: it is returned at every weight but 1; document 2 at every weight but 0."""
    hybrid = make_hybrid([{0: 2.0, 1: 1.0}], [{0: 0.9, 2: 0.8}], [{1: 1, 2: 1}])
    profiles = profile_of(hybrid, Params(depth=DEPTH), Measure("Recall", 20), None)
    assert profiles.ends.tolist() == [[1 / 2], [1 / 2]]
    assert list(mean_curve(profiles).rows()) == [(0, 0, 0.5), (0, 1, 1.0), (1, 1, 0.5)]


# --- blocks and memory -----------------------------------------------------------------------------------------------


@relaxed
@given(queries, settings_of_lines, all_measures, st.sampled_from([1, 7, 40, 150]))
def test_the_size_of_a_block_changes_nothing(each: list, params: Params, measure: Measure, block: int) -> None:
    hybrid = make_hybrid(*zip(*each, strict=True))
    whole = profile_of(hybrid, params, measure, None)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(harness.profiles, "BLOCK", block)
        parts = profile_of(hybrid, params, measure, None)
    for name, array in vars(whole).items():
        assert np.array_equal(array, vars(parts)[name]), name


def peak_memory(n_queries: int, width: int, judged: list[int], grades: list[int], measure: Measure) -> int:
    rng = np.random.default_rng(0)
    ranks = np.ones((n_queries, width), dtype=np.int32)
    lines = Lines(rng.random((n_queries, width)), rng.random((n_queries, width)), ranks, ranks)
    judgements = judge([dict(zip(judged, grades, strict=True))] * n_queries)
    columns = np.tile(np.where(np.array(judged) < width, judged, -1).astype(np.int32), (n_queries, 1))
    tracemalloc.start()
    profile(lines, columns, judgements, measure)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    return peak


@pytest.mark.parametrize("measure", [Measure("MAP", 10), Measure("MAP", None)], ids=str)
def test_memory_grows_with_prompts_times_candidates_at_most(measure: Measure, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(harness.profiles, "BLOCK", 20_000)
    relevant = list(range(10))
    small = peak_memory(20, 100, relevant, [1] * 10, measure)
    assert peak_memory(40, 100, relevant, [1] * 10, measure) < 2.5 * small
    assert peak_memory(20, 200, relevant, [1] * 10, measure) < 2.5 * small


def test_judgements_that_the_measure_does_not_read_cost_no_memory_per_step(monkeypatch: pytest.MonkeyPatch) -> None:
    """Pools as TREC makes them: ten relevant documents, and hundreds that were judged not to be."""
    monkeypatch.setattr(harness.profiles, "BLOCK", 20_000)
    few = peak_memory(20, 100, list(range(10)), [1] * 10, Measure("MAP", None))
    many = peak_memory(20, 100, list(range(400)), [1] * 10 + [0] * 390, Measure("MAP", None))
    assert many < 4 * few


# --- a twin in exact fractions ---------------------------------------------------------------------------------------


def exact_curve(
    keyword: dict[int, int], semantic: dict[int, int], relevant: set[int], name: str, cutoff: int
) -> list[tuple[Fraction, Fraction, Fraction]]:
    """The curve of one query's raw scores, whole numbers, by fractions alone: rows as `Curve.rows` gives them."""
    rows = sorted(keyword.keys() | semantic.keys())
    ends = {row: (Fraction(keyword.get(row, 0)), Fraction(semantic.get(row, 0))) for row in rows}

    def score(weight: Fraction) -> Fraction:
        held = keyword if weight == 0 else semantic if weight == 1 else rows
        ranked = sorted(held, key=lambda row: (-((1 - weight) * ends[row][0] + weight * ends[row][1]), row))
        places = [place for place, row in enumerate(ranked[:cutoff], 1) if row in relevant]
        if name == "MRR":
            return Fraction(1, places[0]) if places else Fraction(0)
        if name == "Recall":
            return Fraction(len(places), len(relevant))
        return sum((Fraction(i, place) for i, place in enumerate(places, 1)), Fraction(0)) / len(relevant)

    points = {Fraction(0), Fraction(1)}
    for one, other in itertools.combinations(rows, 2):
        a, b = ends[one][0] - ends[other][0], ends[one][1] - ends[other][1]
        if a != b and 0 < a / (a - b) < 1:
            points.add(a / (a - b))
    ordered = sorted(points)
    on = [score((low + high) / 2) for low, high in itertools.pairwise(ordered)]
    kept = [i for i, w in enumerate(ordered) if w in (0, 1) or not on[i - 1] == score(w) == on[i]]
    curve = []
    for i, following in itertools.zip_longest(kept, kept[1:]):
        curve.append((ordered[i], ordered[i], score(ordered[i])))
        if following is not None:
            curve.append((ordered[i], ordered[following], on[i]))
    return curve


whole_scores = st.dictionaries(st.integers(0, 7), st.integers(0, 9), max_size=6)


@relaxed
@given(
    whole_scores,
    whole_scores,
    st.sets(st.integers(0, 8), min_size=1, max_size=3),
    st.sampled_from(["MRR", "Recall", "MAP"]),
    st.sampled_from([1, 2, 4, 20]),
)
def test_the_curve_of_one_query_equals_the_one_in_exact_fractions(
    keyword: dict[int, int], semantic: dict[int, int], relevant: set[int], name: str, cutoff: int
) -> None:
    raw = [{row: float(score) for row, score in scores.items()} for scores in (keyword, semantic)]
    hybrid = make_hybrid([raw[0]], [raw[1]], [dict.fromkeys(relevant, 1)])
    curve = mean_curve(profile_of(hybrid, Params(fusion="none", depth=DEPTH), Measure(name, cutoff), None))
    expected = [tuple(map(float, row)) for row in exact_curve(keyword, semantic, relevant, name, cutoff)]
    assert np.array(list(curve.rows())) == pytest.approx(np.array(expected), abs=1e-12)


# --- sums ------------------------------------------------------------------------------------------------------------


@relaxed
@given(queries, settings_of_lines, all_measures, st.integers(0, 2**32 - 1))
def test_sums_are_the_weighted_sums_of_every_querys_own_scores(each: list, params: Params, measure: Measure, seed: int) -> None:
    hybrid = make_hybrid(*zip(*each, strict=True))
    profiles = profile_of(hybrid, params, measure, None)
    assume((np.diff(profiles.points) > 4e-9).all())
    own_at, own_on = profiles.scores_at(profiles.points), profiles.scores_at(profiles.middles)
    counts = np.random.default_rng(seed).integers(0, 4, size=(len(each), 5)).astype(np.float64)
    on, at = profiles.sums(counts)
    assert on.shape == (profiles.points.size - 1, 5) and at.shape == (profiles.points.size, 5)
    for resample in range(5):
        for scores, sums in ((own_on, on), (own_at, at)):
            explicit = [sum(c * s for c, s in zip(counts[:, resample], column, strict=True)) for column in scores.T]
            assert sums[:, resample] == pytest.approx(explicit, abs=1e-11)
    single = profiles.sums(counts[:, 0])
    assert single[0] == pytest.approx(on[:, 0], abs=1e-11) and single[1] == pytest.approx(at[:, 0], abs=1e-11)


@relaxed
@given(queries, settings_of_lines, all_measures)
def test_the_mean_curve_is_the_mean_of_direct_evaluations(each: list, params: Params, measure: Measure) -> None:
    hybrid = make_hybrid(*zip(*each, strict=True))
    curve = mean_curve(profile_of(hybrid, params, measure, None))
    _, lines, columns = hybrid.setting(params)
    for low, high, score in curve.rows():
        middle = (low + high) / 2
        if low == high or is_clear(lines, columns, middle):
            assert score == pytest.approx(evaluate(hybrid, params, measure, None, middle).mean(), abs=1e-11)


def test_a_query_that_counts_twice_counts_as_two_prompts() -> None:
    better = ({0: 2.0, 1: 1.0}, {1: 2.0, 0: 1.0}, {1: 1})
    worse = ({0: 2.0, 1: 1.0}, {1: 2.0, 0: 1.0}, {0: 1})
    once = make_hybrid(*zip(better, worse, worse, strict=True))
    profiles = profile_of(make_hybrid(*zip(better, worse, strict=True)), Params(depth=DEPTH), Measure("MRR", None), None)
    on, at = profiles.sums(np.array([1.0, 2.0]) / 3)
    curve = mean_curve(profile_of(once, Params(depth=DEPTH), Measure("MRR", None), None))
    assert list(merge(profiles.points, at, on).rows()) == [pytest.approx(row, abs=1e-12) for row in curve.rows()]


# --- the curve -------------------------------------------------------------------------------------------------------


@relaxed
@given(queries, settings_of_lines, all_measures)
def test_rows_cover_all_weights_and_every_inner_point_differs_from_a_neighbour(
    each: list, params: Params, measure: Measure
) -> None:
    rows = list(mean_curve(profile_of(make_hybrid(*zip(*each, strict=True)), params, measure, None)).rows())
    assert rows[0][:2] == (0, 0) and rows[-1][:2] == (1, 1)
    for i, (low, high, score) in enumerate(rows):
        assert (low == high) == (i % 2 == 0), "points and intervals alternate"
        assert low <= high
        if i:
            assert rows[i - 1][1] == low, "no gap"
        if low == high and 0 < i < len(rows) - 1:
            assert score != rows[i - 1][2] or score != rows[i + 1][2]


def test_merging_drops_only_points_that_differ_from_neither_neighbour() -> None:
    points = np.array([0, 0.125, 0.25, 0.5, 0.75, 1])
    at = np.array([0.1, 0.1, 0.3, 0.2, 0.4 + 5e-13, 0.4])
    on = np.array([0.1, 0.1, 0.2, 0.4, 0.4])
    assert list(merge(points, at, on).rows()) == [
        (0, 0, 0.1),
        (0, 0.25, 0.1),
        (0.25, 0.25, 0.3),
        (0.25, 0.5, 0.2),
        (0.5, 0.5, 0.2),
        (0.5, 1, 0.4),
        (1, 1, 0.4),
    ]


def curve_of(points: Sequence[float], at: Sequence[float], on: Sequence[float]) -> Curve:
    return Curve(np.array(points, dtype=float), np.array(at, dtype=float), np.array(on, dtype=float))


def test_the_optimum_is_the_middle_of_the_best_interval() -> None:
    optimum = find_optimum(curve_of([0, 0.25, 0.75, 1], [0.1, 0.2, 0.2, 0.1], [0.1, 0.3, 0.2]))
    assert (optimum.weight, optimum.weight_from, optimum.weight_to, optimum.score) == (0.5, 0.25, 0.75, 0.3)
    assert optimum.better_point is None


def test_among_equal_intervals_the_widest_wins_and_among_equally_wide_ones_the_lowest() -> None:
    widest = find_optimum(curve_of([0, 0.25, 0.375, 1], [0, 0, 0, 0], [0.3, 0.1, 0.3]))
    assert (widest.weight_from, widest.weight_to) == (0.375, 1)
    lowest = find_optimum(curve_of([0, 0.25, 0.5, 0.75, 1], [0, 0, 0, 0, 0], [0.1, 0.3, 0.1, 0.3]))
    assert (lowest.weight_from, lowest.weight_to) == (0.25, 0.5)


def test_scores_that_differ_by_the_order_of_summation_are_equal() -> None:
    optimum = find_optimum(curve_of([0, 0.25, 1], [0, 0, 0], [0.3 + 4e-13, 0.3]))
    assert (optimum.weight_from, optimum.weight_to) == (0.25, 1)


def test_an_interval_narrower_than_a_billionth_is_never_the_optimum() -> None:
    narrow = find_optimum(curve_of([0, 0.5, 0.5 + 9e-10, 1], [0, 0, 0, 0], [0.2, 0.9, 0.3]))
    assert (narrow.weight_from, narrow.score) == (0.5 + 9e-10, 0.3)
    wide = find_optimum(curve_of([0, 0.5, 0.5 + 2e-9, 1], [0, 0, 0, 0], [0.2, 0.9, 0.3]))
    assert (wide.weight_from, wide.score) == (0.5, 0.9)


def test_a_single_point_that_beats_every_interval_is_said_and_not_picked() -> None:
    optimum = find_optimum(curve_of([0, 0.25, 0.5, 1], [0.1, 0.4, 0.5, 0.1], [0.1, 0.3, 0.2]))
    assert (optimum.weight, optimum.score, optimum.better_point) == (0.375, 0.3, 0.5)
    assert find_optimum(curve_of([0, 1], [0.5, 0.1], [0.3])).better_point == 0
    assert find_optimum(curve_of([0, 1], [0.3 + 5e-13, 0.1], [0.3])).better_point is None


STAIRS = curve_of([0, 0.25, 0.5, 0.75, 1], [0.1, 0.2, 0.3, 0.4, 0.5], [0.15, 0.25, 0.35, 0.45])


@pytest.mark.parametrize(
    ("low", "high", "expected"),
    [
        (0.0, 1.0, list(STAIRS.rows())),
        (0.25, 0.75, [(0.25, 0.25, 0.2), (0.25, 0.5, 0.25), (0.5, 0.5, 0.3), (0.5, 0.75, 0.35), (0.75, 0.75, 0.4)]),
        (0.3, 0.4, [(0.3, 0.3, 0.25), (0.3, 0.4, 0.25), (0.4, 0.4, 0.25)]),
        (0.3, 0.6, [(0.3, 0.3, 0.25), (0.3, 0.5, 0.25), (0.5, 0.5, 0.3), (0.5, 0.6, 0.35), (0.6, 0.6, 0.35)]),
        (0.0, 0.125, [(0, 0, 0.1), (0, 0.125, 0.15), (0.125, 0.125, 0.15)]),
        (0.875, 1.0, [(0.875, 0.875, 0.45), (0.875, 1, 0.45), (1, 1, 0.5)]),
    ],
)
def test_a_restricted_curve_is_the_same_curve_between_two_weights(low: float, high: float, expected: list) -> None:
    assert list(restrict(STAIRS, low, high).rows()) == expected


def test_restricting_leaves_the_curve_unchanged() -> None:
    before = list(STAIRS.rows())
    restrict(STAIRS, 0.3, 0.6)
    assert list(STAIRS.rows()) == before


def test_the_plateau_holds_the_weights_within_the_loss_of_the_best_interval() -> None:
    curve = curve_of([0, 0.25, 0.5, 0.75, 1], [0.1, 0.3, 0.3, 0.29, 0.29], [0.28, 0.3, 0.2, 0.29])
    assert find_plateau(curve, 0.0) == [(0.25, 0.5)]
    assert find_plateau(curve, 0.01) == [(0.25, 0.5), (0.75, 1)]
    assert find_plateau(curve, 0.02) == [(0, 0.5), (0.75, 1)]
    assert find_plateau(curve, 1.0) == [(0, 1)]


def test_a_point_below_the_plateau_interrupts_it() -> None:
    curve = curve_of([0, 0.5, 1], [0.3, 0.1, 0.3], [0.3, 0.3])
    assert find_plateau(curve, 0.05) == [(0, 0.5), (0.5, 1)]


def test_a_single_good_point_is_a_range_of_one_weight() -> None:
    curve = curve_of([0, 0.5, 0.75, 1], [0.1, 0.1, 0.3, 0.1], [0.3, 0.1, 0.1])
    assert find_plateau(curve, 0.05) == [(0, 0.5), (0.75, 0.75)]

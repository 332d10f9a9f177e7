"""One YAML file in, one frozen object out; everything that does not hold is reported together, each with its place."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from pydantic import ValidationError

from harness.config import PARAM_NAMES, SAMPLERS, Config, parse_config, read_config, read_weights
from harness.errors import HarnessError
from harness.measures import Measure
from harness.types import Params

COLLECTION = "collection: {corpus: c.jsonl, queries: q.jsonl, qrels: r.tsv}\n"  # line 1 of every config below


@pytest.fixture
def read(tmp_path: Path) -> Callable[..., Config]:
    """Read line 1 with the collection, then these lines, as `config.yaml`."""

    def read_text(lines: str = "", **overrides: object) -> Config:
        path = tmp_path / "config.yaml"
        path.write_text(COLLECTION + lines, encoding="utf-8")
        return read_config(path, **overrides)

    return read_text


@pytest.fixture
def refused(tmp_path: Path, read: Callable[..., Config]) -> Callable[..., list[str]]:
    """Read what must be refused; the problem lines, without the folder in front."""

    def problems(lines: str, **overrides: object) -> list[str]:
        with pytest.raises(HarnessError) as caught:
            read(lines, **overrides)
        assert [path.name for path in tmp_path.iterdir()] == ["config.yaml"]  # no file created
        return [problem.replace(f"{tmp_path}/", "") for problem in caught.value.problems]

    return problems


# ---- what a config holds --------------------------------------------------------------------------------------------


def test_what_is_not_named_has_the_documented_default(read) -> None:
    config = read()
    assert config.name == "config"  # the file's
    assert config.base == Params(semantic_weight=0.5, top_k=10, fusion="minmax", rrf_k=60, depth=100, k1=1.5, b=0.75)
    assert config.objectives == (Measure("MAP", "top_k"),)
    assert config.report_at == [1, 3, 5, 10, 15]
    assert config.tolerance == 0.02
    assert config.collection.unmatched == "refuse"
    assert config.cache == ".harness-cache"
    assert (config.measures.ap_denominator, config.measures.precision_denominator) == ("R", "K")
    assert (config.measures.gain, config.measures.relevance_threshold) == ("linear", 1)


def test_the_documented_example_reads_as_it_says(read) -> None:
    config = read(
        "name: hybrid\n"
        "seed: 7\n"
        "keyword: {variant: okapi, k1: 1.5, b: 0.75, analyzer: english}\n"
        "semantic: {model: all-MiniLM-L6-v2, index: Flat}\n"
        "depth: 100\n"
        "objective: MAP@top_k\n"
        "report_at: [1, 3, 5, 10, 15]\n"
        "search:\n"
        "  trials: 200\n"
        "  sampler: tpe\n"
        "  space:\n"
        "    semantic_weight: {low: 0.0, high: 1.0}\n"
        "    top_k: {low: 3, high: 15}\n"
        "    fusion: [minmax, theoretical, zscore, rrf]\n"
        "    rrf_k: {low: 1, high: 100, log: true}\n"
    )
    assert (config.name, config.seed, config.search.trials, config.search.sampler) == ("hybrid", 7, 200, "tpe")
    assert config.search.space == {
        "semantic_weight": {"low": 0.0, "high": 1.0},
        "top_k": {"low": 3, "high": 15},
        "fusion": ["minmax", "theoretical", "zscore", "rrf"],
        "rrf_k": {"low": 1, "high": 100, "log": True},
    }


def test_whole_and_real_parameters_keep_their_kind_however_they_are_written(read) -> None:
    config = read(
        "depth: 1e2\nsemantic_weight: 1\n"
        "search:\n  space:\n    semantic_weight: [0, 1]\n    top_k: {low: 3.0, high: 15.0, step: 2.0}\n    rrf_k: [1e1, 60.0]\n"
        "    depth: 50.0\n    k1: {low: 1, high: 2}\n    b: 1\n"
    )
    space = config.search.space
    assert (config.depth, config.semantic_weight) == (100, 1.0)
    assert space == {
        "semantic_weight": [0.0, 1.0],
        "top_k": {"low": 3, "high": 15, "step": 2},
        "rrf_k": [10, 60],
        "depth": 50,
        "k1": {"low": 1.0, "high": 2.0},
        "b": 1.0,
    }
    whole = [config.depth, *space["top_k"].values(), *space["rrf_k"], space["depth"]]
    real = [config.semantic_weight, *space["semantic_weight"], *space["k1"].values(), space["b"]]
    assert {type(value) for value in whole} == {int}
    assert {type(value) for value in real} == {float}


def test_baselines_use_the_top_level_values_never_the_space(read) -> None:
    config = read(
        "depth: 30\nsemantic_weight: .2\ntop_k: 4\nfusion: rrf\nrrf_k: 7\nkeyword: {k1: 1.2, b: .4}\n"
        "search: {space: {semantic_weight: .9, top_k: 9, fusion: l2, rrf_k: 9, depth: 90, k1: 9, b: .9}}\n"
    )
    assert config.base == Params(semantic_weight=0.2, top_k=4, fusion="rrf", rrf_k=7, depth=30, k1=1.2, b=0.4)


def test_a_config_is_frozen(read) -> None:
    config = read()
    with pytest.raises(ValidationError):
        config.depth = 5
    with pytest.raises(ValidationError):
        config.search.trials = 5


@pytest.mark.parametrize("sampler", ["tpe", "random", "qmc", "nsgaii", "nsgaiii", "gp"])
def test_samplers_go_by_optunas_names_in_lower_case(sampler: str, read) -> None:
    assert read(f"search: {{sampler: {sampler}}}\n").search.sampler == sampler


def test_grid_and_bruteforce_are_taken_over_lists_and_steps(read, refused) -> None:
    assert {"grid", "bruteforce"} < set(SAMPLERS)
    for sampler in ("grid", "bruteforce"):
        stepped = "{semantic_weight: {low: 0, high: 1, step: .1}, top_k: {low: 3, high: 5}}"
        assert read(f"search:\n  sampler: {sampler}\n  space: {stepped}\n").search.sampler == sampler
        (problem,) = refused(f"search:\n  sampler: {sampler}\n  space:\n    semantic_weight: {{low: 0, high: 1}}\n")
        assert problem.startswith("config.yaml:5: search.space.semantic_weight: ")


@pytest.mark.parametrize("sampler", ["cmaes", "TPE", "TPESampler", "''", "1"])
def test_other_samplers_are_refused_and_the_known_ones_listed(sampler: str, refused) -> None:
    (problem,) = refused(f"search: {{sampler: {sampler}}}\n")
    assert problem.startswith("config.yaml:2: search.sampler: ")
    assert "tpe" in problem and "bruteforce" in problem


@pytest.mark.parametrize(
    ("written", "measures"),
    [
        ("MAP@10", (Measure("MAP", 10),)),
        ("MAP", (Measure("MAP", None),)),
        ("P@5", (Measure("Precision", 5),)),
        ("[Recall@top_k, Precision@top_k]", (Measure("Recall", "top_k"), Measure("Precision", "top_k"))),
    ],
)
def test_an_objective_is_one_measure_or_two(written: str, measures: tuple[Measure, ...], read) -> None:
    assert read(f"objective: {written}\n").objectives == measures


@pytest.mark.parametrize(
    ("lines", "deepest", "largest"),
    [
        ("", 100, 10),
        ("depth: 7\ntop_k: 3\n", 7, 3),
        ("search: {space: {depth: {low: 5, high: 300}, top_k: {low: 1, high: 20}}}\n", 300, 20),
        ("search: {space: {depth: [5, 50, 20], top_k: [3, 12, 4]}}\n", 100, 12),
        ("search: {space: {depth: 40, top_k: 4}}\n", 100, 4),
    ],
)
def test_the_deepest_list_serves_baselines_too_and_the_largest_k_is_the_spaces(
    lines: str, deepest: int, largest: int, read
) -> None:
    config = read(lines)
    assert (config.deepest, config.largest_top_k) == (deepest, largest)


@pytest.mark.parametrize(
    ("space", "tunes"),
    [
        ("{b: {low: 0, high: 1}}", True),
        ("{k1: [1.2, 1.5]}", True),
        ("{k1: 1.2}", True),
        ("{k1: 1.5, b: .75}", False),
        ("{}", False),
    ],
)
def test_postings_are_kept_when_a_trial_may_use_another_k1_or_b(space: str, tunes: bool, read) -> None:
    assert read(f"search: {{space: {space}}}\n").tunes_bm25 is tunes


@pytest.mark.parametrize(
    ("objective", "top_k", "picks"),
    [
        ("MAP@top_k", "{low: 3, high: 15}", True),
        ("Recall@top_k", "[3, 5]", True),
        ("MRR", "{low: 3, high: 15}", True),
        ("HitRate@top_k", "{low: 3, high: 15}", True),
        ("MAP@top_k", "5", False),
        ("MAP@10", "{low: 10, high: 15}", False),
        ("F1@top_k", "{low: 3, high: 15}", False),
        ("Precision@top_k", "{low: 3, high: 15}", False),
        ("[Recall@top_k, Precision@top_k]", "{low: 3, high: 15}", False),
    ],
)
def test_m2_an_objective_that_never_falls_as_a_free_k_grows_is_known(objective: str, top_k: str, picks: bool, read) -> None:
    assert read(f"objective: {objective}\nsearch: {{space: {{top_k: {top_k}}}}}\n").picks_itself is picks


# ---- what is refused ------------------------------------------------------------------------------------------------


def test_y1_exponents_without_a_point_are_numbers(read, refused) -> None:
    config = read("search: {space: {semantic_weight: {low: 1e-3, high: 1}}}\n")
    assert config.search.space["semantic_weight"] == {"low": 0.001, "high": 1.0}
    (problem,) = refused("search:\n  space:\n    semantic_weight: {low: '1e-3', high: 1}\n")
    assert problem.startswith("config.yaml:4: search.space.semantic_weight.low: ") and "'1e-3'" in problem


def test_y2_a_key_twice_is_refused_with_both_lines(refused) -> None:
    (problem,) = refused("seed: 1\nsearch:\n  trials: 3\n  sampler: tpe\n  trials: 4\n")
    assert problem.startswith("config.yaml:6: search.trials: ")
    assert "line 4" in problem and "line 6" in problem


def test_y2_a_merge_with_an_override_stays_legal(read) -> None:
    config = read("search:\n  space:\n    semantic_weight: &unit {low: 0, high: 1}\n    b:\n      <<: *unit\n      low: .5\n")
    assert config.search.space == {"semantic_weight": {"low": 0.0, "high": 1.0}, "b": {"low": 0.5, "high": 1.0}}


@pytest.mark.parametrize(
    ("lines", "place"),
    [
        ("keyword:\n  stemming: off\n", "config.yaml:3: keyword.stemming: "),
        ("stemming: off\n", "config.yaml:2: stemming: "),
        ("keyword: {analyzer: no}\n", "config.yaml:2: keyword.analyzer: "),
        ("search:\n  space:\n    fusion: [no, rrf]\n", "config.yaml:4: search.space.fusion[0]: "),
        ("search:\n  space:\n    fusion: off\n", "config.yaml:4: search.space.fusion: "),
        ("fusion: off\n", "config.yaml:2: fusion: "),
        ("depth: on\n", "config.yaml:2: depth: "),
        ("name: yes\n", "config.yaml:2: name: "),
        ("on: 1\n", "config.yaml:2: "),
        ("search:\n  on: 1\n", "config.yaml:3: "),
    ],
)
def test_y3_what_yaml_reads_as_true_or_false_is_a_type_error_that_suggests_quotes(lines: str, place: str, refused) -> None:
    (problem,) = refused(lines)
    assert problem.startswith(place)
    assert "quotes" in problem


@pytest.mark.parametrize(
    ("lines", "place", "nearest"),
    [
        ("semantic_wieght: .5\n", "config.yaml:2: semantic_wieght: ", "semantic_weight"),
        ("semantic_wieght:\n", "config.yaml:2: semantic_wieght: ", "semantic_weight"),
        ("search:\n  trails: 5\n", "config.yaml:3: search.trails: ", "trials"),
        ("keyword: {analyser: english}\n", "config.yaml:2: keyword.analyser: ", "analyzer"),
        ("search:\n  space:\n    semantic_wieght: .5\n", "config.yaml:4: search.space.semantic_wieght: ", "semantic_weight"),
        ("fusion: minmaks\n", "config.yaml:2: fusion: ", "minmax"),
    ],
)
def test_y5_an_unknown_key_or_name_is_refused_with_the_nearest_known_one(lines: str, place: str, nearest: str, refused) -> None:
    (problem,) = refused(lines)
    assert problem.startswith(place)
    assert nearest in problem


@pytest.mark.parametrize("text", ["", "# nothing\n", "---\n", "null\n", "- a\n- b\n", "[]\n", "just text\n", "5\n"])
def test_y5_an_empty_file_and_what_is_no_mapping_are_refused(text: str, tmp_path: Path) -> None:
    path = tmp_path / "config.yaml"
    path.write_text(text)
    with pytest.raises(HarnessError) as caught:
        read_config(path)
    (problem,) = caught.value.problems
    assert problem.startswith(str(path)) and "mapping" in problem
    assert [found.name for found in tmp_path.iterdir()] == ["config.yaml"]


def test_an_empty_mapping_lacks_the_collection(tmp_path: Path) -> None:
    path = tmp_path / "config.yaml"
    path.write_text("{}\n")
    with pytest.raises(HarnessError) as caught:
        read_config(path)
    (problem,) = caught.value.problems
    assert "collection" in problem


@pytest.mark.parametrize("bad", [".nan", ".inf", "-.inf", "-.2", "1.2", "true", "heavy", "'0.5'", "~", "[.5]", "{low: 0}"])
def test_u7_a_weight_that_is_no_number_from_0_to_1_is_refused(bad: str, refused) -> None:
    (problem,) = refused(f"semantic_weight: {bad}\n")
    assert problem.startswith("config.yaml:2: semantic_weight: ")


@pytest.mark.parametrize("bad", [".nan", ".inf", "-.2", "1.2"])
@pytest.mark.parametrize(
    ("entry", "place"),
    [
        ("{}", "semantic_weight"),
        ("[.5, {}]", "semantic_weight[1]"),
        ("{{low: {}, high: 1}}", "semantic_weight.low"),
        ("{{low: 0, high: {}}}", "semantic_weight.high"),
    ],
)
def test_u7_a_weight_in_the_space_is_refused_by_the_same_rule_as_one_problem(entry: str, place: str, bad: str, refused) -> None:
    (problem,) = refused(f"search:\n  space:\n    semantic_weight: {entry.format(bad)}\n")
    assert problem.startswith(f"config.yaml:4: search.space.{place}: ")


def test_u7_every_wrong_weight_of_a_list_is_one_problem(refused) -> None:
    first, second = refused("search:\n  space:\n    semantic_weight: [.nan, .5, 1.2]\n")
    assert first.startswith("config.yaml:4: search.space.semantic_weight[0]: ")
    assert second.startswith("config.yaml:4: search.space.semantic_weight[2]: ")


def test_u7_both_ends_are_weights(read) -> None:
    assert read("semantic_weight: 0\n").semantic_weight == 0.0
    assert read("semantic_weight: 1\n").semantic_weight == 1.0


@pytest.mark.parametrize("key", ["seed", "top_k", "depth", "rrf_k", "semantic_weight", "tolerance"])
def test_a_number_with_four_hundred_digits_is_refused(key: str, refused) -> None:
    (problem,) = refused(f"{key}: 1{'0' * 400}\n")
    assert problem.startswith(f"config.yaml:2: {key}: ")


@pytest.mark.parametrize("entry", ["1{0}", "[.5, 1{0}]", "{{low: 0, high: 1{0}}}"])
def test_a_number_with_four_hundred_digits_in_the_space_is_refused(entry: str, refused) -> None:
    problems = refused(f"search:\n  space:\n    k1: {entry.format('0' * 400)}\n")
    assert problems[0].startswith("config.yaml:4: search.space.k1")


@pytest.mark.parametrize(
    ("lines", "key"),
    [
        ("seed: -1\n", "seed"),
        ("seed: 1.5\n", "seed"),
        ("depth: 0\n", "depth"),
        ("top_k: 2.5\n", "top_k"),
        ("top_k: .inf\n", "top_k"),
        ("rrf_k: 0\n", "rrf_k"),
        ("tolerance: -.1\n", "tolerance"),
        ("tolerance: .nan\n", "tolerance"),
        ("report_at: []\n", "report_at"),
        ("report_at: 5\n", "report_at"),
        ("report_at: [0]\n", "report_at[0]"),
        ("keyword: {k1: -1}\n", "keyword.k1"),
        ("keyword: {b: 1.1}\n", "keyword.b"),
        ("keyword: {variant: bm42}\n", "keyword.variant"),
        ("keyword: okapi\n", "keyword"),
        ("semantic: {normalize: 1}\n", "semantic.normalize"),
        ("semantic: {model: ''}\n", "semantic.model"),
        ("measures: {ap_denominator: K}\n", "measures.ap_denominator"),
        ("measures: {relevance_threshold: 0}\n", "measures.relevance_threshold"),
        ("search: {trials: 0}\n", "search.trials"),
        ("search: {timeout: 0}\n", "search.timeout"),
        ("search: {space: [top_k]}\n", "search.space"),
        ("search: 5\n", "search"),
        ("search: {space: {top_k: {low: 5, high: 3}}}\n", "search.space.top_k"),
        ("search: {space: {top_k: {low: 0, high: 3}}}\n", "search.space.top_k.low"),
        ("search: {space: {top_k: {low: 3}}}\n", "search.space.top_k.high"),
        ("search: {space: {top_k: {low: 3, high: 9, most: 1}}}\n", "search.space.top_k.most"),
        ("search: {space: {top_k: {low: 3, high: 9, step: 0}}}\n", "search.space.top_k.step"),
        ("search: {space: {top_k: {low: 3, high: 9, step: 1.5}}}\n", "search.space.top_k.step"),
        ("search: {space: {top_k: {low: 1.5, high: 9}}}\n", "search.space.top_k.low"),
        ("search: {space: {top_k: []}}\n", "search.space.top_k"),
        ("search: {space: {top_k: [3, 3]}}\n", "search.space.top_k"),
        ("search: {space: {semantic_weight: [1, 1.0]}}\n", "search.space.semantic_weight"),
        ("search: {space: {semantic_weight: {low: 0, high: 1, log: true}}}\n", "search.space.semantic_weight.low"),
        ("search: {space: {rrf_k: {low: 1, high: 9, log: true, step: 2}}}\n", "search.space.rrf_k"),
        ("search: {space: {fusion: {low: minmax, high: rrf}}}\n", "search.space.fusion"),
        ("search: {space: {k1: -1}}\n", "search.space.k1"),
        ("search: {space: {b: [.5, 2]}}\n", "search.space.b[1]"),
        ("search: {space: {alpha: .5}}\n", "search.space.alpha"),
    ],
)
def test_an_impossible_value_is_one_problem_with_its_line_and_key(lines: str, key: str, refused) -> None:
    (problem,) = refused(lines)
    assert problem.startswith(f"config.yaml:2: {key}: ")


@pytest.mark.parametrize(
    ("objective", "named"),
    [
        ("MAP@0", "'MAP@0'"),
        ("MAP@-1", "'MAP@-1'"),
        ("MAP@1.5", "'MAP@1.5'"),
        ("'MAP@ 10'", "'MAP@ 10'"),
        ("Precision", "Precision@10"),
        ("nDGC@10", "nDCG"),
        ("accuracy", "MAP"),
        ("10", "10"),
        ("''", "MAP"),
        ("~", "MAP"),
        ("[]", "0"),
        ("[MAP@10, MAP@10]", "MAP@10"),
        ("[MAP@10, AP@10]", "MAP@10"),
        ("[Recall@5, Precision@5, F1@5]", "3"),
        ("[MAP@10, 5]", "5"),
    ],
)
def test_an_objective_that_is_no_measure_is_refused_with_its_line(objective: str, named: str, refused) -> None:
    (problem,) = refused(f"seed: 1\nobjective: {objective}\n")
    assert problem.startswith("config.yaml:3: objective")
    assert named in problem


def test_both_objectives_are_checked_and_reported_together(refused) -> None:
    text = "\n".join(refused("objective: [MAP@0, Precision]\n"))
    assert "MAP@0" in text and "Precision" in text


def test_all_cutoffs_are_checked_and_reported_together(refused) -> None:
    text = "\n".join(refused("report_at: [1, 0, five]\n"))
    assert "got 0" in text and "'five'" in text


def test_y5_several_problems_come_in_one_go_each_with_line_and_key(refused) -> None:
    found = refused(
        "sede: 5\n"  # 2: unknown
        "depth: many\n"  # 3: wrong type
        "semantic_weight: 1.2\n"  # 4: out of range
        "objective: MAP@0\n"  # 5
        "keyword: {k1: -1}\n"  # 6
        "search:\n"
        "  trials: 0\n"  # 8
        "  space:\n"
        "    top_k: {low: 5, high: 3}\n"  # 10: impossible range
        "    alpha: .5\n"  # 11: unknown
    )
    places = [problem.split(": ")[:2] for problem in found]
    assert sorted(places) == sorted(
        [
            ["config.yaml:2", "sede"],
            ["config.yaml:3", "depth"],
            ["config.yaml:4", "semantic_weight"],
            ["config.yaml:5", "objective"],
            ["config.yaml:6", "keyword.k1"],
            ["config.yaml:8", "search.trials"],
            ["config.yaml:10", "search.space.top_k"],
            ["config.yaml:11", "search.space.alpha"],
        ]
    )


def test_y2_keys_twice_are_reported_together_with_the_other_problems(refused) -> None:
    found = refused("seed: 1\nseed: 2\nsede: 5\ndepth: many\n")
    assert sorted(problem.split(": ")[0] for problem in found) == ["config.yaml:3", "config.yaml:4", "config.yaml:5"]


def test_missing_files_of_the_collection_are_each_named(tmp_path: Path) -> None:
    path = tmp_path / "config.yaml"
    path.write_text("seed: 1\ncollection:\n  corpus: 5\n")
    with pytest.raises(HarnessError) as caught:
        read_config(path)
    places = [problem.split(": ")[1] for problem in caught.value.problems]
    assert sorted(places) == ["collection.corpus", "collection.queries"]  # without qrels the prompts' answers are the labels


def test_d12_unmatched_is_refuse_or_ignore(tmp_path: Path) -> None:
    path = tmp_path / "config.yaml"
    text = "collection:\n  corpus: c\n  queries: q\n  qrels: r\n  unmatched: {}\n"
    path.write_text(text.format("ignore"))
    assert read_config(path).collection.files().unmatched == "ignore"
    path.write_text(text.format("drop"))
    with pytest.raises(HarnessError) as caught:
        read_config(path)
    (problem,) = caught.value.problems
    assert problem.startswith(f"{path}:5: collection.unmatched: ")


BAD_NAMES = ["../evil", "a/b", "a\\b", "..", ".", ".hidden", "-x", "", " ", "a b", "a\n", "ä", "x" * 101, "C:"]


@pytest.mark.parametrize("name", BAD_NAMES)
def test_a_name_that_is_no_plain_folder_name_is_refused(name: str, read, refused) -> None:
    (problem,) = refused("", name=name)
    assert "name: " in problem and repr(name)[:60] in problem
    (problem,) = refused(f'name: "{name.encode("unicode_escape").decode()}"\n')
    assert problem.startswith("config.yaml:2: name: ")


def test_a_name_from_the_command_line_replaces_the_files(read) -> None:
    assert read("name: one\n", name="two-2.x_y").name == "two-2.x_y"


def test_a_line_break_inside_a_key_does_not_break_the_problems_line(refused) -> None:
    (problem,) = refused('"line one\\nline two": 5\n')
    assert "\n" not in problem


def test_the_fusion_theoretical_needs_unit_vectors(refused) -> None:
    for lines in (
        "fusion: theoretical\nsemantic: {normalize: false}\n",
        "search: {space: {fusion: [minmax, theoretical]}}\nsemantic: {normalize: false}\n",
    ):
        (problem,) = refused(lines)
        assert problem.startswith("config.yaml:3: semantic.normalize: ")


def test_a_mapping_without_a_file_names_key_paths(tmp_path: Path) -> None:
    with pytest.raises(HarnessError) as caught:
        parse_config({"name": "x", "collection": {"corpus": "c", "queries": "q", "qrels": "r"}, "search": {"trials": 0}})
    (problem,) = caught.value.problems
    assert problem.startswith("search.trials: ")


# ---- the resolved config --------------------------------------------------------------------------------------------


def test_the_resolved_config_has_every_default_and_reads_as_the_same_object(read, tmp_path: Path) -> None:
    config = read("objective: [Recall@5, Precision@5]\nsearch: {space: {top_k: {low: 3, high: 9}, fusion: [rrf, minmax]}}\n")
    path = tmp_path / "resolved.yaml"
    path.write_text(config.to_yaml(), encoding="utf-8")
    assert read_config(path) == config
    for key in ("semantic_weight: 0.5", "rrf_k: 60", "k1: 1.5", "unmatched: refuse", "ap_denominator: R", "tolerance: 0.02"):
        assert key in path.read_text()


resolved_text = st.text(st.characters(exclude_categories=["Cs"]), max_size=12)


@given(text=st.one_of(resolved_text, st.from_regex(r"[-+]?[0-9.]+([eE:_][0-9]+)?", fullmatch=True)))
@example(text="1e3")
@example(text="09")
@example(text="on")
@example(text="~")
@example(text="2024-01-01")
@example(text="1:30")
@example(text="<<")
@example(text="\x85\u2028\ufeff")
def test_any_text_in_a_resolved_config_is_read_as_the_same_text(text: str, tmp_path_factory: pytest.TempPathFactory) -> None:
    config = parse_config(
        {"name": "x", "collection": {"corpus": "c", "queries": "q", "qrels": "r"}, "semantic": {"query_prompt": text}}
    )
    path = tmp_path_factory.getbasetemp() / "resolved.yaml"
    path.write_bytes(config.to_yaml().encode("utf-8"))
    assert read_config(path) == config


@pytest.mark.parametrize("name", ["1e3", "09", "010", "1.5", "on", "null", "2024-01-01"])
def test_y1_a_study_name_that_looks_like_a_number_survives_its_own_resolved_config(name: str, read, tmp_path: Path) -> None:
    config = read(f"name: '{name}'\n")
    path = tmp_path / "resolved.yaml"
    path.write_text(config.to_yaml(), encoding="utf-8")
    assert read_config(path).name == name


# ---- weights.yaml ---------------------------------------------------------------------------------------------------


@pytest.fixture
def weigh(tmp_path: Path, read: Callable[..., Config]) -> Callable[[str], Params]:
    """Read this text as `weights.yaml` under a config with a weight of .25 and everything else by default."""

    def read_text(text: str) -> Params:
        path = tmp_path / "weights.yaml"
        path.write_text(text, encoding="utf-8")
        return read_weights(path, read("semantic_weight: .25\n"))

    return read_text


def test_weights_replace_the_configs_values(weigh) -> None:
    text = "semantic_weight: 0.7\ntop_k: 5\nfusion: rrf\nrrf_k: 20\nvariant: okapi\nk1: 1.2\nb: 1\n"
    text += "decision: adopt\ninterval: [.6, .8]\n"
    assert weigh("\ufeff" + text) == Params(0.7, 5, "rrf", 20, 100, 1.2, 1.0)
    assert weigh("top_k: 3\n") == Params(semantic_weight=0.25, top_k=3)
    assert set(PARAM_NAMES) == set(vars(Params()))


@pytest.mark.parametrize(
    ("text", "places"),
    [
        ("semantic_weight: .nan\n", [":1: semantic_weight: "]),
        ("semantic_weight: -.2\n", [":1: semantic_weight: "]),
        ("semantic_weight: 1.2\ntop_k: 0\nfusion: max\n", [":1: semantic_weight: ", ":2: top_k: ", ":3: fusion: "]),
        ("semantic_weight: '.5'\n", [":1: semantic_weight: "]),
        ("top_k: 3\nsemantic_wieght: .5\n", [":2: semantic_wieght: "]),
        ("top_k: 3\nvariant: lucene\n", [":2: variant: "]),
        ("top_k: 3\ntop_k: 4\n", [":2: top_k: "]),
        ("rrf_k: 1" + "0" * 400 + "\n", [":1: rrf_k: "]),
        ("- semantic_weight\n", [": "]),
        ("", [": "]),
    ],
    ids=lambda value: value[:24] if isinstance(value, str) else "",
)
def test_wrong_weights_are_refused_with_their_lines(text: str, places: list[str], weigh, tmp_path: Path) -> None:
    with pytest.raises(HarnessError) as caught:
        weigh(text)
    problems = caught.value.problems
    assert len(problems) == len(places)
    for problem, place in zip(problems, places, strict=True):
        assert problem.startswith(f"{tmp_path / 'weights.yaml'}{place}")

"""What `check`, `init`, `cache` and the importers print on stdout."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from harness.printing import print_table, visible

if TYPE_CHECKING:
    from harness.commands.cache import Cache
    from harness.commands.check import Check, Note
    from harness.commands.import_cranfield import ImportedCranfield
    from harness.commands.import_run import ImportedRun
    from harness.commands.init import Init

MOST_ROWS = 12  # of groups or grades in a table
MOST_NAMES = 5  # of files, in a note


def print_check(result: Check) -> None:
    """The data in numbers, the size of the search, and a note with places for everything that deserves a look."""
    facts = result.facts
    counts = facts["collection"]
    held = f", {counts['queries_held_out']} held out" if counts["queries_held_out"] else ""
    print(
        f"study {result.config.name}: {counts['documents']} documents, {counts['queries']} prompts ({counts['queries_used']}"
        f" used{held}), {counts['judgements']} judgements; the files read well"
    )
    print(f"size: {facts['independent_prompts']} independent prompts: {result.size}\n")
    print_lengths(facts)
    print_labels(facts)
    print_segments(facts)
    print_space(facts["space"], result.config.objective)
    if "live" in facts:
        print_live(facts["live"])
    for note in result.notes:
        print_note(note)
    if not result.notes:
        print("\nnothing deserves a look")


def print_lengths(facts: dict[str, Any]) -> None:
    """Lengths of documents and prompts, in words and in the model's tokens."""
    tokens, sides = facts["tokens"], ("documents", "prompts")
    rows = [[f"words of {what}", *_quantiles(facts["words"][what]), ""] for what in sides if facts["words"][what]]
    if tokens["counted"]:
        for what in (what for what in sides if "median" in tokens[what]):  # there may be no documents here
            rows.append([f"tokens of {what}", *_quantiles(tokens[what]), str(tokens[what]["longer"])])
    limit = f"above {tokens['limit']}" if tokens["counted"] else ""
    print_table(["length", "median", "95 %", "most", limit], rows)
    if not tokens["counted"]:
        print(f"tokens were not counted: {visible(tokens['reason'])}")


def _quantiles(lengths: dict[str, float]) -> list[str]:
    return [f"{lengths[name]:g}" for name in ("median", "p95", "max")]


def print_labels(facts: dict[str, Any]) -> None:
    """The grades, and how many judgements and relevant documents a prompt has."""
    threshold = facts["relevance_threshold"]
    print()
    grades = [[grade, str(n), "yes" if int(grade) >= threshold else "no"] for grade, n in facts["grades"].items()]
    print_table(["grade", "judgements", "relevant"], grades[::-1][:MOST_ROWS])
    rows = [[what, *_spread(facts[key])] for key, what in LABELS.items()]
    print()
    print_table(["of a judged prompt", "least", "median", "most"], rows)


LABELS = {"judgements_per_prompt": "judgements", "relevant_per_prompt": "relevant documents"}


def _spread(numbers: dict[str, float]) -> list[str]:
    return [f"{numbers[name]:g}" for name in ("min", "median", "max")]


def print_segments(facts: dict[str, Any]) -> None:
    """Prompts of each group, and of a cluster, and what their weights are; nothing where there are none."""
    groups, clusters = facts["groups"], facts["clusters"]
    if groups:
        print()
        rows = sorted(groups.items(), key=lambda item: (-item[1], item[0]))
        print_table(["group", "used prompts"], [[name, str(n)] for name, n in rows[:MOST_ROWS]])
        if len(rows) > MOST_ROWS:
            print(f"and {len(rows) - MOST_ROWS} smaller groups")
    if clusters:
        low, middle, high = _spread(clusters["prompts_per_cluster"])
        sizes = f"{low} to {high} used prompts, {middle} in the median" if low != high else f"{low} used prompts each"
        print(f"\n{clusters['clusters']} clusters of {sizes}")
    weights = facts.get("weights")
    if weights is not None:
        zero = f", {weights['zero']} of them 0" if weights["zero"] else ""
        print(
            f"\nweights: sum {weights['sum']:g}{zero}; the prompts count like {weights['effective_prompts']:.1f} equal ones, the"
            f" largest share is {weights['largest_share']:.1%}"
        )


def print_space(space: dict[str, Any], objective: list[str]) -> None:
    """How large the search is."""
    settings = space.get("discrete_settings")
    counted = f"{settings} discrete settings beside the weight and K" if settings is not None else "k1 or b without steps"
    print(f"\nsearch: {space['trials']} trials by {space['sampler']} for {' and '.join(objective)}, {counted}")


def print_live(live: dict[str, Any]) -> None:
    """Who answered, and how many documents each statement gave for the prompt that was asked for."""
    versions = [live.get("server"), f"pgvector {live['pgvector']}" if "pgvector" in live else None]
    said = ", ".join(visible(version) for version in versions if version) or "nobody"
    print(f"\nlive: {said} was asked for the prompt {visible(live['prompt'])} at depth {live['depth']}")
    sides = [(side, live[side]) for side in ("keyword", "semantic") if side in live]
    rows = [[side, str(found["hits"]), f"{1000 * found['seconds']:.1f}"] for side, found in sides]
    print_table(["statement", "documents", "ms"], rows)


def print_note(note: Note) -> None:
    """The sentence, then the first examples, each with its places."""
    print(f"\nnote: {visible(note.message)}.")
    for example in note.examples:
        print(f"  {', '.join(f'{visible(place.id)} ({visible(place.where)})' for place in example)}")
    if note.count > len(note.examples):
        print(f"  and {note.count - len(note.examples)} more")


def print_init(result: Init) -> None:
    """What was taken for what, where the config is, and what to type next."""
    data = result.to_dict()
    print(f"looked at {data['looked_at']} files")
    for role, file in data["files"].items():
        also = ", ".join(visible(fit["path"]) for fit in data["alternatives"].get(role, []))
        print(f"  {role}: {visible(file['path'])} ({file['size']} {SIZES[role]}){f'; fits as well: {also}' if also else ''}")
    settings = data["settings"]
    low, high = settings["top_k"]
    print(f"analyzer {settings['analyzer']}, objective {settings['objective']}, K from {low} to {high}: the file says why")
    print(f"config: {visible(data['config'])}")
    first, second = map(visible, data["next"])
    print(f"next: {first}\n      {second}")


SIZES = {"corpus": "documents", "queries": "prompts", "qrels": "judgements"}


def print_cache(result: Cache) -> None:
    """A row a kind, then what does not belong there, then what was or would be deleted."""
    data = result.to_dict()
    print(f"cache {visible(data['folder'])}/")
    rows = [[kind, *_totals(entry)] for kind, entry in [*data["kinds"].items(), ("leftovers", data["leftovers"])]]
    print_table(["kind", "files", "bytes", "oldest use", "newest use"], rows)
    for key, said in REMARKS.items():
        names = data[key]
        if names:
            more = f" and {len(names) - MOST_NAMES} more" if len(names) > MOST_NAMES else ""
            print(f"\nnote: {len(names)} {said}: {', '.join(map(visible, names[:MOST_NAMES]))}{more}.")
    chosen = data["selected"]
    what = f"{chosen['files']} files, {chosen['bytes'] / 1e6:.1f} MB"
    unused = f", not used for {data['older_than']:g} days" if data["older_than"] is not None else ""
    print(f"\ndeleted: {what}{unused}" if data["cleared"] else f"\n--clear would delete {what}{unused}")


REMARKS = {
    "unreadable": "files are cut, damaged, or of another version; they are built again where they are needed",
    "foreign": "entries are not of this program and are left alone",
}


def _totals(entry: dict[str, Any]) -> list[str]:
    return [str(entry["files"]), str(entry["bytes"]), *(entry.get(name, "") for name in ("oldest_use", "newest_use"))]


def print_import_run(result: ImportedRun) -> None:
    """What is in the run, what it cannot show, and what to type next."""
    data = result.to_dict()
    per_prompt, ties = data["documents"], data["ties"]
    print(f"run {visible(data['run'])}: {data['prompts']} prompts, tag {visible(data['tag'])}")
    print(
        f"documents a prompt: {per_prompt['min']} at least, {per_prompt['median']:g} in the median, {per_prompt['max']} at most"
    )
    shorter = f"; {data['shorter']} prompts have fewer" if data["shorter"] else ""
    left_out = f"; --depth left out {data['left_out']} hits behind it" if data["left_out"] else ""
    print(f"depth: {data['depth']}{shorter}{left_out}")
    print(f"ties: {say_ties(ties)}" if ties["lowered"] else "ties: none")
    for note in say_of_run(data):
        print(f"\nnote: {visible(note)}.")
    print(f"\nnext: {visible(data['next'][0])}\n      or in a config: {visible(' or '.join(data['config']))}")


def say_ties(ties: dict[str, int]) -> str:
    """How many hits of how many prompts tie, and how the run keeps their order."""
    also = f", and {ties['lowered'] - ties['hits']} behind them with it" if ties["lowered"] > ties["hits"] else ""
    return (
        f"{ties['hits']} hits of {ties['prompts']} prompts have the score of the one before them; the run lowers them by one step"
        f" of single precision{also}, so that the engine's order is kept"
    )


def say_of_run(data: dict[str, Any]) -> list[str]:
    """What the run cannot show, and what was not looked at."""
    said = []
    for key, what in RUN_NOTES.items():
        names = data[key]
        if names:
            more = f" and {len(names) - MOST_NAMES} more" if len(names) > MOST_NAMES else ""
            said.append(f"{len(names)} {what}: {', '.join(names[:MOST_NAMES])}{more}")
    if data["not_known_to_be_complete"]:
        said.append(
            f"{data['not_known_to_be_complete']} responses lack timed_out or _shards, so that nobody can tell whether they are"
            " complete; keep both when you cut responses down"
        )
    return said


RUN_NOTES = {
    "without_results": "prompts have no results; a run has no line for them, and evaluate counts them as prompts without results",
    "not_searched": "prompts of --queries were not searched, and are in the run as prompts without results",
}


def print_import_cranfield(result: ImportedCranfield) -> None:
    """What was converted, how the codes became grades, and what to type next."""
    data = result.to_dict()
    print(
        f"{visible(data['folder'])}/: {data['documents']} documents, {data['queries']} prompts, {data['judgements']} judgements"
    )
    moved = data["labels_that_are_not_the_place"]
    print(f"prompts are numbered by their place in the file, as cranqrel does; {moved} have another label (query_labels.tsv)")
    print(f"titles cut off the start of their text: {data['titles_cut']}; empty documents: {len(data['empty_documents'])}\n")
    print_table(["code", "grade", "judgements"], [[str(row[name]) for name in row] for row in data["codes"]])
    if not data["as_published"]:
        counts = data["published"]
        print(
            f"\nnote: the published collection has {counts['documents']} documents, {counts['queries']} prompts and"
            f" {counts['judgements']} judgements; these are other files."
        )
    print(f"\nnext: {visible(data['next'][0])}")

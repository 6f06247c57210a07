"""The published schema of the card says what the reader accepts."""

import copy
import json
import re
from pathlib import Path
from typing import get_args, get_type_hints

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from jsonschema import Draft202012Validator
from test_native import FULL, HEADS

from napari_onnxseg.cards.card import ClassInfo, Layout, ObjectRule, ScoreKind, Sizing, Suggested
from napari_onnxseg.cards.card import Task as CardTask
from napari_onnxseg.cards.catalog import bundled_folder
from napari_onnxseg.cards.description import Description, HeadHints, TensorHints
from napari_onnxseg.cards.native import KEYS, parse_description, parse_text
from napari_onnxseg.cards.starting import SCHEMA as ADDRESS
from napari_onnxseg.cards.write import as_json, as_text
from napari_onnxseg.errors import ModelError
from napari_onnxseg.prepare.channels import ColourOrder
from napari_onnxseg.prepare.convention import Method, Normalization
from napari_onnxseg.prepare.step_values import DTYPES
from napari_onnxseg.prepare.steps import ENTRIES, Op, Step

SCHEMA = json.loads((bundled_folder() / "card.schema.json").read_text(encoding="utf-8"))
VALID = Draft202012Validator(SCHEMA)
DOCS = Path(__file__).parents[2] / "docs" / "models.md"

OUTPUT = SCHEMA["properties"]["output"]["properties"]
OUTPUTS = SCHEMA["properties"]["outputs"]["items"]["properties"]
INPUT = SCHEMA["properties"]["input"]["properties"]
DEFS = {name: part.get("properties", {}) for name, part in SCHEMA["$defs"].items()}


def bundled_cards():
    return [path for path in bundled_folder().glob("*.json") if path.name != "card.schema.json"]


def examples():
    blocks = re.findall(r"```json\n(.*?)```", DOCS.read_text(encoding="utf-8"), re.DOTALL)
    return [text for text in blocks if '"format"' in text]


def test_the_schema_is_one_and_started_cards_name_it():
    Draft202012Validator.check_schema(SCHEMA)
    assert SCHEMA["$id"] == ADDRESS


@pytest.mark.parametrize("path", bundled_cards(), ids=lambda path: path.stem)
def test_bundled_cards_are_valid(path):
    VALID.validate(json.loads(path.read_text(encoding="utf-8")))


def test_examples_of_the_documentation_are_valid_and_read():
    assert examples()
    for text in examples():
        VALID.validate(json.loads(text))
        parse_text(text)


@pytest.mark.parametrize(
    ("properties", "name"),
    [
        (SCHEMA["properties"], ""),
        (INPUT, "input"),
        (INPUT["sizing"]["properties"], "sizing"),
        (OUTPUT, "output"),
        (OUTPUTS, "outputs"),
        (DEFS["class"], "classes"),
        (DEFS["objects"], "objects"),
        (DEFS["step"], "step"),
        (DEFS["normalization"], "normalization"),
        (SCHEMA["properties"]["pixel_size"]["properties"], "pixel_size"),
        (SCHEMA["properties"]["suggested"]["properties"], "suggested"),
    ],
)
def test_each_object_has_the_entries_that_the_reader_knows(properties, name):
    assert sorted(properties) == sorted(KEYS[name])


@pytest.mark.parametrize(
    ("part", "words"),
    [
        (SCHEMA["properties"]["task"], get_args(CardTask)),
        (OUTPUTS["task"], get_args(CardTask)),
        (INPUT["layout"], get_args(Layout)),
        (OUTPUT["layout"], get_args(Layout)),
        (OUTPUTS["layout"], get_args(Layout)),
        (OUTPUT["scores"], get_args(ScoreKind)),
        (OUTPUTS["scores"], get_args(ScoreKind)),
        (INPUT["colour_order"], get_args(ColourOrder)),
        (DEFS["normalization"]["method"], get_args(Method)),
        (DEFS["step"]["op"], get_args(Op)),
        (DEFS["step"]["dtype"], DTYPES),
        (DEFS["step"]["reference"], get_args(get_type_hints(Step)["reference"])),
        (DEFS["objects"]["method"], get_args(get_type_hints(ObjectRule)["method"])),
        (DEFS["objects"]["landscape"], get_args(get_type_hints(ObjectRule)["landscape"])),
    ],
)
def test_each_word_is_one_that_the_code_knows(part, words):
    assert {word for word in part["enum"] if word is not None} == set(words)


def test_each_operation_has_the_entries_that_the_code_knows():
    rules = {
        rule["if"]["properties"]["op"]["const"]: rule["then"]["propertyNames"]["enum"]
        for rule in SCHEMA["$defs"]["step"]["allOf"]
    }
    assert {op: tuple(names[1:]) for op, names in rules.items()} == dict(ENTRIES)


TEXTS = st.text(max_size=8)
NAMES = st.text("abc_0", min_size=1, max_size=5)
NUMBERS = st.floats(-1e6, 1e6, allow_subnormal=False)
PARTS = st.floats(0, 1)
SIDES = st.lists(st.integers(1, 2048), min_size=2, max_size=3).map(tuple)
COLOURS = st.none() | st.integers(0, 0xFFFFFF).map(lambda number: f"#{number:06x}")
STEPS = st.one_of(
    st.builds(Step, st.just("cast"), dtype=st.sampled_from(DTYPES)),
    st.builds(Step, st.just("binarize"), threshold=st.tuples(NUMBERS)),
    st.builds(Step, st.just("clip"), low=st.floats(-9, 0), high=st.none() | st.floats(0, 9)),
    st.builds(Step, st.just("clip"), low_percentile=st.floats(0, 40)),
    st.builds(
        Step, st.just("scale_linear"), gain=st.tuples(NUMBERS, NUMBERS), offset=st.tuples(NUMBERS)
    ),
    st.sampled_from([Step("sigmoid"), Step("softmax")]),
    st.builds(Step, st.just("standardize"), mean=st.just((1.0, 2.0)), std=st.just((0.5, 3.0))),
    st.builds(
        Step,
        st.just("scale_range"),
        low_percentile=st.floats(0, 40),
        high_percentile=st.floats(60, 100),
        per_channel=st.booleans(),
        eps=st.floats(0, 1),
        reference=st.sampled_from(["", "input"]),
    ),
)
CHAINS = st.lists(STEPS, max_size=3).map(tuple)
CLASSES = st.lists(
    st.builds(ClassInfo, st.integers(0, 65535), TEXTS.filter(bool), COLOURS),
    unique_by=lambda entry: entry.id,
    max_size=3,
).map(lambda found: tuple(sorted(found, key=lambda entry: entry.id)))
RULES = st.none() | st.builds(
    ObjectRule,
    st.sampled_from(["components", "watershed"]),
    st.integers(0, 5),
    st.none() | st.integers(0, 5),
    PARTS,
    PARTS,
    st.integers(0, 99),
    st.sampled_from(["score", "distance"]),
)
NORMALIZATIONS = st.none() | st.one_of(
    st.sampled_from(["none", "unit", "symmetric", "dtype_max"]).map(Normalization),
    st.builds(
        Normalization,
        st.just("percentile"),
        low=st.floats(0, 40),
        high=st.floats(60, 100),
        clip=st.booleans(),
        per_channel=st.booleans(),
    ),
    st.builds(Normalization, st.just("mean_std"), mean=st.just((0.1,)), std=st.just((0.2,))),
    st.builds(Normalization, st.just("steps"), steps=CHAINS.filter(bool)),
)
SUGGESTED = st.none() | st.builds(
    Suggested, SIDES, st.none() | SIDES, st.none() | st.floats(0.1, 0.9)
)
LAYOUTS = st.none() | st.sampled_from(get_args(Layout))
SCORES = st.none() | st.sampled_from(get_args(ScoreKind))
HEAD = {
    "layout": LAYOUTS,
    "scores": SCORES,
    "classes": CLASSES,
    "channels": st.lists(TEXTS, max_size=3).map(tuple),
    "objects": RULES,
    "after": CHAINS,
}
OTHERS = st.lists(
    st.builds(
        HeadHints,
        NAMES,
        name=TEXTS,
        task=st.sampled_from([None, "semantic", "image"]),
        **HEAD,
    ),
    unique_by=lambda head: head.output_name,
    max_size=2,
).map(tuple)
METRICS = st.dictionaries(TEXTS, st.recursive(NUMBERS | TEXTS, st.lists, max_leaves=4), max_size=2)


@st.composite
def descriptions(draw):
    """Return anything that a card can say."""
    meaning = {key: draw(part) for key, part in HEAD.items()}
    layout = meaning.pop("layout")
    return Description(
        **{key: draw(TEXTS) for key in ("name", "title", "description", "licence", "origin")},
        sha256=draw(st.sampled_from(["", "ab" * 32])),
        task=draw(st.sampled_from([None, *get_args(CardTask)])),
        tensors=TensorHints(
            input_name=draw(TEXTS),
            output_name="main",
            input_layout=draw(LAYOUTS),
            output_layout=layout,
            channels=draw(st.none() | st.integers(1, 99)),
        ),
        colour_order=draw(st.sampled_from([None, "RGB", "BGR"])),
        normalization=draw(NORMALIZATIONS),
        head_name=draw(TEXTS),
        others=draw(OTHERS),
        sizing=draw(
            st.none() | st.builds(Sizing, st.integers(1, 9999), st.booleans(), st.integers(1, 64))
        ),
        pixel_size=draw(st.none() | st.tuples(st.floats(0.01, 100), st.sampled_from(["µm", "m"]))),
        suggested=draw(SUGGESTED),
        metrics=draw(METRICS),
        **meaning,
    )


@settings(derandomize=True, max_examples=150, deadline=None)
@given(descriptions())
def test_whatever_is_written_is_valid_and_reads_back_the_same(told):
    text = as_text(as_json(told))
    VALID.validate(json.loads(text))
    assert parse_text(text) == told


VALUES = (
    None,
    True,
    0,
    -1,
    1.5,
    1e9,
    10**30,
    float("inf"),
    "",
    "x",
    "\ud800",
    [],
    [0],
    ["a"],
    {},
    {"x": 1},
)
CHANGED = st.tuples(
    st.integers(0, 400), st.sampled_from(VALUES), st.sampled_from(["set", "drop", "add"])
)


def places(content, path=()):
    """Return the way to every value inside."""
    found = [path] if path else []
    inside = content.items() if isinstance(content, dict) else ()
    inside = enumerate(content) if isinstance(content, list) else inside
    return found + [place for key, value in inside for place in places(value, (*path, key))]


def changed(content, number, value, how):
    """Return a copy with one value set, dropped, or an entry added beside it."""
    content = copy.deepcopy(content)
    found = places(content)
    *way, last = found[number % len(found)]
    owner = content
    for key in way:
        owner = owner[key]
    if how == "set":
        owner[last] = value
    elif how == "drop":
        del owner[last]
    elif isinstance(owner, dict):
        owner[f"{last}s"] = value
    return content


@settings(derandomize=True, max_examples=400, deadline=None)
@given(st.sampled_from([FULL, HEADS]), st.lists(CHANGED, min_size=1, max_size=2))
def test_a_damaged_card_that_is_read_is_valid_and_the_others_are_refused_in_a_sentence(
    card, changes
):
    for change in changes:
        card = changed(card, *change)
    fault = fault_of(card)
    if fault:
        assert re.fullmatch(r"[^\n]{1,600}\.", fault)
    else:
        VALID.validate(card)
        assert as_text(card).encode()


def fault_of(card):
    """Return why a card is refused; nothing when it is read."""
    try:
        parse_description(card)
    except ModelError as error:
        return str(error)
    return ""

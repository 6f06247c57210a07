"""Cards from the command line: started, edited, stated while a model is added."""

import json
from pathlib import Path

import onnx
import pytest

import nets
from foreign import czann, linear, package
from napari_onnxseg.cards import save
from napari_onnxseg.cards.own import own_card_path
from napari_onnxseg.cards.read import load_card
from napari_onnxseg.errors import FileFormatError


@pytest.fixture(autouse=True)
def mine(tmp_path, monkeypatch) -> Path:
    monkeypatch.setenv("ONNXSEG_MODELS", str(tmp_path / "mine"))
    monkeypatch.setenv("ONNXSEG_CACHE", str(tmp_path / "cache"))
    return tmp_path / "mine"


def content(path: Path):
    return json.loads(path.read_text(encoding="utf-8"))


def test_what_is_known_goes_to_output_and_what_is_guessed_to_the_questions(onnxseg, tmp_path):
    nets.two_class(tmp_path / "net.onnx", softmax=True)
    done = onnxseg("models", "describe", "net.onnx")
    card = json.loads(done.stdout)
    assert card["output"]["scores"] == "probabilities"
    assert not {"task", "classes", "normalization"} & {*card, *card["input"]}
    assert 'onnxseg models edit net.onnx \'input.normalization={"method": "unit"}\'' in done.stderr
    assert "a guess" in done.stderr
    assert sorted(p.name for p in tmp_path.iterdir()) == ["net.onnx"]


def test_the_questions_can_be_read_by_a_program_and_answered_as_they_stand(onnxseg, tmp_path):
    path = nets.two_class(tmp_path / "net.onnx")
    told = onnxseg("models", "describe", path, "--json").json
    answers = [f"{q['entry']}={json.dumps(q['assumed'])}" for q in told["questions"]]
    assert {q["entry"] for q in told["questions"]} == {"task", "classes", "input.normalization"}
    assert onnxseg("models", "edit", path, *answers).exit_code == 0
    assert onnxseg("models", "describe", path, "--json").json["questions"] == []
    assert load_card(path).facts["normalization"] == "card"


def test_a_first_card_is_kept_once(onnxseg, tmp_path):
    path = nets.two_class(tmp_path / "net.onnx")
    before = load_card(path)
    assert onnxseg("models", "describe", path, "--write").exit_code == 0
    card = tmp_path / "net.json"
    assert content(card)["$schema"].endswith("card.schema.json")
    assert load_card(path).facts["normalization"] == before.facts["normalization"] == "assumed"
    card.write_text('{"format": 1, "title": "Mine"}')
    refused = onnxseg("models", "describe", path, "--write")
    assert (refused.exit_code, content(card)["title"]) == (2, "Mine")
    assert "--force" in refused.stderr
    assert onnxseg("models", "describe", path, "--write", "--force").exit_code == 0
    assert "$schema" in content(card)


def test_a_first_card_can_be_written_elsewhere(onnxseg, tmp_path):
    path = nets.two_class(tmp_path / "net.onnx")
    assert onnxseg("models", "describe", path, "-o", "there.json").exit_code == 0
    assert content(tmp_path / "there.json")["format"] == 1
    assert onnxseg("models", "describe", path, "-o", "there.json").exit_code == 2
    assert not (tmp_path / "net.json").exists()


def test_in_a_folder_that_is_read_only_the_card_goes_to_the_user(
    onnxseg, tmp_path, mine, monkeypatch
):
    path = nets.two_class(tmp_path / "net.onnx")
    really = save._write

    def refuse(card, place):
        if place.parent == tmp_path:
            raise FileFormatError("read-only")
        really(card, place)

    monkeypatch.setattr(save, "_write", refuse)
    words = onnxseg("models", "describe", path, "--write").stderr
    assert f"The card was written to {mine / 'cards'}" in words
    assert "in your own folder, because none can be kept beside 'net.onnx'" in words


def test_the_card_of_a_bundled_model_goes_to_the_user(onnxseg, mine):
    done = onnxseg("models", "describe", "unet-nuclei", "--write")
    assert "in your own folder, because the model came with the package" in done.stderr
    (card,) = (mine / "cards").iterdir()
    assert content(card)["metrics"]
    assert onnxseg("models", "edit", "unet-nuclei", "title=Ours").exit_code == 0
    assert load_card("unet-nuclei").title == "Ours"


def test_single_entries_are_edited_and_the_change_is_shown(onnxseg, tmp_path):
    path = nets.unet(tmp_path / "net.onnx")
    done = onnxseg(
        "models", "edit", path, "classes.1.name=nucleus", "input.normalization=window:0,9"
    )
    assert done.stdout.splitlines() == [
        'classes.1.name: "class 1" (a guess) -> "nucleus"',
        'input.normalization: {"method": "unit"} (a guess) -> {"method": "window", "high": 9.0}',
    ]
    card = load_card(path)
    assert [entry.name for entry in card.classes] == ["background", "nucleus", "class 2"]
    assert card.normalization.high == 9
    assert card.facts["classes"] == card.facts["normalization"] == "card"
    done = onnxseg("models", "edit", path, "input.normalization.method=unit", "classes=")
    assert content(tmp_path / "net.json")["input"]["normalization"] == {"method": "unit"}
    assert load_card(path).facts["classes"] == "assumed"


@pytest.mark.parametrize(
    ("change", "code", "words"),
    [
        ("classes.1.nam=x", 1, "'nam' is not an entry of 'classes.1' (did you mean 'name'?)"),
        ("input.colour_order=GBR", 1, "'input.colour_order' is \"GBR\"; allowed are RGB, BGR."),
        ("output.name=none", 1, "none"),
        ("title.x=1", 1, "'title' is"),
        ("classes.x.name=1", 1, "There is no 'classes.x.name'; there are 0, 1, 2."),
        ("title", 2, "'title' changes nothing"),
        ("input.normalization=magic", 2, "magic"),
        ("sha256=" + "0" * 64, 1, "is not the file its card describes"),
    ],
)
def test_what_cannot_be_meant_changes_nothing(onnxseg, tmp_path, change, code, words):
    path = nets.unet(tmp_path / "net.onnx", card={"format": 1, "title": "Net"})
    before = (tmp_path / "net.json").read_bytes()
    done = onnxseg("models", "edit", path, "description=x", change)
    assert (done.exit_code, len(done.stderr.splitlines())) == (code, 1)
    assert words in done.stderr
    assert (tmp_path / "net.json").read_bytes() == before


def test_a_fault_takes_a_new_card_away_again(onnxseg, tmp_path):
    path = nets.unet(tmp_path / "net.onnx")
    assert onnxseg("models", "edit", path, "output.name=none").exit_code == 1
    assert not (tmp_path / "net.json").exists()


def test_an_edit_can_be_read_by_a_program_and_keeps_what_no_run_uses(onnxseg, tmp_path):
    free = {"$schema": "here.json", "metrics": {"iou": 0.5}}
    path = nets.unet(tmp_path / "net.onnx", card={"format": 1, **free})
    told = onnxseg("models", "edit", path, "suggested.tile=64", "metrics.dice=0.7", "--json").json
    assert told["changes"][0] == {
        "entry": "suggested.tile", "before": None, "after": [64, 64], "guess": False,
    }  # fmt: skip
    card = content(tmp_path / "net.json")
    assert (card["$schema"], card["metrics"]) == ("here.json", {"iou": 0.5, "dice": 0.7})
    assert load_card(path).suggested.tile == (64, 64)


def test_a_model_is_added_with_what_is_said_of_it(onnxseg, tmp_path, mine):
    path = nets.unet(tmp_path / "net.onnx")
    said = ("--classes", "ground,cell,border", "--normalization", "percentile:1,99")
    done = onnxseg("models", "add", path, *said, "--title", "Cells")
    assert "'net' is ready" in done.stderr
    assert "task semantic (--task)" in done.stderr
    card = load_card("net")
    assert (card.title, card.normalization.low) == ("Cells", 1)
    assert [entry.name for entry in card.classes] == ["ground", "cell", "border"]
    assert not (tmp_path / "net.json").exists()


def test_a_bare_model_is_added_with_the_options_that_state_what_is_guessed(onnxseg, tmp_path):
    done = onnxseg("models", "add", nets.echo(tmp_path / "net.onnx", channels=3))
    assert all(
        option in done.stderr
        for option in ("--normalization", "--classes", "--colour-order", "--task")
    )


def test_options_that_cannot_be_meant_add_nothing(onnxseg, tmp_path, mine):
    path = nets.unet(tmp_path / "net.onnx")
    assert onnxseg("models", "add", path, "--normalization", "magic").exit_code == 2
    assert onnxseg("models", "add", path, "--task", "detect").exit_code == 1
    assert not mine.exists()


@pytest.fixture
def packed(tmp_path) -> Path:
    network = linear(tmp_path / "n.onnx", layout="NHWC", sides=(64, 64))
    return czann(tmp_path / "leaf.czann", network, Classes=["soil", "leaf", "stem", "fruit"])


def test_the_model_inside_a_package_is_checked(onnxseg, packed):
    done = onnxseg("models", "check", packed)
    assert done.exit_code == 0
    assert "WARNING sides-fixed" in done.stdout
    assert "leaf.czann: 1 warning." in done.stdout


def test_a_package_that_is_no_segmentation_is_an_error(onnxseg, tmp_path):
    network = linear(tmp_path / "n.onnx", layout="NHWC", sides=(64, 64))
    path = czann(tmp_path / "a.czann", network, Type="ObjectDetection")
    done = onnxseg("models", "check", path)
    assert done.exit_code == 1
    assert done.stdout.startswith("ERROR package: This ZEISS model is of the type 'ObjectDetect")


def test_a_package_is_mended_to_a_plain_file_that_knows_what_it_was(onnxseg, packed, tmp_path):
    before = packed.read_bytes()
    done = onnxseg("models", "mend", packed, "-o", "free.onnx")
    assert done.exit_code == 0, done.stderr
    assert "embedded the card" in done.stdout
    assert packed.read_bytes() == before
    old, new = load_card(packed), load_card(tmp_path / "free.onnx")
    assert (old.input.sides, new.input.sides) == ((64, 64), (None, None))
    for name in ("classes", "normalization", "colour_order", "suggested", "title"):
        assert getattr(new, name) == getattr(old, name), name
    assert new.facts["classes"] == "metadata"


def test_what_a_card_beside_the_file_says_goes_into_the_mended_copy(onnxseg, tmp_path):
    card = {"format": 1, "title": "Cells", "input": {"normalization": {"method": "symmetric"}}}
    path = nets.unet(tmp_path / "net.onnx", card=card)
    assert onnxseg("models", "mend", path, "-o", "copy.onnx").exit_code == 0
    copy = load_card(tmp_path / "copy.onnx")
    assert (copy.name, copy.title, copy.normalization.method) == ("copy", "Cells", "symmetric")
    assert copy.facts["classes"] == "assumed"


def test_a_damaged_package_is_said_in_a_line(onnxseg, tmp_path):
    path = package(tmp_path / "a.czann", {"model.json": "{}"})
    for verb in (("check",), ("mend", "-o", "b.onnx")):
        done = onnxseg("models", *verb, path)
        assert (done.exit_code, len(done.stderr.splitlines())) == (1, 1)


def test_a_model_of_the_list_is_checked_by_name(onnxseg, tmp_path, mine):
    onnxseg("models", "add", nets.unet(tmp_path / "net.onnx"))
    assert "net.onnx: no errors" in onnxseg("models", "check", "net").stdout
    assert onnxseg("models", "check", "no-such-net").exit_code == 2


def with_weights(path: Path) -> Path:
    """Write a network whose weights lie in a file beside it."""
    model = onnx.load(nets.unet(path))
    onnx.save(model, path, save_as_external_data=True, location="weights.bin", size_threshold=0)
    return path


def test_a_model_is_removed_with_its_cards_and_weights(onnxseg, tmp_path, mine):
    source = tmp_path / "from"
    source.mkdir()
    onnxseg("models", "add", with_weights(source / "net.onnx"), "--title", "Net")
    own = own_card_path(mine, mine / "net.onnx")
    own.parent.mkdir()
    own.write_text('{"format": 1}')
    (mine / "other.json").write_text("{}")
    would = onnxseg("models", "remove", "net", "--dry-run").stdout.splitlines()
    assert (mine / "net.onnx").exists()
    names = {"net.onnx", "net.json", "weights.bin", own.name}
    assert {Path(line.removeprefix("would delete ")).name for line in would} == names
    done = onnxseg("models", "remove", "net", "--yes")
    assert [line.removeprefix("deleted ") for line in done.stdout.splitlines()] == [
        line.removeprefix("would delete ") for line in would
    ]
    assert [path.name for path in mine.rglob("*") if path.is_file()] == ["other.json"]


def test_weights_of_two_models_stay_with_the_other(onnxseg, tmp_path, mine):
    mine.mkdir()
    first = with_weights(mine / "net.onnx")
    (mine / "twin.onnx").write_bytes(first.read_bytes())
    onnxseg("models", "remove", "net", "--yes")
    assert load_card("twin").side_files == ("weights.bin",)


def test_no_model_takes_another_away_by_calling_it_its_weights(onnxseg, tmp_path, mine):
    mine.mkdir()
    other = nets.unet(mine / "other.onnx")
    (mine / "weights.bin").write_bytes(other.read_bytes())
    path = with_weights(mine / "net.onnx")
    model = onnx.load(path, load_external_data=False)
    for tensor in model.graph.initializer:
        for entry in tensor.external_data:
            entry.value = "other.onnx" if entry.key == "location" else entry.value
    path.write_bytes(model.SerializeToString())
    onnxseg("models", "remove", "net", "--yes")
    assert other.exists()
    assert not path.exists()


def test_a_run_says_what_it_guesses_and_which_options_state_it(onnxseg, picture, tmp_path):
    path = nets.two_class(tmp_path / "net.onnx")
    words = ("segment", picture, "-m", path, "-o", "out.png")
    assert "intensities 0..1 by the full range (--normalization)" in onnxseg(*words).stderr
    assert "guessed" not in onnxseg(*words, "--normalization", "unit").stderr
    onnxseg("models", "edit", path, "input.normalization.method=unit")
    assert "guessed" not in onnxseg(*words).stderr
    assert onnxseg(*words, "--json").stderr == ""


def test_what_an_edited_card_contradicts_is_said(onnxseg, tmp_path):
    path = nets.two_class(tmp_path / "a.onnx")
    done = onnxseg("models", "edit", path, "input.layout=NHWC", "classes.5.name=sixth")
    assert done.exit_code == 0
    said = " ".join(done.stderr.split())
    assert "note The description says that the input is NHWC, but the graph shows NCHW" in said
    assert "names 3 classes, the model gives 2" in said
    again = onnxseg("models", "edit", path, "title=New", "--json")
    assert again.json["notes"] == []


def test_commands_that_are_named_can_be_typed_as_they_stand(onnxseg, tmp_path, mine):
    path = nets.two_class(tmp_path / "two words.onnx")
    assert "'onnxseg models edit \"two words\"'" in " ".join(
        onnxseg("models", "add", path).stderr.split()
    )
    shown = " ".join(onnxseg("models", "show", "two words").stderr.split())
    assert "'onnxseg models edit \"two words\" ENTRY=VALUE'" in shown
    assert "'onnxseg models describe \"two words\"'" in shown

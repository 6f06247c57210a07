"""Wheel, sdist and editable install, each in an environment of its own."""

import json
import subprocess
import sys
import sysconfig
import tarfile
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]

pytestmark = [pytest.mark.slow, pytest.mark.timeout(600)]

EXAMINE = """
import json, sys
import napari_onnxseg
from npe2 import PluginManifest
manifest = PluginManifest.from_distribution("napari-onnxseg")
models = [napari_onnxseg.load_card(found.name) for found in napari_onnxseg.list_models()]
print(json.dumps({
    "package": napari_onnxseg.__file__,
    "commands": [command.id for command in manifest.contributions.commands],
    "models": {card.name: str(card.path) for card in models},
}))
"""


def call(*words: object, cwd: Path) -> str:
    """Run a command and return its output; a failure shows everything it said."""
    done = subprocess.run(
        [str(word) for word in words], cwd=cwd, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, f"{words}\n{done.stdout}\n{done.stderr}"
    return done.stdout


@pytest.fixture(scope="module")
def distributions(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """Return an sdist of the working tree, and the wheel that was built from that sdist."""
    out = tmp_path_factory.mktemp("dist")
    call(sys.executable, "-m", "build", "--no-isolation", "--outdir", out, ROOT, cwd=out)
    return next(out.glob("*.tar.gz")), next(out.glob("*.whl"))


@pytest.fixture
def environment(tmp_path: Path) -> Path:
    """Return a new environment that has our dependencies but not our package.

    A path file lends it the packages of the running environment, which saves a download of
    several hundred megabytes. Path files inside a lent folder are not followed, so that an
    editable install of this package over there stays unseen.
    """
    call(sys.executable, "-m", "venv", "--without-pip", "env", cwd=tmp_path)
    folder = tmp_path / "env"
    place = sysconfig.get_path("purelib", "venv", {"base": str(folder)})
    Path(place, "lent.pth").write_text(sysconfig.get_path("purelib") + "\n")
    return folder


def install(environment: Path, *what: object) -> None:
    """Install into the environment, building with the lent hatchling."""
    python = program(environment, "python")
    flags = ("--quiet", "--no-deps", "--no-index", "--no-build-isolation", "--ignore-installed")
    call(python, "-m", "pip", "install", *flags, *what, cwd=environment)


def program(environment: Path, name: str) -> Path:
    """Return the path of a program of the environment."""
    return Path(sysconfig.get_path("scripts", "venv", {"base": str(environment)}), name)


def examined(environment: Path) -> dict[str, object]:
    """Return what the installed package says of itself; run outside the repository."""
    return json.loads(call(program(environment, "python"), "-c", EXAMINE, cwd=environment))


def works(environment: Path, home: Path) -> None:
    """Check manifest, models and command line of an install that lives under ``home``."""
    found = examined(environment)
    assert Path(found["package"]).is_relative_to(home)
    assert found["commands"]
    assert "u2netp" in found["models"]
    assert all(Path(path).is_relative_to(home) for path in found["models"].values())
    models = Path(found["models"]["u2netp"]).parent
    photograph, out = models / "samples" / "photograph.jpg", environment / "cut.png"
    words = ("matte", photograph, "-o", out, "--device", "cpu")
    call(program(environment, "onnxseg"), *words, cwd=environment)
    assert out.stat().st_size > 0


def test_a_wheel_brings_manifest_models_and_command(
    environment: Path, distributions: tuple[Path, Path]
) -> None:
    install(environment, distributions[1])
    works(environment, home=environment)


def test_an_sdist_brings_manifest_models_and_command(
    environment: Path, distributions: tuple[Path, Path]
) -> None:
    install(environment, distributions[0])
    works(environment, home=environment)


def test_an_editable_install_finds_manifest_and_models_in_the_repository(environment: Path) -> None:
    install(environment, "--editable", ROOT)
    works(environment, home=ROOT)


def test_the_wheel_holds_models_and_none_of_their_making(distributions: tuple[Path, Path]) -> None:
    names = wheel_names(distributions[1])
    wanted = {"napari.yaml", "py.typed", "models/LICENCES.md", "models/u2netp.onnx"}
    wanted |= {"models/card.schema.json"}
    wanted |= {"models/u2netp.json", "models/samples/nuclei.png", "models/samples/photograph.jpg"}
    assert {f"napari_onnxseg/{name}" for name in wanted} <= names
    assert any(name.startswith("napari_onnxseg/models/licences/") for name in names)
    assert not [name for name in names if "recipes" in name or "reports" in name]


def test_every_model_in_the_wheel_has_its_card(distributions: tuple[Path, Path]) -> None:
    names = wheel_names(distributions[1])
    models = {name for name in names if name.endswith(".onnx")}
    assert models
    assert {name.removesuffix(".onnx") + ".json" for name in models} <= names


def test_the_wheel_is_the_same_from_sdist_and_from_the_working_tree(
    distributions: tuple[Path, Path], tmp_path: Path
) -> None:
    call(sys.executable, "-m", "build", "--no-isolation", "-w", "-o", tmp_path, ROOT, cwd=tmp_path)
    direct = next(tmp_path.glob("*.whl"))
    assert contents(direct) == contents(distributions[1])


def test_the_sdist_is_complete_enough_to_test_and_to_retrain(
    distributions: tuple[Path, Path],
) -> None:
    with tarfile.open(distributions[0]) as archive:
        names = {name.partition("/")[2] for name in archive.getnames()}
    wanted = ("Makefile", "models/recipes/u2netp.py", "tests/packaging/test_distributions.py")
    assert names.issuperset(wanted)


def test_the_base_install_names_no_qt_binding_and_no_torch(
    distributions: tuple[Path, Path],
) -> None:
    with zipfile.ZipFile(distributions[1]) as archive:
        name = next(n for n in archive.namelist() if n.endswith("/METADATA"))
        lines = archive.read(name).decode().splitlines()
    needed = [
        line for line in lines if line.startswith("Requires-Dist:") and "extra ==" not in line
    ]
    assert needed
    assert not [line for line in needed if "pyqt" in line.lower() or "pyside" in line.lower()]
    assert not [line for line in needed if "torch" in line or "napari[" in line]


def wheel_names(wheel: Path) -> set[str]:
    """Return the files of a wheel."""
    with zipfile.ZipFile(wheel) as archive:
        return set(archive.namelist())


def contents(wheel: Path) -> dict[str, int]:
    """Return the checksum of every file of a wheel."""
    with zipfile.ZipFile(wheel) as archive:
        return {info.filename: info.CRC for info in archive.infolist()}

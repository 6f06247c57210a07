"""Runs where rembg is installed: its mask, what it feeds the network, and what comes back."""

import json
import os
import sys
import time
from importlib.metadata import version
from pathlib import Path

import numpy as np
from PIL import Image

folder = Path(sys.argv[1])
request = json.loads((folder / "request.json").read_text())
os.environ["U2NET_HOME"] = request["home"]  # models are found here and nothing is fetched

import onnxruntime as ort  # noqa: E402
from rembg.sessions import sessions  # noqa: E402

options = ort.SessionOptions()
options.intra_op_num_threads = request["threads"]
session = sessions[request["session"]](
    request["session"], options, providers=["CPUExecutionProvider"]
)

picture = Image.fromarray(np.load(request["picture"]))
fed = {}
normalize = session.normalize


def remember(*args, **kwargs):
    """Keep what the network is fed."""
    fed.update(normalize(*args, **kwargs))
    return fed


session.normalize = remember
masks = session.predict(picture)
np.save(folder / "out-mask.npy", np.stack([np.asarray(mask) for mask in masks]))
tensor = next(iter(fed.values()))
np.save(folder / "out-fed.npy", tensor)
np.save(folder / "out-raw.npy", session.inner_session.run(None, fed)[0])
seconds = []
for _ in range(request["rounds"]):
    begin = time.perf_counter()
    session.predict(picture)
    seconds.append(round(time.perf_counter() - begin, 4))
answer = {"tool": f"rembg {version('rembg')}", "seconds": seconds}
(folder / "answer.json").write_text(json.dumps(answer))

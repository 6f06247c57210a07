"""Runs where transformers is installed: what its image processor makes of a picture."""

import json
import sys
from importlib.metadata import version
from pathlib import Path

import numpy as np
from transformers import SegformerImageProcessor

folder = Path(sys.argv[1])
request = json.loads((folder / "request.json").read_text())
processor = SegformerImageProcessor.from_pretrained(request["model"])
made = processor(np.load(request["picture"]), return_tensors="np")
np.save(folder / "out-fed.npy", made["pixel_values"])
answer = {"tool": f"transformers {version('transformers')}"}
(folder / "answer.json").write_text(json.dumps(answer))

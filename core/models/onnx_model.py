"""Models from a folder with ``tokenizer.json`` and ``model.onnx``, in onnxruntime: rerankers and embedding models."""

from __future__ import annotations

import hashlib
import json
import os
import sys
import threading
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from braid.core.errors import InvalidInputError, ModelError

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from braid.core.vector import Vector

    Mask = NDArray[np.int64]
    """(n, tokens): 1 where a text has a token, 0 where it is padded."""

MAX_TOKENS = 512
"""Tokens of a text, or of a query with a passage, unless the tokenizer's own limit is lower; the rest is left out."""
BATCH = 8
"""Texts that are computed together."""
MAX_CONFIG_BYTES = 1_000_000
HASHED_BYTES = 1 << 20
Pooling = Literal["mean", "cls", "last"]
Texts = Sequence[str] | Sequence[tuple[str, str]]


class OnnxModel:
    """A model in a folder, loaded at its first use. Safe to use from several threads.

    Each batch is computed by one thread; a call with several batches uses as many as there are processors.
    Raises InvalidInputError where the folder lacks a file or the model has inputs that no tokenizer gives.
    """

    def __init__(self, folder: str) -> None:
        self.folder = Path(folder)
        self._lock = threading.Lock()
        self._loaded: tuple[Any, Any, tuple[str, ...]] | None = None

    def digest(self) -> str:
        """Return twelve hexadecimal digits that change with the model or its tokenizer."""
        found = hashlib.sha256()
        for name in ("tokenizer.json", "model.onnx"):
            with self._path(name).open("rb") as file:
                while piece := file.read(HASHED_BYTES):
                    found.update(piece)
        return found.hexdigest()[:12]

    def config(self, name: str) -> dict[str, Any]:
        """Return a file of settings in the folder; empty where there is none. Raises InvalidInputError."""
        path = self.folder / name
        if not path.is_file():
            return {}
        try:
            if path.stat().st_size > MAX_CONFIG_BYTES:
                raise ValueError("it is too long")
            read = json.loads(path.read_text("utf-8"))
        except ValueError as error:
            raise InvalidInputError(f"{path} is not the settings of a model: {error}", field="model") from None
        return read if isinstance(read, dict) else {}

    def scores(self, query: str, texts: Sequence[str]) -> list[float]:
        """Return one score per text: the logit of a cross-encoder, or that of "relevant" less that of "irrelevant"."""
        if not texts:
            return []
        outputs = self._outputs([(query, text) for text in texts], lambda output, mask: output)
        labels = outputs.reshape(len(texts), -1)
        if labels.shape[1] not in (1, 2):
            message = f"{self.folder} gives {labels.shape[1]} values per pair; a cross-encoder gives 1 or 2"
            raise InvalidInputError(message, field="reranker")
        scores = labels[:, 0] if labels.shape[1] == 1 else labels[:, 1] - labels[:, 0]
        return [float(score) for score in scores]

    def embed(self, texts: Sequence[str], pooling: Pooling) -> Vector:
        """Return (n, dim) float32, not yet of unit length. A model that pools itself is taken as it is."""
        return self._outputs(texts, lambda output, mask: _pooled(output, mask, pooling))

    def _outputs(self, texts: Texts, finish: Callable[[Vector, Mask], Vector]) -> Vector:
        import numpy as np

        tokenizer, session, names = self._model()
        batches = [texts[start : start + BATCH] for start in range(0, len(texts), BATCH)]

        def run(batch: Texts) -> Vector:
            encoded = tokenizer.encode_batch(list(batch))
            mask = np.array([each.attention_mask for each in encoded], np.int64)
            given = {
                "input_ids": np.array([each.ids for each in encoded], np.int64),
                "attention_mask": mask,
                "token_type_ids": np.array([each.type_ids for each in encoded], np.int64),
            }
            (output,) = session.run([session.get_outputs()[0].name], {name: given[name] for name in names})
            return np.asarray(finish(np.asarray(output, np.float32), mask), np.float32)

        threads = min(len(batches), _processors())
        if threads < 2:
            return np.concatenate([run(batch) for batch in batches])
        with ThreadPoolExecutor(threads, "braid-onnx") as executor:
            return np.concatenate(list(executor.map(run, batches)))

    def _model(self) -> tuple[Any, Any, tuple[str, ...]]:
        with self._lock:
            if self._loaded is None:
                self._loaded = self._load()
            return self._loaded

    def _load(self) -> tuple[Any, Any, tuple[str, ...]]:
        try:
            import onnxruntime
            from tokenizers import Tokenizer
        except ImportError as error:
            message = f"the model in {self.folder} needs packages: pip install onnxruntime tokenizers ({error})"
            raise ModelError(message) from error

        tokenizer = Tokenizer.from_file(str(self._path("tokenizer.json")))
        limit = self.config("tokenizer_config.json").get("model_max_length")
        longest = min(MAX_TOKENS, limit) if isinstance(limit, int) and limit > 0 else MAX_TOKENS
        tokenizer.enable_truncation(longest)
        tokenizer.enable_padding(**_padding(tokenizer))
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = 1
        session = onnxruntime.InferenceSession(
            str(self._path("model.onnx")), options, providers=["CPUExecutionProvider"]
        )
        names = tuple(each.name for each in session.get_inputs())
        if unknown := set(names) - {"input_ids", "attention_mask", "token_type_ids"}:
            raise InvalidInputError(
                f"the model in {self.folder} wants the input {min(unknown)!r}; only encoders with input_ids, "
                "attention_mask and token_type_ids can be used",
                field="model",
            )
        return tokenizer, session, names

    def _path(self, name: str) -> Path:
        path = self.folder / name
        if not path.is_file():
            raise InvalidInputError(
                f"there is no {name} in {self.folder}; give a folder that has tokenizer.json and model.onnx",
                field="model",
            )
        return path


def _padding(tokenizer: Any) -> dict[str, Any]:
    """Return the padding of the tokenizer's file, else that of a token which the vocabulary has for it."""
    if own := tokenizer.padding:
        return {**own, "length": None, "pad_to_multiple_of": None}
    for token in ("<pad>", "[PAD]", "<|endoftext|>"):
        if (number := tokenizer.token_to_id(token)) is not None:
            return {"pad_id": number, "pad_token": token}
    return {}


def _pooled(output: Vector, mask: Mask, pooling: Pooling) -> Vector:
    import numpy as np

    if output.ndim == 2:
        return output
    if pooling == "cls":
        return np.asarray(output[:, 0], np.float32)
    if pooling == "last":
        return np.asarray(output[np.arange(len(output)), mask.sum(axis=1) - 1], np.float32)
    weights = mask[:, :, None].astype(np.float32)
    mean: Vector = (output * weights).sum(axis=1) / np.maximum(weights.sum(axis=1), 1.0)
    return mean


def _processors() -> int:
    """Count the processors that this process may use."""
    return len(os.sched_getaffinity(0)) if sys.platform == "linux" else os.cpu_count() or 1

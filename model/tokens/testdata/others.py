"""Small vocabularies that tiktoken and sentencepiece train, and what these make of texts.

python others.py | gzip -9n >others.json.gz
"""

from __future__ import annotations

import base64
import io
import json
import random
import sys
import unicodedata
from typing import Any

import sentencepiece
import tiktoken
from tiktoken._educational import bpe_train
from tiktoken_ext import openai_public

CORPUS = [
    "The quick brown fox jumps over the lazy dog, don't you think? It's 12345 o'clock!",
    "In mathematics, a transform is a function that maps a set to itself; 3.14 and 2,718.",
    "Ça va très bien, merci. Über die Brücke gehen. Ελλάδα 東京は日本の首都です。 привет мир",
    "def f(x):\n    return [x * 2 for x in range(10)]  # camelCase HTTPServer snake_case",
    "we were where when who what why how these those then there that this they them the",
]
RANGES = [(32, 126)] * 6 + [(9, 13), (32, 32), (32, 32), (0xA0, 0x17F), (0x300, 0x36F)]
RANGES += [(0x370, 0x5FF), (0x900, 0x97F), (0x2000, 0x206F), (0x3000, 0x30FF), (0x4E00, 0x4FFF)]
RANGES += [(0xAC00, 0xAD00), (0xFF00, 0xFFEF), (0x1F300, 0x1F6FF), (0x1D400, 0x1D7FF)]
WORDS = [
    "don't I'LL WE'VE '\u017f",
    "hello  world\n\n  \t x",
    "1234567 3.14",
    "<mask> <|end|>",
    "▁",
    "  ",
    "",
]
MODELS: list[dict[str, Any]] = [
    {"model_type": "unigram"},
    {"model_type": "unigram", "normalization_rule_name": "identity", "byte_fallback": True},
    {"model_type": "unigram", "normalization_rule_name": "identity", "add_dummy_prefix": False},
    {
        "model_type": "unigram",
        "normalization_rule_name": "identity",
        "user_defined_symbols": ["<mask>", "the q"],
    },
    {"model_type": "bpe", "normalization_rule_name": "identity", "byte_fallback": True},
    {
        "model_type": "bpe",
        "normalization_rule_name": "identity",
        "treat_whitespace_as_suffix": True,
    },
    {
        "model_type": "bpe",
        "normalization_rule_name": "identity",
        "user_defined_symbols": ["<mask>", "the q"],
        "remove_extra_whitespaces": False,
        "split_by_whitespace": False,
    },
]
EXPRESSIONS = ("r50k_base", "cl100k_base", "o200k_base")


def texts(n: int) -> list[str]:
    """Return random texts of characters that all versions of Unicode know."""
    draw = random.Random(1)
    out = []
    for _ in range(n):
        parts = []
        for _ in range(draw.randrange(12)):
            word = chr(draw.randint(*draw.choice(RANGES)))
            if draw.random() < 0.3:
                word = draw.choice(WORDS + CORPUS[0].split())
            if unicodedata.category(word[:1] or " ") != "Cn":
                parts.append(word)
        out.append("".join(parts))
    return out + CORPUS


def main() -> None:
    """Write the cases."""
    encodings = []
    openai_public.load_tiktoken_bpe = lambda *_, **__: {}
    for name in EXPRESSIONS:
        expression = openai_public.ENCODING_CONSTRUCTORS[name]()["pat_str"]
        ranks = bpe_train("\n".join(CORPUS), 400, expression, visualise=None)
        encoding = tiktoken.Encoding(
            name, pat_str=expression, mergeable_ranks=ranks, special_tokens={"<|end|>": 400}
        )
        rows = [
            (
                t,
                encoding.encode(t, disallowed_special=()),
                encoding.encode(t, allowed_special="all"),
            )
            for t in texts(200)
        ]
        lines = "".join(f"{base64.b64encode(b).decode()} {rank}\n" for b, rank in ranks.items())
        encodings.append({"name": name, "ranks": lines, "texts": rows})
    models = []
    for options in MODELS:
        file = io.BytesIO()
        sentencepiece.SentencePieceTrainer.train(
            sentence_iterator=iter(CORPUS * 3),
            model_writer=file,
            vocab_size=420,
            hard_vocab_limit=False,
            minloglevel=2,
            **options,
        )
        model = sentencepiece.SentencePieceProcessor(model_proto=file.getvalue())
        rows = [(t, model.encode(t), model.decode(model.encode(t))) for t in texts(200)]
        models.append(
            {"options": options, "model": base64.b64encode(file.getvalue()).decode(), "texts": rows}
        )
    json.dump({"encodings": encodings, "models": models}, sys.stdout)


if __name__ == "__main__":
    main()

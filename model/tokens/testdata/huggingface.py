"""Small tokenizers that the package tokenizers trains, and what it makes of texts.

python huggingface.py | gzip -9n >huggingface.json.gz
"""

from __future__ import annotations

import json
import sys
from typing import Any

from tokenizers import (
    AddedToken,
    Regex,
    Tokenizer,
    decoders,
    models,
    normalizers,
    pre_tokenizers,
    processors,
    trainers,
)

CORPUS = [
    "The quick brown fox jumps over the lazy dog, don't you think? It's 12345 o'clock!",
    "In mathematics, a transform is a function that maps a set to itself; 3.14 and 2,718.",
    "Ça va très bien, merci. Über die Brücke gehen. Ελλάδα 東京は日本の首都です。 привет мир",
    "def f(x):\n    return x ** 2 + 1\n\n\tprint(f(10))  # squares",
    "lower lowest newer newest wider widest unlikely unhappiness running runner",
]
TEXTS = [
    "",
    " ",
    "Hello, world!",
    "  two  spaces\tand tabs\n\nlines  ",
    "don't they've I'M WE'LL it's",
    "naïve café Ça İstanbul ﬁne ½ Å",
    "東京 and 日本語のテキスト",
    "1234567 3.14159 x=42",
    "emoji 😀👍🏽 here",
    "[CLS] special <s>tokens</s> <mask> in<mask>side &SIDE  [MASK]",
    "unhappiest lowering newerish",
    "def g(y):\n    return y - 1",
    "\u200bzero\u00a0width \ufffd \x07bell",
    "A" * 30 + " " + "ab" * 20,
    "...!!! --- ___ (a)[b]{c}",
]


def trained(
    model: Any,
    trainer: Any,
    normalizer: Any = None,
    pre: Any = None,
    post: Any = None,
    decoder: Any = None,
    added: Any = (),
) -> Tokenizer:
    t = Tokenizer(model)
    if normalizer is not None:
        t.normalizer = normalizer
    if pre is not None:
        t.pre_tokenizer = pre
    t.train_from_iterator(CORPUS, trainer)
    for token in added:
        (t.add_special_tokens if token.special else t.add_tokens)([token])
    if post is not None:
        t.post_processor = post(t)
    if decoder is not None:
        t.decoder = decoder
    return t


def template(first: str, last: str | None) -> Any:
    def make(t: Tokenizer) -> Any:
        names = [n for n in (first, last) if n]
        return processors.TemplateProcessing(
            single=f"{first} $A" + (f" {last}" if last else ""),
            special_tokens=[(n, t.token_to_id(n)) for n in names],
        )

    return make


def bpe(**options: Any) -> Any:
    return trainers.BpeTrainer(vocab_size=330, show_progress=False, **options)


BYTES = pre_tokenizers.ByteLevel.alphabet()
SPECIAL = ["<unk>", "<s>", "</s>", "<mask>"]
LLAMA3 = (
    r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*"
    r"|\s*[\r\n]+|\s+(?!\S)|\s+"
)
N, P, D = normalizers, pre_tokenizers, decoders


def cases() -> dict[str, Tokenizer]:
    mask = AddedToken("<mask>", lstrip=True, special=True)
    found = {
        "gpt2": trained(
            models.BPE(),
            bpe(initial_alphabet=BYTES, special_tokens=["<s>"]),
            pre=P.ByteLevel(add_prefix_space=False),
            decoder=D.ByteLevel(),
        ),
        "roberta": trained(
            models.BPE(),
            bpe(initial_alphabet=BYTES, special_tokens=SPECIAL),
            pre=P.ByteLevel(add_prefix_space=True),
            post=lambda t: processors.RobertaProcessing(("</s>", 2), ("<s>", 1)),
            decoder=D.ByteLevel(),
            added=[mask],
        ),
        "llama3": trained(
            models.BPE(ignore_merges=True),
            bpe(initial_alphabet=BYTES, special_tokens=["<s>"]),
            pre=P.Sequence(
                [
                    P.Split(Regex(LLAMA3), "isolated"),
                    P.ByteLevel(add_prefix_space=False, use_regex=False),
                ]
            ),
            post=template("<s>", None),
            decoder=D.ByteLevel(),
        ),
        "llama": trained(
            models.BPE(byte_fallback=True, fuse_unk=True, unk_token="<unk>"),
            bpe(special_tokens=["<unk>", "<s>", "</s>", *(f"<0x{b:02X}>" for b in range(256))]),
            normalizer=N.Sequence([N.Prepend("▁"), N.Replace(" ", "▁")]),
            post=template("<s>", None),
            decoder=D.Sequence(
                [D.Replace("▁", " "), D.ByteFallback(), D.Fuse(), D.Strip(" ", 1, 0)]
            ),
        ),
        "bert": trained(
            models.WordPiece(unk_token="[UNK]", max_input_chars_per_word=20),
            trainers.WordPieceTrainer(
                vocab_size=300,
                show_progress=False,
                special_tokens=["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"],
            ),
            normalizer=N.BertNormalizer(lowercase=True),
            pre=P.BertPreTokenizer(),
            post=lambda t: processors.BertProcessing(("[SEP]", 3), ("[CLS]", 2)),
            decoder=D.WordPiece(),
        ),
        "bert cased": trained(
            models.WordPiece(unk_token="[UNK]"),
            trainers.WordPieceTrainer(
                vocab_size=300, show_progress=False, special_tokens=["[UNK]", "[CLS]"]
            ),
            normalizer=N.BertNormalizer(lowercase=False, strip_accents=False),
            pre=P.BertPreTokenizer(),
            post=template("[CLS]", None),
            decoder=D.WordPiece(cleanup=False),
        ),
        "t5": trained(
            models.Unigram(),
            trainers.UnigramTrainer(
                vocab_size=200, show_progress=False, special_tokens=SPECIAL, unk_token="<unk>"
            ),
            normalizer=N.Sequence([N.NFKC(), N.Replace(Regex(" {2,}"), " ")]),
            pre=P.Metaspace(),
            post=template("<s>", "</s>"),
            decoder=D.Metaspace(),
        ),
        "clip": trained(
            models.BPE(unk_token="<unk>", end_of_word_suffix="</w>"),
            bpe(special_tokens=SPECIAL, end_of_word_suffix="</w>"),
            normalizer=N.Sequence([N.NFC(), N.Replace(Regex(r"\s+"), " "), N.Lowercase()]),
            pre=P.Sequence(
                [P.Split(Regex(r"'s|'t|[\p{L}]+|[\p{N}]|[^\s\p{L}\p{N}]+"), "removed", invert=True)]
            ),
            post=template("<s>", "</s>"),
            decoder=D.BPEDecoder(),
        ),
        "words": trained(
            models.WordLevel(unk_token="<unk>"),
            trainers.WordLevelTrainer(vocab_size=100, show_progress=False, special_tokens=SPECIAL),
            normalizer=N.Sequence([N.NFD(), N.StripAccents(), N.Strip()]),
            pre=P.Whitespace(),
        ),
        "prefix": trained(
            models.BPE(unk_token="<unk>", continuing_subword_prefix="##", fuse_unk=True),
            bpe(special_tokens=SPECIAL, continuing_subword_prefix="##"),
            pre=P.WhitespaceSplit(),
            decoder=D.WordPiece(),
        ),
        "added": trained(
            models.BPE(unk_token="<unk>"),
            bpe(special_tokens=["<unk>"]),
            normalizer=N.Lowercase(),
            pre=P.Metaspace(prepend_scheme="first"),
            decoder=D.Metaspace(prepend_scheme="first"),
            added=[
                AddedToken("&side", normalized=True, rstrip=True),
                AddedToken("<mask>", special=True, single_word=True),
                AddedToken("world", single_word=True, normalized=True),
                AddedToken("<s>", lstrip=True, rstrip=True, special=True),
            ],
        ),
    }
    for behavior in (
        "removed",
        "isolated",
        "merged_with_previous",
        "merged_with_next",
        "contiguous",
    ):
        found[f"split {behavior}"] = trained(
            models.BPE(unk_token="<unk>"),
            bpe(special_tokens=["<unk>"]),
            pre=P.Sequence(
                [P.Split(Regex("[ae\\-!.]"), behavior), P.Punctuation(behavior), P.Digits(True)]
            ),
            decoder=D.Fuse(),
        )
    for name, pre in {
        "digits": P.Digits(individual_digits=False),
        "delimiter": P.CharDelimiterSplit("o"),
        "fixed length": P.FixedLength(length=3),
        "scripts": P.UnicodeScripts(),
        "metaspace never": P.Metaspace(prepend_scheme="never", split=False),
    }.items():
        found[name] = trained(models.BPE(unk_token="<unk>"), bpe(special_tokens=["<unk>"]), pre=pre)
    return found


SHAPED = ("bert", "roberta", "gpt2", "t5")


def shaped(t: Tokenizer) -> list[Any]:
    """Return batches of texts and pairs that are cut off and padded: options, texts, tokens."""
    pairs = [[a, b] for a, b in zip(TEXTS, TEXTS[3:])]
    rows: list[Any] = []
    settings = [
        (most, strategy, direction)
        for most in (4, 9, 20)
        for strategy in ("longest_first", "only_first", "only_second")
        for direction in ("right", "left")
    ]
    for most, strategy, direction in settings:
        for batch in (TEXTS, pairs):
            for length in (None, 12):
                pad = {"pad_id": 3, "length": length, "direction": direction}
                t.enable_padding(**pad, pad_to_multiple_of=8 if most == 9 else None)
                t.enable_truncation(most, strategy=strategy, direction=direction)
                found = json.loads(t.to_str())
                given = {key: found[key] for key in ("truncation", "padding")}
                try:
                    ids = [
                        e.ids
                        for e in t.encode_batch(
                            [tuple(b) for b in batch] if batch is pairs else batch
                        )
                    ]
                except Exception:
                    ids = None
                rows.append([given, [b if batch is pairs else [b] for b in batch], ids])
    t.no_padding()
    t.no_truncation()
    return rows


def main() -> None:
    """Write the cases."""
    out = []
    for name, t in cases().items():
        rows = []
        for text in TEXTS:
            ids = t.encode(text).ids
            plain = t.encode(text, add_special_tokens=False).ids
            rows.append(
                [
                    text,
                    ids,
                    plain,
                    t.decode(ids),
                    t.decode(ids, skip_special_tokens=False),
                ]
            )
        case = {"name": name, "file": json.loads(t.to_str()), "texts": rows}
        if name in SHAPED:
            case["shaped"] = shaped(t)
        out.append(case)
    json.dump(out, sys.stdout, ensure_ascii=False, separators=(",", ":"))
    print()


if __name__ == "__main__":
    main()

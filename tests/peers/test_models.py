"""Language models against transformers, on the same random weights."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
import transformers

from polygrad.hf import Generator, generate, load_hf

VOCAB, ROOM = 101, 96
ROTARY = {
    "vocab_size": VOCAB,
    "hidden_size": 64,
    "intermediate_size": 112,
    "num_hidden_layers": 3,
    "num_attention_heads": 8,
    "num_key_value_heads": 2,
    "max_position_embeddings": ROOM,
}
LLAMA3 = {
    "rope_type": "llama3",
    "factor": 8.0,
    "low_freq_factor": 1.0,
    "high_freq_factor": 4.0,
    "original_max_position_embeddings": 32,
}
# name: (class of the configuration, class of the model, options)
MODELS: dict[str, tuple[str, str, dict[str, Any]]] = {
    "gpt2": (
        "GPT2Config",
        "GPT2LMHeadModel",
        {"vocab_size": VOCAB, "n_embd": 48, "n_head": 4, "n_layer": 3, "n_positions": ROOM},
    ),
    "gpt2 of another activation": (
        "GPT2Config",
        "GPT2LMHeadModel",
        {
            "vocab_size": VOCAB,
            "n_embd": 48,
            "n_head": 3,
            "n_layer": 2,
            "n_positions": ROOM,
            "n_inner": 80,
            "activation_function": "gelu",
        },
    ),
    "llama": ("LlamaConfig", "LlamaForCausalLM", ROTARY),
    "llama3": (
        "LlamaConfig",
        "LlamaForCausalLM",
        {**ROTARY, "rope_theta": 500000.0, "rope_scaling": LLAMA3, "tie_word_embeddings": True},
    ),
    "llama of linear scaling": (
        "LlamaConfig",
        "LlamaForCausalLM",
        {
            **ROTARY,
            "rope_scaling": {"rope_type": "linear", "factor": 2.0},
            "attention_bias": True,
            "mlp_bias": True,
            "head_dim": 12,
        },
    ),
    "mistral": ("MistralConfig", "MistralForCausalLM", {**ROTARY, "sliding_window": 16}),
    "qwen2": ("Qwen2Config", "Qwen2ForCausalLM", {**ROTARY, "tie_word_embeddings": True}),
    "qwen3": ("Qwen3Config", "Qwen3ForCausalLM", {**ROTARY, "head_dim": 16}),
}
# Types of files. The peer computes with the same numbers in float32.
DTYPES = ("float32", "bfloat16", "float16")
TOLERANCE = 1e-4


def make(name: str) -> Any:
    """Return a model with random weights, larger than the initial ones, so that tokens differ."""
    config, model, options = MODELS[name]
    torch.manual_seed(len(name))
    made = getattr(transformers, model)(
        getattr(transformers, config)(**options, attn_implementation="eager")
    )
    return shaken(made)


def shaken(model: Any) -> Any:
    """Return a model whose parameters are all random, biases and norms too."""
    for weight in model.parameters():
        weight.data += torch.randn_like(weight) * (0.1 if weight.ndim == 1 else 0.2)
    return model.float().eval()


def logits_of(model: Any, tokens: Any) -> Any:
    with torch.no_grad():
        return model(torch.tensor(tokens)).logits.numpy()


def save(model: Any, folder: Path, dtype: str, shards: bool = False) -> None:
    """Write a model in a type, and keep in memory what was written."""
    kind = getattr(torch, dtype)
    for weight in model.parameters():  # not the buffers: rates of rotary positions stay float32
        weight.data = weight.data.to(kind)
    model.save_pretrained(folder, max_shard_size="50KB" if shards else "1GB")
    for weight in model.parameters():
        weight.data = weight.data.float()


def check(got: Any, want: Any, tolerance: float) -> None:
    scale = max(1.0, float(np.abs(want).max()))
    assert np.abs(got - want).max() <= tolerance * scale


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("name", MODELS)
def test_logits(name: str, dtype: str, tmp_path: Path) -> None:
    model = make(name)
    shards = dtype == "bfloat16"
    save(model, tmp_path, dtype, shards)
    assert (len(list(tmp_path.glob("*.safetensors"))) > 1) == shards
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        inst = load_hf(tmp_path, max_batch=2)
    tokens = np.random.default_rng(1).integers(0, VOCAB, (2, ROOM))
    want = logits_of(model, tokens)
    check(inst.forward(x=tokens)["output"], want, TOLERANCE)
    rows = Generator(inst, 2)
    rows.feed(tokens[:, :40])
    check(rows.logits, want[:, 39], TOLERANCE)
    for i in range(40, 60):
        rows.feed(tokens[:, i : i + 1])
        check(rows.logits, want[:, i], TOLERANCE)


@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "int8"])
@pytest.mark.parametrize("name", ["gpt2", "llama3", "qwen2"])
def test_weights_of_other_types(name: str, dtype: str, tmp_path: Path) -> None:
    model = make(name)
    save(model, tmp_path, "float32" if dtype == "int8" else dtype)
    inst = load_hf(tmp_path, dtype=dtype)
    tokens = np.random.default_rng(1).integers(0, VOCAB, (1, 30))
    if dtype == "int8":  # the peer with the rounded weights
        for key, weight in model.named_parameters():
            if weight.ndim == 2 and "wpe" not in key:
                columns = name == "gpt2" and "wte" not in key
                w = weight.data.T if columns else weight.data
                scale = w.abs().amax(1, keepdim=True) / 127
                rounded = torch.round(w / scale) * scale
                weight.data = rounded.T if columns else rounded
    check(inst.forward(x=tokens)["output"][:, :30], logits_of(model, tokens), 2e-4)


@pytest.mark.parametrize("name", MODELS)
def test_greedy(name: str, tmp_path: Path) -> None:
    model = make(name)
    save(model, tmp_path, "float32")
    inst = load_hf(tmp_path)
    tokens = np.random.default_rng(2).integers(0, VOCAB, (3, 20))
    options = {"max_new_tokens": 60, "do_sample": False, "eos_token_id": None, "pad_token_id": 0}
    with torch.no_grad():
        want = model.generate(
            torch.tensor(tokens), attention_mask=torch.ones(3, 20, dtype=torch.long), **options
        )
    assert generate(inst, tokens, 60, temperature=0).tolist() == want.tolist()
    # Rows of different lengths, each as if it were alone.
    ragged = [tokens[0], tokens[1][:7], tokens[2][:1]]
    got = generate(inst, ragged, 20, temperature=0)
    options["max_new_tokens"] = 20
    for row, mine in zip(ragged, got):
        with torch.no_grad():
            alone = model.generate(
                torch.tensor(row[None]), attention_mask=torch.ones(1, len(row)), **options
            )
        assert mine.tolist() == alone[0].tolist()


@pytest.mark.parametrize("heads", ["BertModel", "BertForMaskedLM", "BertForPreTraining"])
@pytest.mark.parametrize("dtype", ["float32", "float16"])
def test_bert(heads: str, dtype: str, tmp_path: Path) -> None:
    config = transformers.BertConfig(
        vocab_size=VOCAB,
        hidden_size=48,
        num_hidden_layers=3,
        num_attention_heads=4,
        intermediate_size=80,
        max_position_embeddings=40,
        attn_implementation="eager",
    )
    torch.manual_seed(3)
    model = shaken(getattr(transformers, heads)(config))
    save(model, tmp_path, dtype)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        inst = load_hf(tmp_path, max_batch=2, max_seq_len=24)
    rng = np.random.default_rng(4)
    tokens, kinds = rng.integers(0, VOCAB, (2, 24)), rng.integers(0, 2, (2, 24))
    there = np.ones((2, 24), np.int64)
    there[1, 15:] = 0
    out = inst.forward(x=tokens, token_type=kinds, attention_mask=there)
    with torch.no_grad():
        want = model(
            torch.tensor(tokens),
            token_type_ids=torch.tensor(kinds),
            attention_mask=torch.tensor(there),
            output_hidden_states=True,
        )
    seen = there.astype(bool)
    check(out["hidden"][seen], want.hidden_states[-1].numpy()[seen], TOLERANCE)
    if heads == "BertModel":
        check(out["pooled"], want.pooler_output.numpy(), TOLERANCE)
    else:
        logits = want.logits if heads == "BertForMaskedLM" else want.prediction_logits
        check(out["output"][seen], logits.numpy()[seen], TOLERANCE)
    assert ("pooled" in out) == (heads != "BertForMaskedLM")


@pytest.mark.parametrize("name", ["gpt2", "llama", "qwen3", "bert"])
def test_fine_tuning(name: str, tmp_path: Path) -> None:
    """The cross entropy, its gradients and a step by it are those of torch."""
    if name == "bert":
        sizes = {"hidden_size": 48, "num_hidden_layers": 2, "num_attention_heads": 4}
        config = transformers.BertConfig(
            vocab_size=VOCAB,
            intermediate_size=80,
            max_position_embeddings=32,
            pad_token_id=None,  # or torch's table has no gradient for it
            **sizes,
        )
        torch.manual_seed(4)
        model = shaken(transformers.BertForMaskedLM(config))
    else:
        model = make(name)
    save(model, tmp_path, "float32")
    rng = np.random.default_rng(6)
    x, y = rng.integers(0, VOCAB, (2, 2, 16))
    y[0, :3] = -100
    inst = load_hf(tmp_path, max_batch=2, max_seq_len=16)
    loss, grads = inst.value_and_grad("cross_entropy", x=x, y=y)
    logits = model(torch.tensor(x)).logits
    want = torch.nn.functional.cross_entropy(logits.reshape(-1, VOCAB), torch.tensor(y).ravel())
    want.backward()
    assert abs(loss - want.item()) < 1e-5 * want.item()
    theirs = {k.split(".", 1)[1]: p.grad for k, p in model.named_parameters() if p.grad is not None}
    compared = [k for k in grads if k in theirs]
    assert len(compared) > 10
    for k in compared:
        # the table of positions is as long as the rows
        check(grads[k], theirs[k].numpy()[: len(grads[k])], 1e-3)
    inst.set_optimizer("sgd", lr=0.05)
    assert abs(inst.train_step(x=x, y=y) - loss) < 1e-5 * loss
    with torch.no_grad():
        for p in model.parameters():
            if p.grad is not None:
                p -= 0.05 * p.grad
    after = model(torch.tensor(x)).logits.detach().numpy()
    check(inst.forward(x=x)["output"], after, 1e-3)


def test_text(tmp_path: Path) -> None:
    """Tokens and texts are those of the package tokenizers, whole and in pieces."""
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers

    made = Tokenizer(models.BPE())
    made.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    made.decoder = decoders.ByteLevel()
    alphabet = pre_tokenizers.ByteLevel.alphabet()
    trainer = trainers.BpeTrainer(vocab_size=300, initial_alphabet=alphabet)
    made.train_from_iterator(["the cat sat on the mat — ein Kätzchen saß"] * 4, trainer)
    config = {"vocab_size": made.get_vocab_size(), "n_embd": 48, "n_head": 4, "n_layer": 1}
    torch.manual_seed(5)
    model = shaken(transformers.GPT2LMHeadModel(transformers.GPT2Config(**config, n_positions=64)))
    save(model, tmp_path, "float32")
    made.save(str(tmp_path / "tokenizer.json"))
    inst = load_hf(tmp_path)
    prompt = "the Kätzchen sat"
    ids = made.encode(prompt).ids
    with torch.no_grad():
        want = model.generate(
            torch.tensor([ids]), max_new_tokens=40, do_sample=False, pad_token_id=0
        )
    text = generate(inst, prompt, 40, temperature=0, eos_token_id=-1)
    assert text == made.decode(want[0].tolist())
    assert inst.tokenizer is not None
    assert inst.tokenizer.decode(ids) == prompt
    pieces = generate(inst, prompt, 40, temperature=0, eos_token_id=-1, stream=True)
    assert prompt + "".join(pieces) == text

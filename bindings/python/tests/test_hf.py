"""Language models against formulas in numpy, and what generate does with them."""

import hashlib
import json
import sys
import types

import numpy as np
import pytest
from test_instance import safetensors

from polygrad.hf import Generator, Tokenizer, download_hf, generate, load_hf, load_hf_bytes

LLAMA = {
    "model_type": "llama",
    "vocab_size": 19,
    "hidden_size": 16,
    "intermediate_size": 24,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
    "max_position_embeddings": 32,
    "rms_norm_eps": 1e-5,
    "rope_theta": 500.0,
    "rope_scaling": {
        "rope_type": "llama3",
        "factor": 4.0,
        "low_freq_factor": 1.0,
        "high_freq_factor": 4.0,
        "original_max_position_embeddings": 16,
    },
}
BERT = {
    "model_type": "bert",
    "vocab_size": 19,
    "hidden_size": 12,
    "intermediate_size": 20,
    "num_hidden_layers": 2,
    "num_attention_heads": 3,
    "max_position_embeddings": 16,
}
RNG = np.random.default_rng(8)


def normal(*shape, mean=0.0):
    return (mean + 0.3 * RNG.normal(size=shape)).astype(np.float32)


def llama_weights():
    e, n, kv, f = 16, 19, 8, 24
    w = {"model.embed_tokens.weight": normal(n, e), "model.norm.weight": normal(e, mean=1)}
    for i in range(2):
        at = f"model.layers.{i}."
        for name in ("input_layernorm", "post_attention_layernorm"):
            w[f"{at}{name}.weight"] = normal(e, mean=1)
        for name, out in (("q", e), ("k", kv), ("v", kv), ("o", e)):
            w[f"{at}self_attn.{name}_proj.weight"] = normal(out, e)
        w[at + "mlp.gate_proj.weight"] = normal(f, e)
        w[at + "mlp.up_proj.weight"] = normal(f, e)
        w[at + "mlp.down_proj.weight"] = normal(e, f)
    w["lm_head.weight"] = normal(n, e)
    return w


def softmax(x):
    e = np.exp(x - x.max(-1, keepdims=True))
    return e / e.sum(-1, keepdims=True)


def llama(w, tokens):
    """Return the logits of one sequence, by the book."""
    scale = LLAMA["rope_scaling"]
    rate = LLAMA["rope_theta"] ** (-np.arange(0, 4, 2) / 4)
    length = 2 * np.pi / rate
    old = scale["original_max_position_embeddings"]
    smooth = np.clip((old / length - 1) / (4 - 1), 0, 1)
    rate = (1 - smooth) * rate / scale["factor"] + smooth * rate
    angle = np.arange(len(tokens))[:, None] * rate
    cos, sin = np.cos(angle), np.sin(angle)

    def turn(x):
        a, b = x[..., :2], x[..., 2:]
        return np.concatenate([a * cos - b * sin, b * cos + a * sin], -1)

    def norm(x, name):
        return x / np.sqrt((x**2).mean(-1, keepdims=True) + 1e-5) * w[name + ".weight"]

    def heads(x):
        return x.reshape(len(tokens), -1, 4).swapaxes(0, 1)

    x = w["model.embed_tokens.weight"][tokens].astype(np.float64)
    seen = np.tril(np.ones((len(tokens), len(tokens)), bool))
    for i in range(2):
        at = f"model.layers.{i}."
        h = norm(x, at + "input_layernorm")
        q, k, v = (heads(h @ w[f"{at}self_attn.{p}_proj.weight"].T) for p in "qkv")
        k, v = np.repeat(turn(k), 2, 0), np.repeat(v, 2, 0)
        scores = np.where(seen, turn(q) @ k.swapaxes(1, 2) / 2, -np.inf)
        mixed = (softmax(scores) @ v).swapaxes(0, 1).reshape(len(tokens), -1)
        x = x + mixed @ w[at + "self_attn.o_proj.weight"].T
        h = norm(x, at + "post_attention_layernorm")
        gate = h @ w[at + "mlp.gate_proj.weight"].T
        inner = gate / (1 + np.exp(-gate)) * (h @ w[at + "mlp.up_proj.weight"].T)
        x = x + inner @ w[at + "mlp.down_proj.weight"].T
    return norm(x, "model.norm") @ w["lm_head.weight"].T


@pytest.fixture
def weights():
    return llama_weights()


@pytest.fixture
def model(weights):
    return load_hf_bytes(json.dumps(LLAMA), [safetensors(weights, prefix="")])


def close(a, b, tolerance=2e-5):
    np.testing.assert_allclose(a, b, rtol=tolerance, atol=tolerance)


def test_llama(model, weights):
    tokens = RNG.integers(0, 19, 32)
    close(model.forward(x=[tokens])["output"][0], llama(weights, tokens))
    rows = Generator(model, 2)
    assert (rows.rows, rows.vocab, rows.room) == (2, 19, 32)
    rows.feed([tokens[:20], tokens[5:9]])
    close(rows.logits[0], llama(weights, tokens[:20])[-1])
    close(rows.logits[1], llama(weights, tokens[5:9])[-1])
    rows.feed([tokens[20:22], tokens[9:11]])
    close(rows.logits[0], llama(weights, tokens[:22])[-1])
    close(rows.logits[1], llama(weights, tokens[5:11])[-1])


def test_shards_and_types(weights):
    names = list(weights)
    whole = load_hf_bytes(json.dumps(LLAMA), [safetensors(weights, prefix="")])
    parts = [safetensors({n: weights[n] for n in names[i::3]}, "F16", prefix="") for i in range(3)]
    tokens = [[1, 2, 3]]
    want = whole.forward(x=tokens)["output"][0, :3]
    rounded = load_hf_bytes(json.dumps(LLAMA), parts)
    assert rounded.eos_token_ids == ()
    close(rounded.forward(x=tokens)["output"][0, :3], want, 5e-3)
    # What is kept as float16 is what the file holds.
    kept = load_hf_bytes(json.dumps(LLAMA), parts, dtype="float16")
    close(kept.forward(x=tokens)["output"][0, :3], rounded.forward(x=tokens)["output"][0, :3])
    assert "model.embed_tokens.weight" not in kept.params
    small = load_hf_bytes(json.dumps(LLAMA), parts, dtype="int8")
    error = small.forward(x=tokens)["output"][0, :3] - want
    assert 0 < np.abs(error).max() < 0.1 * np.abs(want).max()
    with pytest.raises(RuntimeError, match="float32"):
        small.save_bundle()
    with pytest.raises(RuntimeError, match=r"dtype: .*int4"):
        load_hf_bytes(json.dumps(LLAMA), parts, dtype="int4")


def bert(w, tokens, kinds, there):
    """Return the values of tokens, that of the row, and the logits."""
    from math import erf

    def norm(x, name):
        x = (x - x.mean(-1, keepdims=True)) / np.sqrt(x.var(-1, keepdims=True) + 1e-12)
        return x * w[name + ".weight"] + w[name + ".bias"]

    def linear(x, name):
        return x @ w[name + ".weight"].T + w[name + ".bias"]

    def gelu(x):
        return x * 0.5 * (1 + np.vectorize(erf)(x / np.sqrt(2)))

    e = "bert.embeddings."
    x = w[e + "word_embeddings.weight"][tokens].astype(np.float64)
    x = x + w[e + "position_embeddings.weight"][: len(tokens)]
    x = norm(x + w[e + "token_type_embeddings.weight"][kinds], e + "LayerNorm")
    for i in range(2):
        at = f"bert.encoder.layer.{i}."
        q, k, v = (
            linear(x, f"{at}attention.self.{p}").reshape(len(tokens), 3, 4).swapaxes(0, 1)
            for p in ("query", "key", "value")
        )
        scores = np.where(np.array(there, bool), q @ k.swapaxes(1, 2) / 2, -np.inf)
        mixed = (softmax(scores) @ v).swapaxes(0, 1).reshape(len(tokens), -1)
        x = norm(
            x + linear(mixed, at + "attention.output.dense"), at + "attention.output.LayerNorm"
        )
        inner = gelu(linear(x, at + "intermediate.dense"))
        x = norm(x + linear(inner, at + "output.dense"), at + "output.LayerNorm")
    pooled = np.tanh(linear(x[0], "bert.pooler.dense"))
    h = norm(
        gelu(linear(x, "cls.predictions.transform.dense")), "cls.predictions.transform.LayerNorm"
    )
    return x, pooled, h @ w[e + "word_embeddings.weight"].T + w["cls.predictions.bias"]


def bert_weights():
    n, e, f = 19, 12, 20
    w = {
        "bert.embeddings.word_embeddings.weight": normal(n, e),
        "bert.embeddings.position_embeddings.weight": normal(16, e),
        "bert.embeddings.token_type_embeddings.weight": normal(2, e),
        "cls.predictions.bias": normal(n),
    }
    linear = {"bert.pooler.dense": (e, e), "cls.predictions.transform.dense": (e, e)}
    norms = ["bert.embeddings.LayerNorm", "cls.predictions.transform.LayerNorm"]
    for i in range(2):
        at = f"bert.encoder.layer.{i}."
        for p in ("self.query", "self.key", "self.value", "output.dense"):
            linear[f"{at}attention.{p}"] = (e, e)
        linear[at + "intermediate.dense"], linear[at + "output.dense"] = (f, e), (e, f)
        norms += [at + "attention.output.LayerNorm", at + "output.LayerNorm"]
    for name, shape in linear.items():
        w[name + ".weight"], w[name + ".bias"] = normal(*shape), normal(shape[0])
    for name in norms:
        w[name + ".weight"], w[name + ".bias"] = normal(e, mean=1), normal(e)
    return w


def test_bert():
    w = bert_weights()
    inst = load_hf_bytes(json.dumps(BERT), [safetensors(w, prefix="")], max_batch=2, max_seq_len=7)
    tokens, kinds = RNG.integers(0, 19, (2, 7)), RNG.integers(0, 2, (2, 7))
    there = np.ones((2, 7))
    there[1, 4:] = 0
    out = inst.forward(x=tokens, token_type=kinds, attention_mask=there)
    for row in range(2):
        hidden, pooled, logits = bert(w, tokens[row], kinds[row], there[row])
        n = int(there[row].sum())
        close(out["hidden"][row][:n], hidden[:n])
        close(out["pooled"][row], pooled)
        close(out["output"][row][:n], logits[:n])
    # Without the heads, and with the names of old files.
    old = {k.replace("bert.", "").replace("Norm.weight", "Norm.gamma"): v for k, v in w.items()}
    old = {k.replace("Norm.bias", "Norm.beta"): v for k, v in old.items()}
    old = {k: v for k, v in old.items() if not k.startswith(("pooler", "cls"))}
    plain = load_hf_bytes(json.dumps(BERT), [safetensors(old, prefix="")], max_seq_len=7)
    hidden = plain.forward(x=tokens[:1], token_type=kinds[:1])
    close(hidden["output"], out["hidden"][:1])
    assert "pooled" not in hidden
    with pytest.raises(ValueError, match="language model"):
        generate(plain, [1], 1)


def greedy(weights, tokens, n):
    row = list(tokens)
    for _ in range(n):
        row.append(int(llama(weights, np.array(row[-32:]))[-1].argmax()))
    return row


def test_generate(model, weights):
    want = greedy(weights, [3, 1, 4], 40)  # more than there is room for
    assert generate(model, [3, 1, 4], 40, temperature=0).tolist() == [want]
    rows = generate(model, [[3, 1, 4], [5]], 6, temperature=0)
    assert [r.tolist() for r in rows] == [want[:9], greedy(weights, [5], 6)]
    assert generate(model, np.array([[3.0, 1.0]]), 0).tolist() == [[3, 1]]
    options = {"temperature": 0.9, "top_k": 5, "top_p": 0.9}
    a = generate(model, [[1, 2]] * 4, 20, seed=3, **options)
    assert (a == generate(model, [[1, 2]] * 4, 20, seed=3, **options)).all()
    assert (a != generate(model, [[1, 2]] * 4, 20, seed=4, **options)).any()
    assert len({tuple(r) for r in a.tolist()}) > 1  # each row draws for itself
    assert (generate(model, [1], 9, seed=None) < 19).all()


def test_ends(model, weights):
    want = greedy(weights, [3, 1, 4], 12)[3:]
    end = want[4]
    first = want.index(end)
    row = generate(model, [3, 1, 4], 12, temperature=0, eos_token_id=end)
    assert row[0, 3:].tolist() == want[: first + 1]
    both = generate(model, [[3, 1, 4], [2, 2, 2]], 12, temperature=0, eos_token_id=[end, 99])
    assert both.shape[1] <= 15
    assert both[0, 3 : 4 + first].tolist() == want[: first + 1]
    assert (both[0, 4 + first :] == end).all()


def test_stream(model, weights, capsys):
    want = greedy(weights, [3, 1], 8)[2:]
    steps = generate(model, [[3, 1]], 8, temperature=0, stream=True)
    got = [int(next(steps)[0])]
    other = generate(model, [[3, 1]], 8, temperature=0)  # while the first one waits
    got += [int(step[0]) for step in steps]
    assert got == want == other[0, 2:].tolist()
    seen = []

    def until_three(step):
        seen.append(int(step[0]))
        return len(seen) == 3

    assert generate(model, [3, 1], 8, temperature=0, callback=until_three).shape == (1, 5)
    assert seen == want[:3]
    generate(model, [3, 1], 8, temperature=0, progress=True)
    assert "8/8" in capsys.readouterr().err


def test_progress(model, monkeypatch, capsys):
    tokens = generate(model, [3, 1], 5, progress=True)
    assert "5/5" in capsys.readouterr().err
    monkeypatch.setitem(sys.modules, "tqdm", None)
    with pytest.warns(UserWarning, match="pip install tqdm"):
        again = generate(model, [3, 1], 5, progress=True)
    assert np.shape(again) == np.shape(tokens)


def bytes_tokenizer():
    """A tokenizer.json of bytes, and of a token that ends a text."""
    vocab = {f"<0x{b:02X}>": b for b in range(256)} | {"</s>": 256}
    model = {"type": "BPE", "vocab": vocab, "merges": [], "byte_fallback": True}
    steps = [{"type": "ByteFallback"}, {"type": "Fuse"}]
    end = {"id": 256, "content": "</s>", "special": True}
    decoder = {"type": "Sequence", "decoders": steps}
    return json.dumps({"model": model, "added_tokens": [end], "decoder": decoder})


@pytest.fixture
def folder(tmp_path):
    """A model whose next token is the one after it in the table, over bytes."""
    size, text = 257, "aé€z"
    follows = dict(zip(text.encode(), text.encode()[1:]))
    follows[ord("z")] = 256
    w = {"wpe.weight": np.zeros((64, size)), "ln_f.bias": np.zeros(size)}
    w["wte.weight"], w["ln_f.weight"] = np.eye(size) * 9, np.ones(size)
    config = {"model_type": "gpt2", "vocab_size": size, "n_embd": size, "n_head": 1, "n_layer": 1}
    for name, out in (("ln_1", 0), ("ln_2", 0)):
        w[f"h.0.{name}.weight"], w[f"h.0.{name}.bias"] = np.ones(size), np.full(size, out)
    shapes = {"attn.c_attn": 3 * size, "attn.c_proj": size, "mlp.c_fc": size, "mlp.c_proj": size}
    for name, out in shapes.items():
        w[f"h.0.{name}.weight"], w[f"h.0.{name}.bias"] = np.zeros((size, out)), np.zeros(out)
    w["h.0.mlp.c_fc.weight"] = np.eye(size)
    step = np.zeros((size, size))
    for a, b in follows.items():
        step[a, b] = 9
    w["h.0.mlp.c_proj.weight"] = step
    w = {k: v.astype(np.float32) for k, v in w.items()}
    config |= {"n_inner": size, "n_positions": 64, "eos_token_id": 256}
    (tmp_path / "config.json").write_text(json.dumps(config))
    (tmp_path / "model.safetensors").write_bytes(safetensors(w, prefix=""))
    (tmp_path / "tokenizer.json").write_text(bytes_tokenizer())
    return tmp_path


def test_text(folder):
    inst = load_hf(folder)
    assert inst.eos_token_ids == (256,)
    assert inst.tokenizer.encode("é") == [0xC3, 0xA9]
    assert inst.tokenizer.vocab_size == 257
    assert generate(inst, "a", 20, temperature=0) == "aé€z"
    assert generate(inst, ["a", "z"], 20, temperature=0) == ["aé€z", "z"]
    assert generate(inst, "a", 20, temperature=0, eos_token_id=ord("z")) == "aé€"
    pieces = list(generate(inst, "a", 20, temperature=0, stream=True))
    assert pieces == ["", "é", "", "", "€", "z", ""]
    # A character that stays incomplete.
    assert generate(inst, "a", 1, temperature=0) == "a\ufffd"
    assert list(generate(inst, ["a"], 1, temperature=0, stream=True)) == [[""], ["\ufffd"]]


def test_text_needs_a_tokenizer(model, tmp_path):
    assert model.tokenizer is None
    with pytest.raises(ValueError, match=r"tokenizer\.json"):
        generate(model, "a", 1)
    with pytest.raises(ValueError, match=r"tokenizer\.json and no tokenizer\.model"):
        Tokenizer(tmp_path)
    with pytest.raises(ValueError, match="/nowhere"):
        Tokenizer("/nowhere")
    with pytest.raises(ValueError, match="no model"):
        Tokenizer(b"{}")
    with pytest.raises(ValueError, match="expected one of cl100k_base"):
        Tokenizer(b"{}", "gpt5")
    with pytest.raises(TypeError, match="file"):
        Tokenizer(3)


def test_tokenizers_by_name(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    file = tmp_path / "tokenizer.json"
    file.write_text('{"model": {"type": "WordLevel", "vocab": {"a": 7}}}')
    assert Tokenizer.load(file.as_uri()).encode("a") == [7]
    # What was loaded before is read from the cache.
    url = "https://huggingface.co/owner/name/resolve/main/tokenizer.json"
    kept = tmp_path / "cache/polygrad/downloads" / hashlib.sha256(url.encode()).hexdigest()
    kept.parent.mkdir(parents=True)
    kept.write_bytes(file.read_bytes())
    assert Tokenizer.load("owner/name").encode("a") == [7]
    with pytest.raises(ValueError, match="cl100k_base"):
        Tokenizer.load("cl100k")
    with pytest.raises(OSError, match=r"127\.0\.0\.1:1/x"):
        Tokenizer.load("http://127.0.0.1:1/x")


def test_tokenizer():
    words = Tokenizer(bytes_tokenizer().encode())
    assert words.encode("a</s>") == [97, 256]
    assert words.encode("", allowed="none") == []
    assert words.encode([]) == []
    rows = words.encode(["é", "", "z</s>"], allowed="none")
    assert rows == [[0xC3, 0xA9], [], list(b"z</s>")]
    assert words.encode("</s>a", allowed=["</s>"]) == [256, 97]
    with pytest.raises(ValueError, match="</s>"):
        words.encode("</s>", allowed="refuse")
    with pytest.raises(TypeError, match="text"):
        words.encode([3])
    assert words.decode([0xC3, 0xA9, 256]) == "é"
    assert words.decode(np.array([97, 256]), special=True) == "a</s>"
    with pytest.raises(ValueError, match="257 is no token"):
        words.decode([257])
    for ids in ([2**40 + 97], [97.5], ["a"], [True]):
        with pytest.raises(ValueError, match=r"decode: tokens: .*, expected integers of 32 bits"):
            words.decode(ids)
    for text in (3, None):
        with pytest.raises(TypeError, match=r"encode: text: a.*, expected a text or texts"):
            words.encode(text)
    for allowed in ("some", 3):
        with pytest.raises((ValueError, TypeError), match=r"encode: allowed: .*, expected .*texts"):
            words.encode("a", allowed=allowed)
    rows = words.encode(["abc", "d"], truncation={"max_length": 2}, padding={"pad_id": 9})
    assert rows == [[97, 98], [100, 9]]
    cut = {"max_length": 2, "direction": "Left"}
    assert words.encode([("ab", "cd"), ("e", "f")], truncation=cut) == [[98, 100], [101, 102]]
    for shape, message in (
        ({"truncation": {"max_len": 3}}, "truncation: .*max_len"),
        ({"padding": True}, "padding: the file says nothing"),
        ({"pad": {}}, 'options: unknown field "pad"'),
        ({"truncation": 3}, "truncation: 3, expected true or an object"),
    ):
        with pytest.raises(ValueError, match=f"encode: .*{message}"):
            words.encode("a", **shape)
    with pytest.raises(ValueError, match=r"encode: text: .*, expected texts, or tuples of two"):
        words.encode(["a", ("a", "b")])
    with pytest.raises(ValueError, match=r"name: special: .* the rank of the token"):
        Tokenizer(b"YQ== 50256", "r50k_base")
    push = words.stream([97])
    assert [push(0xC3), push(0xA9), push(0xE2, 0x82), push()] == ["", "é", "", "\ufffd\ufffd"]


def test_bad_arguments(model):
    for bad in ([], [[]], [[[1]]], ["a", 1], [[1], 2]):
        with pytest.raises((ValueError, TypeError)):
            generate(model, bad, 1)
    for tokens in ([19], [-1]):
        with pytest.raises(ValueError, match="expected 0 to 18"):
            generate(model, tokens, 1)
    for name, value in (
        ("temperature", -1),
        ("temperature", float("nan")),
        ("temperature", "hot"),
        ("top_k", -1),
        ("top_k", 1.5),
        ("top_p", 0),
        ("top_p", 1.5),
        ("seed", 0.5),
        ("eos_token_id", [1.5]),
    ):
        with pytest.raises((TypeError, ValueError), match=f"{name}: "):
            generate(model, [1], 1, **{name: value})
    for count in (-1, 1.5):
        with pytest.raises((TypeError, ValueError), match="max_new_tokens: "):
            generate(model, [1], count)
    # Nothing is cut to fit into C's int.
    for tokens in (np.array([2**32 + 1]), [1.7], [float("nan")], [True]):
        with pytest.raises(ValueError, match=r"generate: tokens: .*, expected integers of 32 bits"):
            generate(model, tokens, 1)
        with pytest.raises(ValueError, match=r"Generator.feed: tokens: .*, expected integers"):
            Generator(model, 1).feed([tokens])
    with pytest.raises(TypeError, match="tokens: a NoneType"):
        generate(model, None, 1)
    with pytest.raises(TypeError, match="config: an int, expected a text or bytes"):
        load_hf_bytes(1, [])
    with pytest.raises(TypeError, match=r"weights\[0\]: an int, expected bytes"):
        load_hf_bytes("{}", [1])
    rows = Generator(model, 1)
    with pytest.raises(ValueError, match="no tokens"):
        _ = rows.logits
    with pytest.raises(ValueError, match="rows"):
        rows.feed([[1], [2]])
    with pytest.raises(ValueError, match="rows"):
        Generator(model, -1)


def test_the_hub_is_offline_or_not(monkeypatch):
    monkeypatch.setitem(sys.modules, "huggingface_hub", types.SimpleNamespace())
    monkeypatch.setenv("HF_HUB_OFFLINE", "abc")
    with pytest.raises(ValueError, match=r"^HF_HUB_OFFLINE: got 'abc', expected 1 or 0"):
        download_hf("a/b")


INDEX = "model.safetensors.index.json"


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        (INDEX, '{"weight_map": {"a": "../a"}}', '"../a", expected the name of a file'),
        (INDEX, '{"weight_map": {"a": "/etc/a"}}', '"/etc/a", expected the name of a file'),
        (INDEX, '{"weight_map": {"a": ".."}}', '"..", expected the name of a file'),
        (INDEX, '{"weight_map": {"a": 5}}', '"5", expected a string'),
        (INDEX, '{"weight_map": 5}', '"5", expected an object'),
        (INDEX, "[]", "expected an object"),
        (INDEX, "{", "the index: "),
        (INDEX, "[" * 100_000, "the index: "),
        ("generation_config.json", "[]", "is no JSON object"),
        ("generation_config.json", '{"eos_token_id": "x"}', "eos_token_id: x, expected tokens"),
        ("generation_config.json", '{"eos_token_id": [1.5]}', r"eos_token_id: 1\.5, expected"),
    ],
)
def test_bad_folders(tmp_path, weights, name, text, message):
    (tmp_path / "config.json").write_text(json.dumps(LLAMA))
    (tmp_path / "model.safetensors").write_bytes(safetensors(weights, prefix=""))
    (tmp_path / "consolidated.safetensors").write_bytes(b"for other programs")
    assert load_hf(tmp_path).notes == []
    (tmp_path / name).write_text(text)
    with pytest.raises(ValueError, match=f"load_hf: path: .*{message}"):
        load_hf(tmp_path)


@pytest.mark.parametrize(
    "wrong",
    [
        {"rope_scaling": {"rope_type": "yarn"}},
        {"num_key_value_heads": 3},
        {"hidden_act": "nothing"},
        {"rope_theta": 0},
        {"hidden_size": 0},
        {"head_dim": 3},
        {"num_hidden_layers": 10**9},
        {"rope_scaling": 7},
        {"hidden_size": "8"},
        {"num_hidden_layers": 1.5},
    ],
)
def test_bad_configurations(wrong):
    with pytest.raises(RuntimeError, match=next(iter(wrong))):
        load_hf_bytes(json.dumps({**LLAMA, **wrong}), [], strict=False)


@pytest.fixture(params=["load_hf", "load_hf_bytes"])
def load(request, tmp_path):
    """Return how a model of a configuration and files is loaded."""

    def from_folder(config, *files, **options):
        (tmp_path / "config.json").write_text(json.dumps(config))
        for i, content in enumerate(files):
            (tmp_path / f"part-{i}.safetensors").write_bytes(content)
        return load_hf(tmp_path, **options)

    def from_bytes(config, *files, **options):
        return load_hf_bytes(json.dumps(config), list(files), **options)

    return from_folder if request.param == "load_hf" else from_bytes


SECOND = r"^load_hf(_bytes: weights\[1\]|: path: \S*): (part-1.safetensors: )?"


def test_files_that_cannot_be_read(weights, load):
    whole = safetensors(weights, prefix="")
    for broken in (whole[:-1], whole[:100], b"", b"junk" * 10, whole[: len(whole) // 2]):
        with pytest.raises(ValueError, match=SECOND + "(the header|0 bytes)"):
            load(LLAMA, whole, broken)


def ones(*shape):
    return np.ones(shape, np.float32)


def changed(weights, name, tensor):
    return {n: (tensor if n == name else w) for n, w in weights.items()}


NORM, UP = "model.norm.weight", "model.layers.0.mlp.up_proj.weight"
MISFITS = {
    "of another size": (NORM, ones(7), r"tensor .*norm.weight\": shape \[7\], expected \[16\]"),
    "of more axes": (NORM, ones(1, 16), r"shape \[1 16\], expected \[16\]"),
    "transposed": (UP, ones(16, 24), r"up_proj.weight\": shape \[16 24\], expected \[24 16\]"),
    "of more rows": ("lm_head.weight", ones(25, 16), r"shape \[25 16\], expected \[19 16\]"),
    "of fewer rows": ("lm_head.weight", ones(9, 16), r"shape \[9 16\], expected \[19 16\]"),
}


@pytest.mark.parametrize("dtype", ["float32", "int8"])
@pytest.mark.parametrize("kind", MISFITS)
def test_tensors_of_other_shapes(weights, load, kind, dtype):
    name, tensor, message = MISFITS[kind]
    wrong = safetensors(changed(weights, name, tensor), prefix="")
    place = r"^load_hf(: path: \S+part-0.safetensors|_bytes: weights\[0\]): "
    with pytest.raises(ValueError, match=place + ".*" + message):
        load(LLAMA, wrong, dtype=dtype)
    if dtype == "float32":
        assert len(load(LLAMA, wrong, strict=False).notes) == 1


@pytest.mark.parametrize("dtype", ["float32", "int8"])
def test_parameters_that_are_missing(weights, load, dtype):
    place = r"^load_hf(_bytes: weights|: path: \S+): parameter"
    for name, w in weights.items():
        fewer = safetensors({n: v for n, v in weights.items() if n != name}, prefix="")
        said = rf"{place} \"{name.replace('model.', '')}\" is missing, expected one of shape "
        shape = " ".join(map(str, w.shape))
        with pytest.raises(ValueError, match=rf"{said}\[{shape}\]$"):
            load(LLAMA, fewer, dtype=dtype)
    with pytest.raises(ValueError, match=place + ".*; and 18 more$"):
        load(LLAMA, safetensors({}, prefix=""), dtype=dtype)
    none = load(LLAMA, safetensors({}, prefix=""), dtype=dtype, strict=False)
    assert len(none.notes) == len(weights)


def test_tensors_that_the_model_has_not(weights, load):
    name = "model.layers.0.self_attn.q_proj.bias"  # of a model with attention_bias
    more = safetensors({**weights, name: normal(16)}, prefix="")
    with pytest.raises(ValueError, match=f'tensor "{name}": the model has no such parameter'):
        load(LLAMA, more)
    assert len(load(LLAMA, more, strict=False).notes) == 1


# What complete checkpoints of each family have beside the parameters, or have not.
def test_checkpoints_with_more_and_with_less(weights, load):
    rotary = "model.layers.0.self_attn.rotary_emb.inv_freq"
    more = {rotary: normal(2), "score.weight": normal(3, 16)}
    assert load(LLAMA, safetensors({**weights, **more}, prefix="")).notes == []
    tied = {**LLAMA, "tie_word_embeddings": True}
    assert load(tied, safetensors(weights, prefix="")).notes == []
    head = weights.pop("lm_head.weight")
    inst = load(tied, safetensors(weights, prefix=""))
    tokens = RNG.integers(0, 19, 5)
    want = llama({**weights, "lm_head.weight": weights["model.embed_tokens.weight"]}, tokens)
    close(inst.forward(x=[[*tokens, *[0] * 27]])["output"][0][:5], want)
    with pytest.raises(ValueError, match=r"lm_head.*is missing"):
        load(LLAMA, safetensors(weights, prefix=""))
    assert head.shape == (19, 16)
    w = bert_weights()
    w["bert.embeddings.position_ids"] = np.arange(16.0, dtype=np.float32)[None]
    w["cls.seq_relationship.weight"] = normal(2, 12)
    w["classifier.bias"] = normal(3)
    assert load(BERT, safetensors(w, prefix=""), max_seq_len=5).notes == []

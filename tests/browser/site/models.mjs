/** A tiny LLaMA with random weights, as files of Hugging Face and as a GGUF file, and the texts that it generates. */

import { createRequire } from 'node:module'

const require = createRequire(import.meta.url)
const { Tensor, generate, loadHfBytes, safetensors } = require('../../../bindings/js')
const { tokenizers: { Tokenizer } } = require('../../../bindings/js/lib/loaders')

const [WIDTH, INNER, HEADS, KV_HEADS, HEAD, LAYERS] = [16, 24, 2, 1, 8, 2]
const END = '<|end|>'

/** A byte-level BPE vocabulary: the bytes, two merges, and the end-of-text token. */
function vocabulary () {
  const printable = (byte) => (byte > 32 && byte < 127) || (byte > 160 && byte !== 173)
  let next = 256
  const bytes = Array.from({ length: 256 }, (_, byte) => String.fromCodePoint(printable(byte) ? byte : next++))
  return { tokens: [...bytes, 'th', 'the', END], merges: ['t h', 'th e'] }
}

const { tokens, merges } = vocabulary()
const config = {
  model_type: 'llama',
  vocab_size: tokens.length,
  hidden_size: WIDTH,
  intermediate_size: INNER,
  num_hidden_layers: LAYERS,
  num_attention_heads: HEADS,
  num_key_value_heads: KV_HEADS,
  head_dim: HEAD,
  rms_norm_eps: 1e-5,
  max_position_embeddings: 64,
  rope_theta: 10000.5,
  tie_word_embeddings: false,
  eos_token_id: tokens.indexOf(END)
}
const tokenizer = {
  model: { type: 'BPE', vocab: Object.fromEntries(tokens.map((token, id) => [token, id])), merges },
  pre_tokenizer: { type: 'ByteLevel', add_prefix_space: false },
  decoder: { type: 'ByteLevel' },
  added_tokens: [{ content: END, id: tokens.indexOf(END), special: true }]
}

// The names of the tensors in both formats, and their shapes.
const block = (i) => [
  ['input_layernorm', 'attn_norm', [WIDTH]],
  ['post_attention_layernorm', 'ffn_norm', [WIDTH]],
  ['self_attn.q_proj', 'attn_q', [HEADS * HEAD, WIDTH]],
  ['self_attn.k_proj', 'attn_k', [KV_HEADS * HEAD, WIDTH]],
  ['self_attn.v_proj', 'attn_v', [KV_HEADS * HEAD, WIDTH]],
  ['self_attn.o_proj', 'attn_output', [WIDTH, HEADS * HEAD]],
  ['mlp.gate_proj', 'ffn_gate', [INNER, WIDTH]],
  ['mlp.up_proj', 'ffn_up', [INNER, WIDTH]],
  ['mlp.down_proj', 'ffn_down', [WIDTH, INNER]]
].map(([ours, theirs, shape]) => [`model.layers.${i}.${ours}`, `blk.${i}.${theirs}`, shape])
const TENSORS = [
  ['model.embed_tokens', 'token_embd', [tokens.length, WIDTH]],
  ['model.norm', 'output_norm', [WIDTH]],
  ['lm_head', 'output', [tokens.length, WIDTH]],
  ...Array.from({ length: LAYERS }, (_, i) => block(i)).flat()
]

/**
 * The bytes of a GGUF file (https://github.com/ggml-org/ggml/blob/master/docs/gguf.md): metadata (strings, numbers, arrays), and tensors of
 * float32.
 */
function gguf (metadata, tensors) {
  const parts = []
  const put = (size, method, value) => {
    const view = new DataView(new ArrayBuffer(size))
    view[method](0, value, true)
    parts.push(Buffer.from(view.buffer))
  }
  const u32 = (value) => put(4, 'setUint32', value)
  const u64 = (value) => put(8, 'setBigUint64', BigInt(value))
  const string = (text) => {
    u64(Buffer.byteLength(text))
    parts.push(Buffer.from(text))
  }
  parts.push(Buffer.from('GGUF'))
  u32(3)
  u64(tensors.length)
  u64(Object.keys(metadata).length)
  for (const [key, value] of Object.entries(metadata)) {
    string(key)
    if (typeof value === 'string') {
      u32(8)
      string(value)
    } else if (typeof value === 'number') {
      u32(Number.isInteger(value) ? 4 : 6)
      put(4, Number.isInteger(value) ? 'setUint32' : 'setFloat32', value)
    } else {
      const texts = typeof value[0] === 'string'
      u32(9)
      u32(texts ? 8 : 4)
      u64(value.length)
      value.forEach(texts ? string : u32)
    }
  }
  let at = 0
  for (const { name, shape } of tensors) {
    string(name)
    u32(shape.length)
    for (const size of shape.toReversed()) u64(size)
    u32(0) // float32
    u64(at)
    at += Math.ceil(4 * shape.reduce((a, b) => a * b) / 32) * 32
  }
  const aligned = (data) => Buffer.concat([data, Buffer.alloc((32 - data.length % 32) % 32)])
  return Buffer.concat([aligned(Buffer.concat(parts)), ...tensors.map(({ values }) => aligned(Buffer.from(values.buffer)))])
}

/**
 * A unigram model of SentencePiece (its sentencepiece_model.proto) with as many pieces as the vocabulary: unknown, beginning of sentence,
 * end of sentence, some words, and letters.
 */
function sentencePiece () {
  const words = ['<unk>', '<s>', '</s>', '▁', '▁the', '▁other', 'th', 'er', 'the']
  const letters = Array.from({ length: tokens.length - words.length }, (_, i) => String.fromCodePoint(97 + i))
  const message = (field, bytes) => Buffer.concat([Buffer.from([8 * field + 2, bytes.length]), bytes])
  const number = (field, value) => Buffer.from([8 * field, value])
  return Buffer.concat([...words, ...letters].map((piece, id) => {
    const score = Buffer.from([0x15, 0, 0, 0, 0])
    score.writeFloatLE(-1 - id / 100, 1)
    return message(1, Buffer.concat([message(1, Buffer.from(piece)), score, number(3, [2, 3, 3][id] ?? 1)]))
  }))
}

/** The files by name, and the model's continuations of a prompt with each kind of tokenizer. */
export function tinyModel (prompt, length) {
  Tensor.manualSeed(3)
  const made = TENSORS.map(([ours, theirs, shape]) => ({ ours, theirs, shape, tensor: Tensor.randn(shape).mul(0.6).realize() }))
  const weights = safetensors.encode(Object.fromEntries(made.map(({ ours, tensor }) => [`${ours}.weight`, tensor])))
  // llama.cpp interleaves the halves that a rotary embedding pairs.
  const heads = { attn_q: HEADS, attn_k: KV_HEADS }
  const tensors = made.map(({ theirs, shape, tensor }) => {
    const n = heads[theirs.split('.').at(-1)]
    const laid = n === undefined ? tensor : tensor.reshape(n, 2, HEAD / 2, WIDTH).transpose(1, 2).reshape(shape)
    return { name: `${theirs}.weight`, shape, values: Float32Array.from(laid.contiguous().toArray()) }
  })
  const metadata = {
    'general.architecture': 'llama',
    'llama.embedding_length': WIDTH,
    'llama.block_count': LAYERS,
    'llama.feed_forward_length': INNER,
    'llama.attention.head_count': HEADS,
    'llama.attention.head_count_kv': KV_HEADS,
    'llama.attention.layer_norm_rms_epsilon': 1e-5,
    'llama.context_length': 64,
    'llama.rope.freq_base': 10000.5,
    'llama.attention.key_length': HEAD,
    'tokenizer.ggml.model': 'gpt2',
    'tokenizer.ggml.tokens': tokens,
    'tokenizer.ggml.merges': merges,
    'tokenizer.ggml.token_type': tokens.map((token) => token === END ? 3 : 1),
    'tokenizer.ggml.eos_token_id': tokens.indexOf(END)
  }
  const model = loadHfBytes(JSON.stringify(config), [weights])
  const textBy = (file) => {
    return generate(model, prompt, length, { tokenizer: new Tokenizer(file), temperature: 0, eosTokenId: tokens.indexOf(END) })
  }
  const files = {
    'config.json': JSON.stringify(config),
    'tokenizer.json': JSON.stringify(tokenizer),
    'tokenizer.model': sentencePiece(),
    'model.safetensors': Buffer.from(weights),
    'tiny.gguf': gguf(metadata, tensors)
  }
  return { files, text: textBy(tokenizer), textOfPieces: textBy(files['tokenizer.model']) }
}

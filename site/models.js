/** Loads language models: GGUF, or Hugging Face's config.json, safetensors, and tokenizer.json or a SentencePiece model. */

import { ggufLoad, loadHfBytes, safetensors } from './polygrad.js'
import { tokenizers } from './polygrad-loaders.js'

/** llama.cpp's names for Hugging Face's keys of the configuration, and for its tensors. */
const LLAMA = {
  config: {
    hidden_size: 'embedding_length',
    num_hidden_layers: 'block_count',
    intermediate_size: 'feed_forward_length',
    num_attention_heads: 'attention.head_count',
    num_key_value_heads: 'attention.head_count_kv',
    rms_norm_eps: 'attention.layer_norm_rms_epsilon',
    max_position_embeddings: 'context_length',
    rope_theta: 'rope.freq_base',
    head_dim: 'attention.key_length'
  },
  names: {
    token_embd: 'model.embed_tokens',
    output_norm: 'model.norm',
    output: 'lm_head',
    attn_norm: 'input_layernorm',
    ffn_norm: 'post_attention_layernorm',
    attn_q: 'self_attn.q_proj',
    attn_k: 'self_attn.k_proj',
    attn_v: 'self_attn.v_proj',
    attn_output: 'self_attn.o_proj',
    attn_q_norm: 'self_attn.q_norm',
    attn_k_norm: 'self_attn.k_norm',
    ffn_gate: 'mlp.gate_proj',
    ffn_up: 'mlp.up_proj',
    ffn_down: 'mlp.down_proj'
  },
  block: 'model.layers'
}
const GPT2 = {
  config: {
    n_embd: 'embedding_length',
    n_layer: 'block_count',
    n_head: 'attention.head_count',
    layer_norm_epsilon: 'attention.layer_norm_epsilon',
    n_positions: 'context_length'
  },
  names: {
    token_embd: 'wte',
    position_embd: 'wpe',
    output_norm: 'ln_f',
    output: 'lm_head',
    attn_norm: 'ln_1',
    ffn_norm: 'ln_2',
    attn_qkv: 'attn.c_attn',
    attn_output: 'attn.c_proj',
    ffn_up: 'mlp.c_fc',
    ffn_down: 'mlp.c_proj'
  },
  block: 'h'
}
const CONV1D = /(attn_qkv|attn_output|ffn_up|ffn_down)\.weight/ // of GPT-2, whose Conv1D weights are (in, out)
const FAMILIES = { gpt2: GPT2, llama: LLAMA, qwen2: LLAMA, qwen3: LLAMA }

/** A tensor of a GGUF file in the layout of Hugging Face's files. */
function laidOut (architecture, name, tensor, config) {
  if (architecture === 'gpt2') return CONV1D.test(name) ? tensor.transpose(0, 1) : tensor
  // llama.cpp interleaves the halves that a rotary embedding pairs; Hugging Face keeps them apart.
  const heads = { attn_q: config.num_attention_heads, attn_k: config.num_key_value_heads }[/\.(attn_[qk])\./.exec(name)?.[1]]
  if (architecture !== 'llama' || heads === undefined) return tensor
  return tensor.reshape(heads, tensor.shape[0] / heads / 2, 2, -1).transpose(1, 2).reshape(tensor.shape)
}

function ofGgufFile (bytes, dtype) {
  const [metadata, tensors] = ggufLoad(bytes)
  const architecture = metadata['general.architecture']
  const family = FAMILIES[architecture]
  if (family === undefined) throw new Error(`the model is a ${architecture}, expected one of ${Object.keys(FAMILIES).join(', ')}`)
  const config = {
    model_type: architecture,
    vocab_size: tensors['token_embd.weight'].shape[0],
    tie_word_embeddings: !('output.weight' in tensors)
  }
  for (const [key, name] of Object.entries(family.config)) {
    const value = metadata[`${architecture}.${name}`]
    if (value !== undefined) config[key] = Number(value)
  }
  const stored = dtype === 'float32' ? 'float32' : 'float16'
  const files = Object.entries(tensors).filter(([name]) => !name.startsWith('rope_')).map(([name, tensor]) => {
    const [, block, role, kind] = /^(?:blk\.(\d+)\.)?(\w+)\.(weight|bias)$/.exec(name) ?? []
    if (family.names[role] === undefined) throw new Error(`the tensor ${name} is not known in models of the family ${architecture}`)
    const theirs = `${block === undefined ? '' : `${family.block}.${block}.`}${family.names[role]}.${kind}`
    return safetensors.encode({ [theirs]: laidOut(architecture, name, tensor, config).cast(stored) })
  })
  return { config: JSON.stringify(config), files, end: metadata['tokenizer.ggml.eos_token_id'] }
}

/** The model in files, its tokenizer, and the id of its end-of-text token; options are those of loadHfBytes. */
export async function modelOf (files, options) {
  const bytesOf = async (file) => new Uint8Array(await file.arrayBuffer())
  const named = (test) => files.filter(({ name }) => test.test(name))
  const [gguf] = named(/\.gguf$/i)
  if (gguf !== undefined) {
    const bytes = await bytesOf(gguf)
    const tokenizer = new tokenizers.Tokenizer(bytes)
    const { config, files: weights, end } = ofGgufFile(bytes, options.dtype)
    return { model: loadHfBytes(config, weights, options), tokenizer, end: end === undefined ? undefined : Number(end) }
  }
  const TOKENS = 'tokenizer.json or tokenizer.model'
  const needed = { 'config.json': /^config\.json$/, [TOKENS]: /^tokenizer\.json$|\.model$/, 'a safetensors file': /\.safetensors$/i }
  const missing = Object.keys(needed).filter((what) => named(needed[what]).length === 0)
  if (missing.length > 0) {
    throw new Error(`${missing.join(' and ')} is missing: drop a .gguf file, or these three together`)
  }
  const config = await named(needed['config.json'])[0].text()
  const tokenizer = new tokenizers.Tokenizer(await bytesOf(named(needed[TOKENS])[0]))
  const weights = await Promise.all(named(/\.safetensors$/i).map(bytesOf))
  const end = JSON.parse(config).eos_token_id
  return { model: loadHfBytes(config, weights, options), tokenizer, end: end === null ? undefined : end }
}

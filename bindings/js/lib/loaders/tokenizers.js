'use strict'
/** polygrad/loaders: vocabularies by their names, and tokenizers of files. */

const { show } = require('../arguments.js')
const { BpeEncoding, hexOf } = require('./bpe.js')
const { clipOf } = require('./clip.js')
const { cachedFetch } = require('./cache.js')
const { Tokenizer } = require('./hf_tokenizer.js')
const { Unigram } = require('./unigram.js')

const CONTRACTIONS = "'(?:[sdmt]|ll|ve|re)"
const GPT2 = new RegExp(`${CONTRACTIONS}| ?\\p{L}+| ?\\p{N}+| ?[^\\s\\p{L}\\p{N}]+|\\s+(?!\\S)|\\s+`, 'gu')
const anyCase = (text) => text.replace(/[a-z]/g, (c) => `[${c}${c.toUpperCase()}]`)
const ENDINGS = `'(?:[sdmtSDMT]|${anyCase('ll')}|${anyCase('ve')}|${anyCase('re')})`
const CL100K = new RegExp(
  `${ENDINGS}|[^\\r\\n\\p{L}\\p{N}]?\\p{L}+|\\p{N}{1,3}| ?[^\\s\\p{L}\\p{N}]+[\\r\\n]*|\\s*[\\r\\n]+|\\s+(?!\\S)|\\s+`, 'gu')
const [UPPER, LOWER] = ['[\\p{Lu}\\p{Lt}\\p{Lm}\\p{Lo}\\p{M}]', '[\\p{Ll}\\p{Lm}\\p{Lo}\\p{M}]']
const O200K = new RegExp([
  `[^\\r\\n\\p{L}\\p{N}]?${UPPER}*${LOWER}+(?:${ENDINGS})?`, `[^\\r\\n\\p{L}\\p{N}]?${UPPER}+${LOWER}*(?:${ENDINGS})?`, '\\p{N}{1,3}',
  ' ?[^\\s\\p{L}\\p{N}]+[\\r\\n/]*', '\\s*[\\r\\n]+', '\\s+(?!\\S)', '\\s+'
].join('|'), 'gu')

const END = '<|endoftext|>'
const FILLS = { '<|fim_prefix|>': 0, '<|fim_middle|>': 1, '<|fim_suffix|>': 2 }
const fillsFrom = (first) => Object.fromEntries(Object.entries(FILLS).map(([text, i]) => [text, first + i]))
const VOCABULARY = 'https://cdn.jsdelivr.net/npm/gpt-tokenizer@3.0.1/data'
const CLIP = 'https://cdn.jsdelivr.net/gh/mlfoundations/open_clip@v3.2.0/src/open_clip/bpe_simple_vocab_16e6.txt.gz'
const reserved = Object.fromEntries(Array.from({ length: 1088 }, (_, i) => [`<|reserved_${200000 + i}|>`, 200000 + i])
  .filter(([, token]) => ![200002, 200003, 200005, 200006, 200007, 200008, 200012].includes(token)))

/** Vocabularies by their names: where they are, their special tokens and how texts are split. */
const VOCABULARIES = {
  r50k_base: [`${VOCABULARY}/r50k_base.tiktoken`, { [END]: 50256 }, GPT2],
  p50k_base: [`${VOCABULARY}/p50k_base.tiktoken`, { [END]: 50256 }, GPT2],
  p50k_edit: [`${VOCABULARY}/p50k_base.tiktoken`, { [END]: 50256, ...fillsFrom(50281) }, GPT2],
  cl100k_base: [`${VOCABULARY}/cl100k_base.tiktoken`, { [END]: 100257, ...fillsFrom(100258), '<|endofprompt|>': 100276 }, CL100K],
  o200k_base: [`${VOCABULARY}/o200k_base.tiktoken`, { [END]: 199999, '<|endofprompt|>': 200018 }, O200K],
  o200k_harmony: [`${VOCABULARY}/o200k_base.tiktoken`, {
    ...reserved,
    '<|startoftext|>': 199998,
    [END]: 199999,
    '<|return|>': 200002,
    '<|constrain|>': 200003,
    '<|channel|>': 200005,
    '<|start|>': 200006,
    '<|end|>': 200007,
    '<|message|>': 200008,
    '<|call|>': 200012,
    '<|endofprompt|>': 200018
  }, O200K]
}

/** The tokens of a file of lines of bytes in base 64 and ranks. */
function tokensOf (text) {
  return new Map(text.split('\n').filter((line) => line !== '').map((line, i) => {
    const [bytes, rank] = line.split(' ')
    if (!/^[A-Za-z0-9+/]+=*$/.test(bytes) || !/^\d+$/.test(rank ?? '')) {
      throw new TypeError(`getBpe: line ${i + 1}: ${show(line)}, expected bytes and a rank`)
    }
    return [hexOf(Uint8Array.from(atob(bytes), (c) => c.charCodeAt(0))), Number(rank)]
  }))
}

async function getBpe (name) {
  if (name === 'clip') return clipOf(await unzipped(await cachedFetch(CLIP)))
  if (!Object.hasOwn(VOCABULARIES, name)) {
    throw new RangeError(`getBpe: name: ${show(name)}, expected one of clip, ${Object.keys(VOCABULARIES).join(', ')}`)
  }
  const [url, special, regex] = VOCABULARIES[name]
  return new BpeEncoding(tokensOf(new TextDecoder().decode(await cachedFetch(url))), special, regex)
}

/** The bytes of a file that gzip has made. */
async function unzipped (bytes) {
  const stream = new globalThis.Blob([bytes]).stream().pipeThrough(new globalThis.DecompressionStream('gzip'))
  return new Uint8Array(await new globalThis.Response(stream).arrayBuffer())
}

async function loadSentencePiece (url) {
  return Unigram.fromBinary(await cachedFetch(url))
}

async function loadTokenizer (url) {
  return Tokenizer.fromJSON(await cachedFetch(url))
}

const tokenizers = { BpeEncoding, Tokenizer, Unigram, getBpe, loadSentencePiece, loadTokenizer }

module.exports = { tokenizers, tokensOf, patterns: { GPT2, CL100K, O200K } }

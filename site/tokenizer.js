/**
 * Texts as tokens by pairs that are merged (Sennrich, Haddow and Birch, Neural Machine Translation of Rare Words with Subword Units): of
 * bytes, as GPT-2, Llama 3 and Qwen have them, or of characters with ▁ for a space, as Llama 2 (SentencePiece).
 */

const WORDS = /'(?:[sdmt]|ll|ve|re)| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+/gu // GPT-2's
const SPACE = '▁'

/** GPT-2's characters for bytes: printable ones stand for themselves. */
const BYTE_CHARACTERS = (() => {
  const printable = (byte) => (byte > 32 && byte < 127) || (byte > 160 && byte !== 173)
  let next = 256
  return Array.from({ length: 256 }, (_, byte) => String.fromCodePoint(printable(byte) ? byte : next++))
})()
const BYTES = new Map(BYTE_CHARACTERS.map((c, byte) => [c, byte]))

export class Tokenizer {
  /** ids: tokens to numbers; rankOf: of two neighbours, what is merged first has the least; special tokens are not written. */
  constructor ({ ids, rankOf, ofBytes, special = new Set(), begin, words = WORDS }) {
    Object.assign(this, { ids, rankOf, ofBytes, special, begin, words })
    this.tokens = new Map(Array.from(ids, ([token, id]) => [id, token]))
  }

  _merged (symbols) {
    for (;;) {
      let best = -1
      let least = Infinity
      for (let i = 0; i + 1 < symbols.length; i++) {
        const rank = this.rankOf(symbols[i], symbols[i + 1])
        if (rank < least) [best, least] = [i, rank]
      }
      if (best < 0) return symbols
      symbols.splice(best, 2, symbols[best] + symbols[best + 1])
    }
  }

  encode (text) {
    const bytesOf = (part) => Array.from(new TextEncoder().encode(part))
    const parts = this.ofBytes
      ? (text.match(this.words) ?? []).map((word) => bytesOf(word).map((byte) => BYTE_CHARACTERS[byte]))
      : [Array.from(SPACE + text.replaceAll(' ', SPACE))]
    const ids = parts.flatMap((symbols) => this._merged(symbols)).flatMap((token) => {
      if (this.ids.has(token)) return [this.ids.get(token)]
      const names = bytesOf(token).map((byte) => `<0x${byte.toString(16).toUpperCase().padStart(2, '0')}>`)
      return names.filter((name) => this.ids.has(name)).map((name) => this.ids.get(name))
    })
    return { ids: this.begin === undefined ? ids : [this.begin, ...ids] }
  }

  decode (ids) {
    const bytes = ids.filter((id) => !this.special.has(id)).flatMap((id) => {
      const token = this.tokens.get(id) ?? ''
      if (this.ofBytes) return Array.from(token, (c) => BYTES.get(c) ?? 0x20)
      const byte = /^<0x([0-9A-F]{2})>$/.exec(token)
      return byte !== null ? [parseInt(byte[1], 16)] : Array.from(new TextEncoder().encode(token.replaceAll(SPACE, ' ')))
    })
    return new TextDecoder().decode(Uint8Array.from(bytes))
  }
}

/** The words of a tokenizer.json: its own expression, if it has one that the browser reads. */
function wordsOf (json) {
  const steps = json.pre_tokenizer?.pretokenizers ?? [json.pre_tokenizer]
  const pattern = steps.find((step) => step?.pattern?.Regex !== undefined)?.pattern.Regex
  try {
    return pattern === undefined ? WORDS : new RegExp(pattern, 'gu')
  } catch {
    return WORDS
  }
}

/** The tokenizer of a tokenizer.json of Hugging Face. */
export function ofJson (json) {
  const { type = '(none)', vocab, merges } = json.model ?? {}
  if (vocab === undefined || merges === undefined) throw new Error(`tokenizer.json: the model ${type} is not known, expected BPE`)
  const added = json.added_tokens ?? []
  const ids = new Map([...Object.entries(vocab), ...added.map(({ content, id }) => [content, id])])
  const ranks = new Map(merges.map((merge, i) => [typeof merge === 'string' ? merge : merge.join(' '), i]))
  const ofBytes = JSON.stringify([json.pre_tokenizer, json.decoder]).includes('ByteLevel')
  return new Tokenizer({
    ids,
    ofBytes,
    rankOf: (a, b) => ranks.get(`${a} ${b}`) ?? Infinity,
    special: new Set(added.filter(({ special }) => special).map(({ id }) => id)),
    begin: ofBytes ? undefined : ids.get('<s>'),
    words: wordsOf(json)
  })
}

/** The tokenizer in the metadata of a GGUF file. */
export function ofGguf (metadata) {
  const [model, tokens, merges, scores, kinds, begin, wanted] = [
    'model', 'tokens', 'merges', 'scores', 'token_type', 'bos_token_id', 'add_bos_token'
  ].map((key) => metadata[`tokenizer.ggml.${key}`])
  if (tokens === undefined) throw new Error('the file has no tokenizer')
  const ids = new Map(tokens.map((token, id) => [token, id]))
  const ofBytes = model === 'gpt2'
  const ranks = new Map(merges?.map((merge, i) => [merge, i]))
  const byScore = (a, b) => ids.has(a + b) ? -scores[ids.get(a + b)] : Infinity
  const CONTROL = 3
  return new Tokenizer({
    ids,
    ofBytes,
    rankOf: ofBytes ? (a, b) => ranks.get(`${a} ${b}`) ?? Infinity : byScore,
    special: new Set(Array.from(kinds ?? [], Number).flatMap((kind, id) => kind === CONTROL ? [id] : [])),
    begin: wanted ?? !ofBytes ? Number(begin) : undefined
  })
}

'use strict'
/** polygrad/loaders: tokenizers of Hugging Face: added tokens, then normalizer, pre-tokenizer, model and post-processor. */

const { isOptions, show } = require('../arguments.js')
const { characters } = require('./clip.js')
const { Unigram, piecesOf } = require('./unigram.js')

const BYTE_OF = new Map(characters())
const CHARACTER_OF = new Map(Array.from(BYTE_OF, ([c, b]) => [b, c]))
const GPT2 = /'(?:[sdmt]|ll|ve|re)| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+/gu
const PUNCTUATION = '[!-/:-@[-`{-~\\p{P}]'
const CHINESE = /[\u4e00-\u9fff\u3400-\u4dbf\u{20000}-\u{2a6df}\u{2a700}-\u{2ceaf}\uf900-\ufaff\u{2f800}-\u{2fa1f}]/gu
const MOST_KNOWN = 100_000 // words whose tokens are remembered

function refuse (text) {
  throw new TypeError(`Tokenizer: tokenizer.json: ${text}`)
}

/** A part of a file by its type, null if there is none. */
function byType (table, part, what) {
  if (part == null) return null
  if (!isOptions(part) || !Object.hasOwn(table, part.type)) {
    refuse(`${what}: ${show(part?.type ?? part)}, expected one of ${Object.keys(table).join(', ')}`)
  }
  try {
    return table[part.type](part)
  } catch (error) {
    return refuse(`${what}: ${part.type}: ${error.message}`)
  }
}

const sequence = (parts, table, what) => {
  if (!Array.isArray(parts)) throw new TypeError(`${show(parts)}, expected a list`)
  return parts.map((part) => byType(table, part, what))
}

const escaped = (text) => text.replace(/[\\^$.*+?()[\]{}|/]/g, '\\$&')
const anyCase = (text) => text.replace(/\p{L}/gu, (c) => c.toLowerCase() === c.toUpperCase() ? c : `[${c.toLowerCase()}${c.toUpperCase()}]`)

/** An expression of Oniguruma as one of JavaScript: groups without case are spelled out, and needless escapes left out. */
function expressionOf (pattern) {
  if (isOptions(pattern) && typeof pattern.String === 'string') return new RegExp(escaped(pattern.String), 'gu')
  const source = isOptions(pattern) ? pattern.Regex : pattern
  if (typeof source !== 'string') throw new TypeError(`pattern: ${show(pattern)}, expected a text or an expression`)
  const plain = source.replace(/\(\?i:((?:[^()\\]|\\.)*)\)/gu, (_, inner) => `(?:${anyCase(inner)})`)
    .replace(/\\([^\w^$\\.*+?()[\]{}|/-])/gu, '$1').replace(/\\A/g, '^').replace(/\\[zZ]/g, '$')
  return new RegExp(plain, 'gu')
}

// Normalizers: texts of texts

const stripAccents = (text) => text.normalize('NFD').replace(/\p{Mn}/gu, '')

const NORMALIZERS = {
  NFC: () => (text) => text.normalize('NFC'),
  NFD: () => (text) => text.normalize('NFD'),
  NFKC: () => (text) => text.normalize('NFKC'),
  NFKD: () => (text) => text.normalize('NFKD'),
  Lowercase: () => (text) => text.toLowerCase(),
  Strip: ({ strip_left: left, strip_right: right }) => (text) => {
    const begun = left ? text.trimStart() : text
    return right ? begun.trimEnd() : begun
  },
  StripAccents: () => (text) => text.replace(/\p{Mn}/gu, ''),
  Replace: ({ pattern, content }) => {
    const regex = expressionOf(pattern)
    return (text) => text.replace(regex, () => content)
  },
  Prepend: ({ prepend }) => (text) => text === '' ? text : prepend + text,
  Nmt: () => (text) => text.replace(/[\0-\x08\x0b\x0e-\x1f\x7f\x8f\x9f]/g, '')
    .replace(/[\t\n\f\r\u1680\u200b-\u200f\u2028\u2029\u2581\ufeff\ufffd]/g, ' '),
  // The maps of SentencePiece that are compiled are NFKC with spaces for controls.
  Precompiled: () => (text) => text.normalize('NFKC').replace(/[\t\n\v\f\r]/g, ' ').replace(/\p{Cc}/gu, ''),
  ByteLevel: () => bytesAsCharacters,
  BertNormalizer: ({ clean_text: clean, handle_chinese_chars: chinese, strip_accents: accents, lowercase }) => (text) => {
    let out = text
    if (clean) out = out.replace(/[\t\n\r]/g, ' ').replace(/[\0\ufffd\p{Cc}\p{Cf}\p{Co}\p{Cn}\p{Cs}]/gu, '').replace(/\p{Zs}/gu, ' ')
    if (chinese) out = out.replace(CHINESE, ' $& ')
    if (accents ?? lowercase) out = stripAccents(out)
    return lowercase ? out.toLowerCase() : out
  },
  Sequence: ({ normalizers }) => {
    const all = sequence(normalizers, NORMALIZERS, 'normalizer')
    return (text) => all.reduce((now, f) => f(now), text)
  }
}

function bytesAsCharacters (text) {
  return Array.from(new TextEncoder().encode(text), (byte) => CHARACTER_OF.get(byte)).join('')
}

// Pre-tokenizers: lists of parts of a part. A part is a text, and whether the whole text begins with it.

/** What becomes of separators between parts: [text, whether it is one] in order. */
const BEHAVIORS = {
  Removed: (parts) => parts.filter(([, isSeparator]) => !isSeparator).map(([text]) => text),
  Isolated: (parts) => parts.map(([text]) => text),
  MergedWithPrevious: (parts) => parts.reduce((out, [text, is], i) => {
    if (is && i > 0 && !parts[i - 1][1]) out.push(out.pop() + text)
    else out.push(text)
    return out
  }, []),
  MergedWithNext: (parts) => parts.reduceRight((out, [text, is], i) => {
    if (is && i < parts.length - 1 && !parts[i + 1][1]) out.unshift(text + out.shift())
    else out.unshift(text)
    return out
  }, []),
  Contiguous: (parts) => parts.reduce((out, [text, is], i) => {
    if (i > 0 && parts[i - 1][1] === is) out.push(out.pop() + text)
    else out.push(text)
    return out
  }, [])
}

function splitter (regex, behavior, invert = false) {
  if (!Object.hasOwn(BEHAVIORS, behavior)) {
    throw new TypeError(`behavior: ${show(behavior)}, expected one of ${Object.keys(BEHAVIORS).join(', ')}`)
  }
  return ([text, first]) => {
    const parts = []
    let at = 0
    const until = (end) => { if (end > at) parts.push([text.slice(at, end), invert]) }
    for (const found of text.matchAll(regex)) {
      if (found[0] === '') continue
      until(found.index)
      parts.push([found[0], !invert])
      at = found.index + found[0].length
    }
    until(text.length)
    return BEHAVIORS[behavior](parts).map((part, i) => [part, first && i === 0])
  }
}

const matches = (regex) => ([text, first]) => Array.from(text.matchAll(regex), ([part], i) => [part, first && i === 0])

const PRE_TOKENIZERS = {
  ByteLevel: ({ add_prefix_space: prefix, use_regex: split = true }) => ([text, first]) => {
    const given = prefix && !text.startsWith(' ') ? ` ${text}` : text
    const words = split ? Array.from(given.matchAll(GPT2), ([word]) => word) : [given]
    return words.map((word, i) => [bytesAsCharacters(word), first && i === 0])
  },
  Metaspace: ({ replacement: mark = '\u2581', prepend_scheme: scheme, add_prefix_space: prefix = true, split = true }) => {
    const when = scheme ?? (prefix ? 'always' : 'never')
    const divide = splitter(new RegExp(escaped(mark), 'gu'), 'MergedWithNext')
    return ([text, first]) => {
      const given = text.replaceAll(' ', mark)
      const begins = (when === 'always' || (when === 'first' && first)) && !given.startsWith(mark)
      const whole = [begins ? mark + given : given, first]
      return split ? divide(whole) : [whole]
    }
  },
  Whitespace: () => matches(/[\p{L}\p{M}\p{Nd}\p{Nl}\p{Pc}]+|[^\s\p{L}\p{M}\p{Nd}\p{Nl}\p{Pc}]+/gu),
  WhitespaceSplit: () => matches(/\S+/gu),
  BertPreTokenizer: () => matches(new RegExp(`${PUNCTUATION}|(?:(?!${PUNCTUATION})\\S)+`, 'gu')),
  Punctuation: ({ behavior = 'Isolated' }) => splitter(new RegExp(PUNCTUATION, 'gu'), behavior),
  Split: ({ pattern, behavior, invert }) => splitter(expressionOf(pattern), behavior, invert),
  CharDelimiterSplit: ({ delimiter }) => splitter(new RegExp(escaped(delimiter), 'gu'), 'Removed'),
  Digits: ({ individual_digits: alone }) => splitter(/\p{N}/gu, alone ? 'Isolated' : 'Contiguous'),
  Sequence: ({ pretokenizers }) => {
    const all = sequence(pretokenizers, PRE_TOKENIZERS, 'pre_tokenizer')
    return (part) => all.reduce((parts, f) => parts.flatMap((own) => own[0] === '' ? [] : f(own)), [part])
  }
}

// Models: the tokens of a word

const isVocabulary = (vocab) => isOptions(vocab) && Object.values(vocab).every((id) => Number.isInteger(id) && id >= 0)

function vocabularyOf ({ vocab }) {
  if (!isVocabulary(vocab)) throw new TypeError(`vocab: ${show(vocab)}, expected tokens and their numbers`)
  return new Map(Object.entries(vocab))
}

const hexName = (byte) => `<0x${byte.toString(16).toUpperCase().padStart(2, '0')}>`

/** The tokens of the bytes of a text, null if the vocabulary lacks one. */
function bytesIn (vocab, text) {
  const found = Array.from(new TextEncoder().encode(text), (byte) => vocab.get(hexName(byte)))
  return found.includes(undefined) ? null : found
}

const MODELS = {
  BPE: (part) => {
    const vocab = vocabularyOf(part)
    const { merges = [], unk_token: unknown, fuse_unk: fuse, byte_fallback: bytes, ignore_merges: wholeFirst } = part
    const [prefix, suffix] = [part.continuing_subword_prefix ?? '', part.end_of_word_suffix ?? '']
    const ranks = new Map()
    for (const [i, pair] of merges.entries()) {
      const [a, b, ...rest] = Array.isArray(pair) ? pair : String(pair).split(' ')
      const joined = typeof b === 'string' ? a + b.slice(prefix !== '' && b.startsWith(prefix) ? prefix.length : 0) : undefined
      if (rest.length > 0 || !vocab.has(joined)) throw new TypeError(`merges[${i}]: ${show(pair)}, expected two tokens that make one`)
      ranks.set(`${a} ${b}`, [i, joined])
    }
    const merged = (parts) => {
      for (;;) {
        let best = null
        let at = -1
        for (let i = 0; i + 1 < parts.length; i++) {
          const found = ranks.get(`${parts[i]} ${parts[i + 1]}`)
          if (found !== undefined && (best === null || found[0] < best[0])) [best, at] = [found, i]
        }
        if (best === null) return parts
        parts.splice(at, 2, best[1])
      }
    }
    return { vocab, tokens: (word) => {
      if (wholeFirst && vocab.has(word)) return [vocab.get(word)]
      const chars = Array.from(word)
      const names = chars.map((c, i) => (i > 0 ? prefix : '') + c + (i === chars.length - 1 ? suffix : ''))
      // Runs of characters that are merged, and tokens between them of those that the vocabulary lacks.
      const out = []
      let run = []
      let lastUnknown = false
      const flush = () => {
        out.push(...merged(run).map((token) => vocab.get(token)))
        run = []
      }
      names.forEach((name, i) => {
        if (vocab.has(name)) {
          run.push(name)
          lastUnknown = false
          return
        }
        const found = bytes ? bytesIn(vocab, chars[i]) : null
        if (found !== null) {
          run.push(...Array.from(new TextEncoder().encode(chars[i]), hexName))
          lastUnknown = false
          return
        }
        flush()
        if (unknown == null || (fuse && lastUnknown)) return
        if (!vocab.has(unknown)) throw new RangeError(`encode: ${show(unknown)}, the token of unknown characters, is not in the vocabulary`)
        out.push(vocab.get(unknown))
        lastUnknown = true
      })
      flush()
      return out
    } }
  },
  WordPiece: (part) => {
    const vocab = vocabularyOf(part)
    const { unk_token: unknown = '[UNK]', continuing_subword_prefix: prefix = '##', max_input_chars_per_word: most = 100 } = part
    if (!vocab.has(unknown)) throw new TypeError(`unk_token: ${show(unknown)} is not in the vocabulary`)
    return { vocab, tokens: (word) => {
      const chars = Array.from(word)
      if (chars.length > most) return [vocab.get(unknown)]
      const out = []
      for (let at = 0; at < chars.length;) {
        let end = chars.length
        const name = () => (at > 0 ? prefix : '') + chars.slice(at, end).join('')
        while (end > at && !vocab.has(name())) end--
        if (end === at) return [vocab.get(unknown)]
        out.push(vocab.get(name()))
        at = end
      }
      return out
    } }
  },
  WordLevel: (part) => {
    const vocab = vocabularyOf(part)
    const unknown = vocab.get(part.unk_token)
    return { vocab, tokens: (word) => {
      const found = vocab.get(word) ?? unknown
      if (found === undefined) throw new RangeError(`encode: ${show(word)} is not in the vocabulary, which has no token of unknown words`)
      return [found]
    } }
  },
  Unigram: (part) => {
    const { vocab: given, unk_id: unknown, byte_fallback: bytes } = part
    const model = new Unigram(piecesOf(given, unknown ?? null, bytes === true))
    const vocab = new Map(given.map(([piece], id) => [piece, id]))
    return { vocab, tokens: (word) => model.tokensOf(word) }
  }
}

// Post-processors: tokens around those of the text

const around = ({ cls, sep }) => {
  const idOf = (pair) => {
    if (!Array.isArray(pair) || !Number.isInteger(pair[1])) throw new TypeError(`${show(pair)}, expected a token and its number`)
    return pair[1]
  }
  const [first, last] = [idOf(cls), idOf(sep)]
  return (tokens) => [first, ...tokens, last]
}

const POST_PROCESSORS = {
  BertProcessing: around,
  RobertaProcessing: around,
  ByteLevel: () => (tokens) => tokens,
  TemplateProcessing: ({ single, special_tokens: special }) => {
    const parts = single.map((part) => {
      if (isOptions(part.Sequence)) return null
      const ids = special?.[part.SpecialToken?.id]?.ids
      if (!Array.isArray(ids)) throw new TypeError(`single: ${show(part)}, expected a sequence or a special token`)
      return ids
    })
    return (tokens) => parts.flatMap((ids) => ids ?? tokens)
  },
  Sequence: ({ processors }) => {
    const all = sequence(processors, POST_PROCESSORS, 'post_processor')
    return (tokens) => all.reduce((now, f) => f(now), tokens)
  }
}

// Decoders: texts of tokens, whose concatenation is the text

const cleaned = (text) => text.replace(/ ([.?!,])/g, '$1').replace(/ ' /g, "'").replace(/ (n't|'m|'s|'ve|'re)/g, '$1')
  .replaceAll(' do not', " don't")

const DECODERS = {
  ByteLevel: () => (tokens) => {
    const bytes = Array.from(tokens.join(''), (c) => BYTE_OF.get(c) ?? c)
      .flatMap((b) => typeof b === 'number' ? [b] : [...new TextEncoder().encode(b)])
    return [new TextDecoder().decode(Uint8Array.from(bytes))]
  },
  WordPiece: ({ prefix = '##', cleanup = true }) => (tokens) => tokens.map((token, i) => {
    let text = token
    if (i > 0) text = token.startsWith(prefix) ? token.slice(prefix.length) : ` ${token}`
    return cleanup ? cleaned(text) : text
  }),
  Metaspace: ({ replacement: mark = '\u2581', prepend_scheme: scheme, add_prefix_space: prefix = true }) => {
    const strips = (scheme ?? (prefix ? 'always' : 'never')) !== 'never'
    return (tokens) => tokens.map((token, i) => {
      const text = i === 0 && strips && token.startsWith(mark) ? token.slice(mark.length) : token
      return text.replaceAll(mark, ' ')
    })
  },
  BPEDecoder: ({ suffix = '</w>' }) => (tokens) => tokens.map((token, i) => token.replaceAll(suffix, i === tokens.length - 1 ? '' : ' ')),
  Replace: ({ pattern, content }) => {
    const regex = expressionOf(pattern)
    return (tokens) => tokens.map((token) => token.replace(regex, () => content))
  },
  ByteFallback: () => (tokens) => {
    const out = []
    let bytes = []
    const flush = () => {
      if (bytes.length === 0) return
      try {
        out.push(new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(Uint8Array.from(bytes)))
      } catch {
        out.push(...bytes.map(() => '\ufffd'))
      }
      bytes = []
    }
    for (const token of tokens) {
      const found = /^<0x([0-9A-Fa-f]{2})>$/.exec(token)
      if (found !== null) {
        bytes.push(Number.parseInt(found[1], 16))
        continue
      }
      flush()
      out.push(token)
    }
    flush()
    return out
  },
  Fuse: () => (tokens) => [tokens.join('')],
  Strip: ({ content, start = 0, stop = 0 }) => (tokens) => tokens.map((token) => {
    const chars = Array.from(token)
    let [from, to] = [0, chars.length]
    while (from < Math.min(start, chars.length) && chars[from] === content) from++
    while (to > from && chars.length - to < stop && chars[to - 1] === content) to--
    return chars.slice(from, to).join('')
  }),
  CTC: ({ pad_token: pad = '<pad>', word_delimiter_token: delimiter = '|', cleanup = true }) => (tokens) => tokens
    .filter((token, i) => token !== tokens[i - 1])
    .map((token) => {
      const text = token.replaceAll(pad, '')
      return cleanup ? cleaned(text).replaceAll(delimiter, ' ') : text
    }).filter((text) => text !== ''),
  Sequence: ({ decoders }) => {
    const all = sequence(decoders, DECODERS, 'decoder')
    return (tokens) => all.reduce((now, f) => f(now), tokens)
  }
}

const isWord = (c) => c !== undefined && /[\p{L}\p{M}\p{N}\p{Pc}]/u.test(c)

/** Texts that are tokens wherever they are: those with a longer text first. */
class Added {
  constructor (tokens, textOf) {
    this._byText = new Map(tokens.map((token) => [textOf(token.content), token]).filter(([text]) => text !== ''))
    const texts = [...this._byText.keys()].sort((a, b) => b.length - a.length)
    this._regex = texts.length === 0 ? null : new RegExp(texts.map(escaped).join('|'), 'gu')
  }

  /** Parts of a text: texts, and the numbers of tokens. */
  split (text) {
    if (this._regex === null) return [text]
    const parts = []
    let at = 0
    for (const found of text.matchAll(this._regex)) {
      const token = this._byText.get(found[0])
      let [start, end] = [found.index, found.index + found[0].length]
      if (start < at) continue
      if (token.single_word && (isWord(text.slice(0, start).at(-1)) || isWord(text[end]))) continue
      if (token.lstrip) start = Math.max(at, text.slice(0, start).trimEnd().length)
      if (token.rstrip) end = text.length - text.slice(end).trimStart().length
      if (start > at) parts.push(text.slice(at, start))
      parts.push(token.id)
      at = end
    }
    if (at < text.length) parts.push(text.slice(at))
    return parts
  }
}

/** The tokens of texts by a tokenizer.json. */
class Tokenizer {
  /** @param {object} file what JSON.parse makes of a tokenizer.json */
  constructor (file) {
    if (!isOptions(file)) refuse(`${show(file)}, expected an object`)
    this._normalize = byType(NORMALIZERS, file.normalizer, 'normalizer') ?? ((text) => text)
    this._preTokenize = byType(PRE_TOKENIZERS, file.pre_tokenizer, 'pre_tokenizer') ?? ((part) => [part])
    const kind = file.model?.type ?? (isOptions(file.model) && Array.isArray(file.model.merges) ? 'BPE' : undefined)
    this._model = byType(MODELS, isOptions(file.model) ? { ...file.model, type: kind } : { type: file.model }, 'model')
    this._process = byType(POST_PROCESSORS, file.post_processor, 'post_processor') ?? ((tokens) => tokens)
    this._decode = byType(DECODERS, file.decoder, 'decoder')
    const added = file.added_tokens ?? []
    if (!Array.isArray(added) || !added.every((t) => isOptions(t) && typeof t.content === 'string' && Number.isInteger(t.id))) {
      refuse('added_tokens: expected a list of tokens with content and id')
    }
    this._special = new Set(added.filter(({ special }) => special).map(({ id }) => id))
    this._texts = new Map(Array.from(this._model.vocab, ([text, id]) => [id, text]))
    for (const { id, content } of added) this._texts.set(id, content)
    this._ids = new Map([...this._model.vocab, ...added.map(({ id, content }) => [content, id])])
    this._raw = new Added(added.filter(({ normalized }) => !normalized), (text) => text)
    this._normalized = new Added(added.filter(({ normalized }) => normalized), this._normalize)
    this._known = new Map()
  }

  static fromJSON (text) {
    const given = text instanceof Uint8Array ? new TextDecoder('utf-8', { fatal: true }).decode(text) : text
    if (typeof given !== 'string') throw new TypeError(`Tokenizer.fromJSON: text: ${show(text)}, expected a text or bytes`)
    let file
    try {
      file = JSON.parse(given)
    } catch (error) {
      refuse(error.message)
    }
    return new Tokenizer(file)
  }

  get vocabSize () {
    return this._texts.size
  }

  tokenToId (token) {
    return this._ids.get(token)
  }

  idToToken (id) {
    return this._texts.get(id)
  }

  encode (text, { addSpecialTokens = true } = {}) {
    if (typeof text !== 'string') throw new TypeError(`encode: text: ${show(text)}, expected a text`)
    const tokens = []
    let first = true
    for (const part of this._raw.split(text)) {
      if (typeof part === 'number') tokens.push(part)
      else {
        for (const own of this._normalized.split(this._normalize(part))) {
          if (typeof own === 'number') tokens.push(own)
          else tokens.push(...this._preTokenize([own, first]).flatMap(([word]) => this._tokens(word)))
          first = false
        }
      }
      first = false
    }
    return addSpecialTokens ? this._process(tokens) : tokens
  }

  _tokens (word) {
    if (word === '') return []
    let found = this._known.get(word)
    if (found === undefined) {
      found = this._model.tokens(word)
      if (this._known.size < MOST_KNOWN) this._known.set(word, found)
    }
    return found
  }

  decode (ids, { skipSpecialTokens = true } = {}) {
    const texts = []
    for (const id of ids) {
      const text = this._texts.get(Number(id))
      if (text === undefined) throw new RangeError(`decode: ids: ${show(id)} is no token of the tokenizer`)
      if (!skipSpecialTokens || !this._special.has(Number(id))) texts.push(text)
    }
    return this._decode === null ? texts.join(' ') : this._decode(texts).join('')
  }
}

module.exports = { Tokenizer }

export type BpeEncodingName = 'clip' | 'r50k_base' | 'p50k_base' | 'p50k_edit' | 'cl100k_base' | 'o200k_base' | 'o200k_harmony' |
  (string & {})

/** The tokenizer of a vocabulary, which is downloaded once. */
export function getBpe(name: BpeEncodingName): Promise<BpeEncoding>

/** Byte pair encoding by ranks: the pair of the lowest rank is merged first. */
export class BpeEncoding {
  /** Tokens by their bytes in hexadecimal digits. encoder and decoder are created on first use. */
  readonly encoder: Map<string, number>
  readonly specialTokensEncoder: Map<string, number>
  readonly decoder: Map<number, string>
  readonly specialTokensDecoder: Map<number, string>
  /** Matches the words into which texts are split; undefined for vocabularies of getBpe. */
  readonly regex?: RegExp
  /** The expression is read in tiktoken's syntax: \s, \d and \w are Unicode's, and backreferences are not supported. */
  constructor(encoder: Map<string, number>, specialTokens: Record<string, number>, regex: RegExp)
  /** The text of tokens; invalid UTF-8 is replaced. A number that is not a token is a RangeError. */
  decode(tokens: Iterable<number>): string
  /** The bytes of tokens. */
  decodeBytes(tokens: Iterable<number>): Uint8Array
  /** The tokens of a text. The text of an allowed special token becomes that token; with "refuse" such a text is a RangeError. */
  encode(text: string, allowedSpecial?: Iterable<string> | 'all' | 'none' | 'refuse'): number[]
  /** The texts of special tokens. */
  specialTokens(): Set<string>
  /** encode with all special tokens. */
  encodeWithSpecialTokens(text: string): number[]
}

/** A tokenizer by a SentencePiece model, unigram or BPE. */
export class Unigram {
  private constructor()
  /** Reads a model from the bytes of its file; other bytes are a TypeError. */
  static fromBinary(data: Uint8Array): Unigram
  encode(text: string): number[]
  decode(tokens: Iterable<number>): string
  /** The numbers of <s>, </s> and <unk>, -1 if there is no such piece. */
  get bosToken(): number
  get eosToken(): number
  get unkToken(): number
  get vocabSize(): number
}

/** Downloads a model from a URL. */
export function loadSentencePiece(url: string): Promise<Unigram>

/** How the text of a special token is encoded: as the token, as ordinary text, as a RangeError; a list: as the token for the texts in it. */
export type AllowedSpecial = 'all' | 'none' | 'refuse' | Iterable<string>

/**
 * A tokenizer by a tokenizer.json of Hugging Face (all normalizers, pre-tokenizers, models, post-processors and
 * decoders), a SentencePiece model, a GGUF file, or ranks. generate accepts it as its
 * tokenizer. In browsers the library must have started: `await init()`.
 */
export class Tokenizer {
  /**
   * @param file a tokenizer.json, as text or parsed, or the bytes of a file; anything else is a TypeError
   * @param name for files of ranks: the vocabulary of tiktoken, or "clip"
   */
  constructor(file: object | string | Uint8Array, name?: string)
  /** Creates a tokenizer from a tokenizer.json, as text or bytes. */
  static fromJSON(text: string | Uint8Array): Tokenizer
  /** The tokens of a text, or of a pair of texts. */
  encode(text: string | [string, string], options?: EncodeOptions): number[]
  /** Encodes several texts, or pairs of texts, in parallel threads. */
  encodeBatch(texts: Iterable<string> | Iterable<[string, string]>, options?: EncodeOptions): number[][]
  /** The text of tokens, without special ones unless skipSpecialTokens is false. A number that is not a token is a RangeError. */
  decode(ids: Iterable<number>, options?: { skipSpecialTokens?: boolean }): string
  /** The bytes of tokens, which may be invalid UTF-8. */
  decodeBytes(ids: Iterable<number>): Uint8Array
  /** An incremental decoder for the tokens that follow those in before, whose text it does not return. */
  stream(before?: Iterable<number>): TextStream
  /** The number of a token, undefined if there is none. */
  tokenToId(token: string): number | undefined
  /** The text of a token, undefined if there is none. */
  idToToken(id: number): string | undefined
  /** The special tokens by their texts. */
  get specialTokens(): Record<string, number>
  /** The number of tokens. */
  get vocabSize(): number
}

/** How texts are encoded. truncation and padding are objects as in a tokenizer.json; true selects those of the tokenizer's own file. */
export interface EncodeOptions {
  /** Adds the special tokens that the model expects around a text; true by default. */
  addSpecialTokens?: boolean
  allowedSpecial?: AllowedSpecial
  /** Truncates texts; tokens that are cut off are dropped. */
  truncation?: boolean | {
    max_length: number, strategy?: 'LongestFirst' | 'OnlyFirst' | 'OnlySecond', direction?: 'Right' | 'Left', stride?: number
  }
  /** Pads the rows of a batch to one length. */
  padding?: boolean | {
    strategy?: 'BatchLongest' | { Fixed: number }, direction?: 'Right' | 'Left', pad_to_multiple_of?: number | null, pad_id?: number,
    pad_type_id?: number, pad_token?: string
  }
}

/** An incremental decoder: see Tokenizer.stream. */
export class TextStream {
  private constructor()
  /** Adds tokens and returns the new text. The bytes of an incomplete character are held back; a call without tokens returns them as U+FFFD. */
  push(...ids: number[]): string
}

/** Downloads a tokenizer from a URL. */
export function loadTokenizer(url: string): Promise<Tokenizer>

export type BpeEncodingName = 'clip' | 'r50k_base' | 'p50k_base' | 'p50k_edit' | 'cl100k_base' | 'o200k_base' | 'o200k_harmony' |
  (string & {})

/** The tokens of a vocabulary, which is fetched once. */
export function getBpe(name: BpeEncodingName): Promise<BpeEncoding>

/** Tokens of byte pairs by ranks: the pair of the lowest rank is merged first. */
export class BpeEncoding {
  /** Tokens by their bytes in hexadecimal digits; made when it is first asked for, as decoder. */
  readonly encoder: Map<string, number>
  readonly specialTokensEncoder: Map<string, number>
  readonly decoder: Map<number, string>
  readonly specialTokensDecoder: Map<number, string>
  /** What texts are split into; undefined of vocabularies of getBpe. */
  readonly regex?: RegExp
  /** The expression is read as one of tiktoken's: \s, \d and \w are Unicode's, and there are no references. */
  constructor(encoder: Map<string, number>, specialTokens: Record<string, number>, regex: RegExp)
  /** The text of tokens; bytes that are no text are replaced. A number that is no token is a RangeError. */
  decode(tokens: Iterable<number>): string
  /** The bytes of tokens. */
  decodeBytes(tokens: Iterable<number>): Uint8Array
  /** The tokens of a text; special tokens are those that are allowed, "refuse" makes their texts a RangeError. */
  encode(text: string, allowedSpecial?: Iterable<string> | 'all' | 'none' | 'refuse'): number[]
  /** The texts of special tokens. */
  specialTokens(): Set<string>
  /** encode with all special tokens. */
  encodeWithSpecialTokens(text: string): number[]
}

/** Pieces of texts, by a model of SentencePiece, unigram or BPE. */
export class Unigram {
  private constructor()
  /** A model of a file; what is none is a TypeError. */
  static fromBinary(data: Uint8Array): Unigram
  encode(text: string): number[]
  decode(tokens: Iterable<number>): string
  /** The numbers of <s>, </s> and <unk>, -1 if there is no such piece. */
  get bosToken(): number
  get eosToken(): number
  get unkToken(): number
  get vocabSize(): number
}

/** The model of a file at a URL. */
export function loadSentencePiece(url: string): Promise<Unigram>

/** What texts of special tokens are: tokens, text, a RangeError, or those of a list tokens and others text. */
export type AllowedSpecial = 'all' | 'none' | 'refuse' | Iterable<string>

/**
 * Tokens of texts by a tokenizer.json of Hugging Face (all normalizers, pre-tokenizers, models, post-processors and
 * decoders), a model of SentencePiece, a GGUF file, or ranks. It serves
 * generate as its tokenizer. In browsers the library must have started: `await init()`.
 */
export class Tokenizer {
  /**
   * @param file a tokenizer.json, also as JSON.parse reads it, or the bytes of a file; what is none is a TypeError
   * @param name of ranks: the vocabulary of tiktoken, or "clip"
   */
  constructor(file: object | string | Uint8Array, name?: string)
  /** A tokenizer of a text or its bytes. */
  static fromJSON(text: string | Uint8Array): Tokenizer
  /** The tokens of a text, or of two that are a pair. */
  encode(text: string | [string, string], options?: EncodeOptions): number[]
  /** encode of several texts, or pairs, which threads share. */
  encodeBatch(texts: Iterable<string> | Iterable<[string, string]>, options?: EncodeOptions): number[][]
  /** The text of tokens, without special ones unless skipSpecialTokens is false. A number that is no token is a RangeError. */
  decode(ids: Iterable<number>, options?: { skipSpecialTokens?: boolean }): string
  /** The bytes of tokens, which may be no text. */
  decodeBytes(ids: Iterable<number>): Uint8Array
  /** A text that grows by tokens, behind some whose text is known. */
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

/** How texts are encoded. Truncation and padding are in the words of a tokenizer.json; true stands for what the file says. */
export interface EncodeOptions {
  /** Puts the tokens around a text that the model wants; true unless given. */
  addSpecialTokens?: boolean
  allowedSpecial?: AllowedSpecial
  /** Cuts tokens off, which are dropped. */
  truncation?: boolean | {
    max_length: number, strategy?: 'LongestFirst' | 'OnlyFirst' | 'OnlySecond', direction?: 'Right' | 'Left', stride?: number
  }
  /** Makes the rows of a batch equally long. */
  padding?: boolean | {
    strategy?: 'BatchLongest' | { Fixed: number }, direction?: 'Right' | 'Left', pad_to_multiple_of?: number | null, pad_id?: number,
    pad_type_id?: number, pad_token?: string
  }
}

/** A text that grows by tokens. */
export class TextStream {
  private constructor()
  /** The text that tokens add; the bytes of an incomplete character are kept back until a call without tokens. */
  push(...ids: number[]): string
}

/** The tokenizer of a file at a URL. */
export function loadTokenizer(url: string): Promise<Tokenizer>

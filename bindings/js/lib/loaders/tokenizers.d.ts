export type BpeEncodingName = 'clip' | 'r50k_base' | 'p50k_base' | 'p50k_edit' | 'cl100k_base' | 'o200k_base' | 'o200k_harmony' |
  (string & {})

/** The tokens of a vocabulary, which is fetched once. */
export function getBpe(name: BpeEncodingName): Promise<BpeEncoding>

/** Tokens of byte pairs by ranks: the pair of the lowest rank is merged first. */
export class BpeEncoding {
  /** Tokens by their bytes in hexadecimal digits. */
  encoder: Map<string, number>
  specialTokensEncoder: Map<string, number>
  decoder: Map<number, string>
  specialTokensDecoder: Map<number, string>
  regex: RegExp
  specialRegex: RegExp
  constructor(encoder: Map<string, number>, specialTokens: Record<string, number>, regex: RegExp)
  /** The text of tokens; bytes that are no text are replaced. A number that is no token is a RangeError. */
  decode(tokens: number[]): string
  /** The bytes of tokens. */
  decodeBytes(tokens: number[]): Uint8Array
  /** The tokens of a text; special tokens are those that are allowed. */
  encode(text: string, allowedSpecial?: Set<string>): number[]
  /** The texts of special tokens. */
  specialTokens(): Set<string>
  /** encode with all special tokens. */
  encodeWithSpecialTokens(text: string): number[]
  _beforeDecode(tokens: number[]): number[]
  _beforeEncode(text: string): string
  _afterEncode(tokens: number[]): number[]
}

/** The most likely pieces of texts, by SentencePiece's unigram models. Characters are normalised by NFKC. */
export class Unigram {
  private constructor()
  /** A model of a file; what is none is a TypeError. */
  static fromBinary(data: Uint8Array): Unigram
  encode(text: string): number[]
  decode(tokens: number[]): string
  get bosToken(): number
  get eosToken(): number
  get unkToken(): number
  get vocabSize(): number
}

/** The model of a file at a URL. */
export function loadSentencePiece(url: string): Promise<Unigram>

/**
 * Tokens of texts by a tokenizer.json of Hugging Face: all normalizers, pre-tokenizers, models (BPE, WordPiece, Unigram, WordLevel),
 * post-processors and decoders but the pre-tokenizer UnicodeScripts. Truncation and padding are not applied; precompiled maps of
 * SentencePiece count as NFKC. It serves generate and pipelines of texts as their tokenizer.
 */
export class Tokenizer {
  /** @param file what JSON.parse makes of a tokenizer.json; what is none is a TypeError */
  constructor(file: unknown)
  /** A tokenizer of a text or its bytes. */
  static fromJSON(text: string | Uint8Array): Tokenizer
  /** The tokens of a text, with those that the model wants around it unless addSpecialTokens is false. */
  encode(text: string, options?: { addSpecialTokens?: boolean }): number[]
  /** The text of tokens, without special ones unless skipSpecialTokens is false. A number that is no token is a RangeError. */
  decode(ids: Iterable<number>, options?: { skipSpecialTokens?: boolean }): string
  /** The number of a token, undefined if there is none. */
  tokenToId(token: string): number | undefined
  /** The text of a token, undefined if there is none. */
  idToToken(id: number): string | undefined
  /** The number of tokens. */
  get vocabSize(): number
}

/** The tokenizer of a tokenizer.json at a URL. */
export function loadTokenizer(url: string): Promise<Tokenizer>

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

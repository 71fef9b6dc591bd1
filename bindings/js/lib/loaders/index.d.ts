/** Files of models and their tokens: programs that are written for @jax-js/loaders run on this module. */

import type * as files from './safetensors.js'
import type * as tokens from './tokenizers.js'

export type FetchProgress = { loadedBytes: number, totalBytes?: number }

/** What is known of a file. */
export interface OPFSFileInfo { name: string, lastModified: Date, size: number }

/** Files by their names: in browsers in the origin's private file system, in Node in ~/.cache/polygrad/files or POLYGRAD_CACHE. */
export class OPFS {
  /** Keeps bytes under a name. */
  write(name: string, data: Uint8Array): Promise<void>
  /** The bytes of a name, null if there are none. */
  read(name: string): Promise<Uint8Array | null>
  /** What is known of a name, null if it is not there. */
  info(name: string): Promise<OPFSFileInfo | null>
  /** What is there. */
  list(): Promise<OPFSFileInfo[]>
  /** Takes a name away, and gives what was known of it. */
  remove(name: string): Promise<OPFSFileInfo | null>
  /** Takes all names away. */
  clear(): Promise<void>
}

/** The files of cachedFetch. */
export const opfs: OPFS

/** The bytes at a URL, which are kept for the next call. onProgress is told how many have come. An answer that is no success is an Error. */
export function cachedFetch(
  input: string | URL, init?: RequestInit, onProgress?: (progress: FetchProgress) => void
): Promise<Uint8Array>

/** Rules by which names of weights become others. */
export interface WeightMapperParams {
  exact: Record<string, string>
  prefix: Record<string, string>
  suffix: Record<string, string>
  substring: Record<string, string>
  /** Whether words behind _ begin with a capital instead. */
  autoCamelCase: boolean
}

/** Names of weights in the words of another program. */
export class WeightMapper {
  constructor(params: Partial<WeightMapperParams>)
  /** A name by one exact rule, or by the first rule for its beginning, the first for its end and all for its parts. */
  mapKey(key: string): string
  /** The name that mapKey makes another one of. */
  unmapKey(key: string): string
  mapObject<T>(obj: Record<string, T>): Record<string, T>
  unmapObject<T>(obj: Record<string, T>): Record<string, T>
}

/** Files in the format safetensors. Those in shards are read by safeLoad of nn, and files in the format GGUF by its ggufLoad. */
export const safetensors: typeof files

/**
 * A tensor of a file of NumPy: its type as NumPy names it, b1, i4, f8; float16 are Float16Array, or bits where there is none, and
 * complex numbers, c8 and c16, real and imaginary parts in turn.
 */
export interface NpyTensor {
  dtype: string
  shape: number[]
  data: Uint8Array | Int8Array | Uint16Array | Int16Array | Uint32Array | Int32Array | BigUint64Array | BigInt64Array | Float32Array |
    Float64Array
}

/**
 * Files of one tensor, as numpy.save writes them; numbers in columns are put in rows. What is none is a TypeError. format writes one,
 * of the type of its array unless it says another one.
 */
export const npy: {
  parse(data: Uint8Array | ArrayBuffer): NpyTensor
  format(tensor: Pick<NpyTensor, 'shape' | 'data'> & Partial<NpyTensor>): Uint8Array
}

/** Archives of tensors by their names, as numpy.savez and savez_compressed write them. What is none is a TypeError. */
export const npz: { parse(data: Uint8Array | ArrayBuffer): Promise<Record<string, NpyTensor>> }

/** Tokens of texts. */
export const tokenizers: typeof tokens

/** Files of models and their tokens: programs that are written for @jax-js/loaders run on this module. */

import type * as files from './safetensors.js'
import type * as tokens from './tokenizers.js'

export type FetchProgress = { loadedBytes: number, totalBytes?: number }

/** The properties of a file. */
export interface OPFSFileInfo { name: string, lastModified: Date, size: number }

/** Files by their names: in browsers in the origin's private file system, in Node in ~/.cache/polygrad/files or POLYGRAD_CACHE. */
export class OPFS {
  /** Stores bytes under a name. */
  write(name: string, data: Uint8Array): Promise<void>
  /** The contents of a file, null if there is none. */
  read(name: string): Promise<Uint8Array | null>
  /** The properties of a file, null if there is none. */
  info(name: string): Promise<OPFSFileInfo | null>
  /** The properties of all files. */
  list(): Promise<OPFSFileInfo[]>
  /** Removes a file, and returns its properties; null if there is none. */
  remove(name: string): Promise<OPFSFileInfo | null>
  /** Removes all files. */
  clear(): Promise<void>
}

/** The cache of cachedFetch. */
export const opfs: OPFS

/** The bytes at a URL, cached for later calls. onProgress receives the number of bytes so far. A response without success is an Error. */
export function cachedFetch(
  input: string | URL, init?: RequestInit, onProgress?: (progress: FetchProgress) => void
): Promise<Uint8Array>

/** Rules that rename weights. */
export interface WeightMapperParams {
  exact: Record<string, string>
  prefix: Record<string, string>
  suffix: Record<string, string>
  substring: Record<string, string>
  /** Whether names are changed from snake_case to camelCase. */
  autoCamelCase: boolean
}

/** Renames weights to the names of another program. */
export class WeightMapper {
  constructor(params: Partial<WeightMapperParams>)
  /** Renames by an exact rule if there is one, else by the first prefix rule, the first suffix rule and all rules for parts of the name. */
  mapKey(key: string): string
  /** Applies the rules in reverse: the name that mapKey renames to key. */
  unmapKey(key: string): string
  mapObject<T>(obj: Record<string, T>): Record<string, T>
  unmapObject<T>(obj: Record<string, T>): Record<string, T>
}

/** Files in the format safetensors. safeLoad of nn reads sharded files, and ggufLoad of nn files in the format GGUF. */
export const safetensors: typeof files

/**
 * A tensor of a file of NumPy. dtype is NumPy's name of the type: b1, i4, f8. float16 is a Float16Array, or bits where there is none;
 * complex numbers (c8, c16) are alternating real and imaginary parts.
 */
export interface NpyTensor {
  dtype: string
  shape: number[]
  data: Uint8Array | Int8Array | Uint16Array | Int16Array | Uint32Array | Int32Array | BigUint64Array | BigInt64Array | Float32Array |
    Float64Array
}

/**
 * Files of one tensor, as numpy.save writes them. Elements in column-major order are reordered to row-major. parse throws a TypeError for
 * bytes that are not such a file. format writes one, of the type of its array unless dtype is given.
 */
export const npy: {
  parse(data: Uint8Array | ArrayBuffer): NpyTensor
  format(tensor: Pick<NpyTensor, 'shape' | 'data'> & Partial<NpyTensor>): Uint8Array
}

/** Archives of named tensors, as numpy.savez and savez_compressed write them. Bytes that are not such an archive are a TypeError. */
export const npz: { parse(data: Uint8Array | ArrayBuffer): Promise<Record<string, NpyTensor>> }

/** Tokenizers. */
export const tokenizers: typeof tokens

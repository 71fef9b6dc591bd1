/** The whole library in a worker: calls are sent to the worker and answered asynchronously, so the calling thread never blocks. */

type Package = typeof import('../../index.js')

/** Values that are copied between threads. */
type Data =
  | undefined | null | boolean | number | string | bigint | Date | RegExp | Blob
  | ArrayBuffer | SharedArrayBuffer | ArrayBufferView | Map<unknown, unknown> | Set<unknown>

/** The result of await: data is copied, also in lists and object literals; objects of the worker stay there and are represented by a Remote. */
export type Settled<T> =
  T extends Data ? T
    : T extends readonly (infer E)[] ? Settled<E>[]
      : Omit<Remote<T>, 'then' | 'catch' | 'finally'>

/**
 * A proxy of an object in the worker: its properties are proxies, calls are sent at once, and await reads the value. Arguments are data or
 * proxies; the worker checks them.
 */
export type Remote<T> = Promise<Settled<T>>
  & (T extends abstract new (...args: never) => infer R ? new (...args: unknown[]) => Remote<R> : unknown)
  & (T extends (...args: never) => infer R ? (...args: unknown[]) => Remote<Awaited<R>> : unknown)
  & (T extends Data ? unknown : { -readonly [K in Exclude<keyof T, symbol | 'then'>]: Remote<T[K]> })

/**
 * Starts a worker and returns a proxy pg of the package in it.
 *
 * Calls on pg are sent in order and return at once; only await waits, for the value that it reads. If a call fails, everything that is
 * computed from its result fails, too; if nothing is, the next await fails. Functions cannot be sent: put them in a module of your own and
 * pass its URL as module: the worker loads it, and its exports are pg.module. settings are POLY_… settings for the worker.
 */
export function worker<M = unknown>(options?: {
  module?: string | URL
  settings?: Record<string, string>
}): Promise<Settled<Package & { module: M }>>

/** Terminates the worker of pg; pending promises are rejected. */
export function terminate(pg: unknown): void

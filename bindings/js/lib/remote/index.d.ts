/** The library whole in a worker: what is called there answers later, and the program's own thread never waits. */

type Package = typeof import('../../index.js')

/** What is copied between threads. */
type Data =
  | undefined | null | boolean | number | string | bigint | Date | RegExp | Blob
  | ArrayBuffer | SharedArrayBuffer | ArrayBufferView | Map<unknown, unknown> | Set<unknown>

/** What await gives: data itself, lists and object literals of it, and objects of the worker, which stay there. */
export type Settled<T> =
  T extends Data ? T
    : T extends readonly (infer E)[] ? Settled<E>[]
      : Omit<Remote<T>, 'then' | 'catch' | 'finally'>

/**
 * An object of the worker: its properties are such objects, calls are sent at once, and await reads. Arguments are data, and objects of the
 * worker; the worker checks them.
 */
export type Remote<T> = Promise<Settled<T>>
  & (T extends abstract new (...args: never) => infer R ? new (...args: unknown[]) => Remote<R> : unknown)
  & (T extends (...args: never) => infer R ? (...args: unknown[]) => Remote<Awaited<R>> : unknown)
  & (T extends Data ? unknown : { -readonly [K in Exclude<keyof T, symbol | 'then'>]: Remote<T[K]> })

/**
 * Starts a worker and gives the package as it is there.
 *
 * Calls on it are sent in their order and return at once; only await waits, for the value that it reads. A call that fails makes
 * everything fail that is computed from its result, and otherwise the next await. Functions cannot be sent: a module of yours, whose address is module,
 * is loaded by the worker, and its exports are pg.module. settings are the settings POLY_… of the worker.
 */
export function worker<M = unknown>(options?: {
  module?: string | URL
  settings?: Record<string, string>
}): Promise<Settled<Package & { module: M }>>

/** Ends the worker that pg is of; what is still waited for fails. */
export function terminate(pg: unknown): void

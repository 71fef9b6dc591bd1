/** Trees: leaves in nested lists and plain objects. Arrays, numbers, null and all other values are leaves. */

import type { Array } from './index.js'

export const NodeType: { readonly Array: 'Array', readonly Object: 'Object', readonly Leaf: 'Leaf' }
export type NodeType = 'Array' | 'Object' | 'Leaf'

/** A leaf, or lists and objects of trees. Declare types of objects by `type`, not by `interface`. */
export type JsTree<T> = T | JsTree<T>[] | { [key: string]: JsTree<T> }

type Same<X, Y> = (<T>() => T extends X ? 1 : 2) extends (<T>() => T extends Y ? 1 : 2) ? true : false
type MappedJsTree<T, A, B> = T extends A
  ? B
  : T extends Array
    ? T
    : T extends readonly (infer U)[]
      ? number extends T['length'] ? MapJsTree<U, A, B>[] : { [K in keyof T]: MapJsTree<T[K], A, B> }
      : { [K in keyof T]: MapJsTree<T[K], A, B> }

/** The tree T with leaves B for A. */
export type MapJsTree<T, A, B> = Same<A, B> extends true ? T : MappedJsTree<T, A, B>

/** The structure of a tree. */
export class JsTreeDef {
  readonly nodeType: NodeType
  /** The keys of an object in their order, else null. */
  readonly nodeMetadata: any
  readonly childTreedefs: JsTreeDef[]
  static leaf: JsTreeDef
  constructor(nodeType: NodeType, nodeMetadata: any, childTreedefs: JsTreeDef[])
  /** The number of leaves. */
  get size(): number
  /** As in JsTreeDef({a: *, b: [*, *]}). */
  toString(root?: boolean): string
  equals(other: JsTreeDef): boolean
}

/** The leaves of a tree and its structure. */
export function flatten<T>(tree: JsTree<T>): [T[], JsTreeDef]

/** The leaves of a tree. */
export function leaves<T>(tree: JsTree<T>): T[]

/** The structure of a tree. */
export function structure<T>(tree: JsTree<T>): JsTreeDef

/** The tree of a structure with other leaves. */
export function unflatten<T>(treedef: JsTreeDef, leaves: Iterable<T>): JsTree<T>

/** Applies a function to the leaves of trees of one structure; returns a tree of the results. Trees of different structures are a TypeError. */
export function map<T, U, Tree extends JsTree<T>>(fn: (...args: T[]) => U, tree: Tree, ...rest: Tree[]): MapJsTree<Tree, T, U>

/** Takes a reference of each array of a tree. */
export function ref<Tree extends JsTree<any>>(tree: Tree): Tree

/** Disposes each array of a tree; nothing for null. */
export function dispose<Tree extends JsTree<any>>(tree: Tree | null | undefined): void

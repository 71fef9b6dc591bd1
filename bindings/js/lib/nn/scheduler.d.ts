import type { Optimizer, Tensor } from './index.js'

/**
 * What schedules of learning rates share. They have PyTorch's names and conventions, set the rate of their optimizer
 * when they are made and again by each step(), which comes after the optimizer's. A step that stands in a function given
 * to compileStep is part of the program; one that stands outside changes the rate that the program reads. In neither
 * case is anything compiled again. All schedules of an optimizer begin with the rate that it had before the first.
 */
export abstract class LRScheduler {
  readonly optimizer: Optimizer
  /** The rate that the schedule begins with. */
  readonly baseLr: Tensor
  /** The number of steps so far. */
  readonly epochCounter: Tensor
  /** The rate for the number of steps so far, a tensor of one element. */
  getLr(): Tensor
  /** The rate of the optimizer, in a list. */
  getLastLr(): number[]
  /** Counts a step and sets the rate of the next one. */
  step(): void
}

/**
 * The rate times lrLambda(t) after t steps. t is a number, but inside of compileStep a tensor of one element, of which
 * lrLambda must make its result by operations of tensors.
 */
export class LambdaLR extends LRScheduler {
  constructor(optimizer: Optimizer, lrLambda: ((t: number) => number) | ((t: Tensor) => Tensor))
  readonly lrLambda: ((t: number) => number) | ((t: Tensor) => Tensor)
}

/** Schedules of one optimizer one after the other; each begins anew at its milestone. */
export class SequentialLR extends LRScheduler {
  constructor(optimizer: Optimizer, schedulers: readonly LRScheduler[], milestones: readonly number[])
  readonly schedulers: readonly LRScheduler[]
  readonly milestones: number[]
}

/** What ReduceLROnPlateau does. */
export abstract class Plateau {
  readonly optimizer: Optimizer
  /** The best metric so far. */
  readonly best: Tensor
  readonly numBadEpochs: Tensor
  readonly cooldownCounter: Tensor
  /** Looks at a metric, which is a number or a tensor of one element. */
  step(metrics: number | Tensor): void
  /** The rate of the optimizer, in a list. */
  getLastLr(): number[]
}

import type { Optimizer, Tensor } from './index.js'

/**
 * The base class of learning rate schedules, with PyTorch's names and conventions. A schedule sets the rate of its optimizer
 * when it is created, and again by each step(), which is called after that of the optimizer. A step() inside a function of
 * compileStep is part of the program; a step() outside changes the rate that the program reads. In neither case is
 * anything compiled again. All schedules of an optimizer start from the rate that it had before the first one.
 */
export abstract class LRScheduler {
  readonly optimizer: Optimizer
  /** The initial rate. */
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
 * The rate is multiplied by lrLambda(t) after t steps. t is a number; inside compileStep it is a tensor of one element, and
 * lrLambda must compute its result with tensor operations.
 */
export class LambdaLR extends LRScheduler {
  constructor(optimizer: Optimizer, lrLambda: ((t: number) => number) | ((t: Tensor) => Tensor))
  readonly lrLambda: ((t: number) => number) | ((t: Tensor) => Tensor)
}

/** Schedules of one optimizer, one after the other; each starts at its milestone. */
export class SequentialLR extends LRScheduler {
  constructor(optimizer: Optimizer, schedulers: readonly LRScheduler[], milestones: readonly number[])
  readonly schedulers: readonly LRScheduler[]
  readonly milestones: number[]
}

/** The base class of ReduceLROnPlateau. */
export abstract class Plateau {
  readonly optimizer: Optimizer
  /** The best metric so far. */
  readonly best: Tensor
  readonly numBadEpochs: Tensor
  readonly cooldownCounter: Tensor
  /** Counts a step with a metric, a number or a tensor of one element, and sets the rate. */
  step(metrics: number | Tensor): void
  /** The rate of the optimizer, in a list. */
  getLastLr(): number[]
}

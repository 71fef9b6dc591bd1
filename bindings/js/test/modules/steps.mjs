// A module of a user that a worker loads beside the package.

export const double = async (x) => x.mul(2)
export const sum = (numbers) => numbers.reduce((a, b) => a + b)
export const fail = () => { throw new RangeError('it does') }

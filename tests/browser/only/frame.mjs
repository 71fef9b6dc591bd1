import { Tensor } from '/build/js/polygrad.js'

parent.postMessage(new Tensor([1, 2, 3]).add(new Tensor([4, 5, 6])).tolist())

/** Keeps computing until the page is closed. */
function work (x) {
  const next = x.mul(x).add(0.5).mod(1).realize()
  setTimeout(work, 0, next)
}
if (location.search === '?working') work(Tensor.rand(2 ** 20))

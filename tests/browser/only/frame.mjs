import { Tensor } from '/build/js/polygrad.js'

parent.postMessage(new Tensor([1, 2, 3]).add(new Tensor([4, 5, 6])).tolist())

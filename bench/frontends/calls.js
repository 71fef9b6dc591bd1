// What calls cost in Node. Prints one JSON object: {"node_js": {"node", "realize", "call"}} in us.
'use strict';

const { Tensor } = require('../../bindings/js');
const { lib } = require('../../bindings/js/lib/library');

const NODES = 100, ROUNDS = 1000, UNTIMED = 50, SIZE = 10;

function median(times) {
  return times.slice(UNTIMED).sort((a, b) => a - b)[ROUNDS >> 1];
}

function nodeUs(leaf, b) {
  const times = [];
  for (let round = 0; round < ROUNDS + UNTIMED; round++) {
    let x = leaf(); // a new one: so the sums are new too
    const start = process.hrtime.bigint();
    for (let i = 0; i < NODES; i++) x = x.add(b);
    times.push(Number(process.hrtime.bigint() - start) / 1e3 / NODES);
  }
  return median(times);
}

function callUs(work) {
  const times = [];
  for (let round = 0; round < ROUNDS + UNTIMED; round++) {
    const start = process.hrtime.bigint();
    work();
    times.push(Number(process.hrtime.bigint() - start) / 1e3);
  }
  return median(times);
}

const numbers = Float32Array.from({ length: SIZE }, (_, i) => i);
const x = new Tensor(numbers), y = new Tensor(numbers.slice());
console.log(JSON.stringify({
  node_js: {
    node: nodeUs(() => new Tensor(numbers.slice()), y),
    realize: callUs(() => x.add(y).realize()),
    call: callUs(() => { for (let i = 0; i < NODES; i++) lib.poly_device_count(); }) / NODES,
  },
}));

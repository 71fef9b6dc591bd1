// Runs a WASM step plan as a host without the library would: reads {module, buffers, kernels, order, runs} from the
// JSON file that is named on the command line, and prints the contents of every buffer afterwards, in base64.
"use strict";
const { readFileSync } = require("node:fs");

const FREE = 1 << 16; // the beginning of the memory, where no buffer lies
const LINE = 64;

const plan = JSON.parse(readFileSync(process.argv[2], "utf8"));
const compiled = new WebAssembly.Module(Buffer.from(plan.module, "base64"));
const imports = WebAssembly.Module.imports(compiled);
if (imports.length > 0) throw new Error(`the module imports ${imports.map((i) => i.name)}`);
const { exports: wasm } = new WebAssembly.Instance(compiled);
let end = FREE;
const places = plan.buffers.map(({ nbytes, data }) => {
  const at = end;
  end += Math.ceil(nbytes / LINE) * LINE;
  if (end > wasm.memory.buffer.byteLength) throw new Error("the memory is too small");
  if (data) new Uint8Array(wasm.memory.buffer, at, nbytes).set(Buffer.from(data, "base64"));
  return at;
});
for (let run = 0; run < plan.runs; run++) {
  for (const k of plan.order) wasm[`k${k}`](...plan.kernels[k].map((b) => places[b]));
}
console.log(JSON.stringify(plan.buffers.map(({ nbytes }, i) => Buffer.from(wasm.memory.buffer, places[i], nbytes).toString("base64"))));

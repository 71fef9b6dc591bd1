/** Formats the results as a page of Markdown. */

const LIBRARIES = ['polygrad', 'jax-js', 'onnxruntime-web', 'tfjs']
const GOALS = { add: 0.008, step: 85, writing: 0.8 } // milliseconds; writing: the ratio to the peer's time per token

const milliseconds = (time) => time === undefined || !Number.isFinite(time) ? '–' : time < 0.1 ? time.toFixed(4) : time.toPrecision(3)
const kilobytes = (bytes) => Math.round(bytes / 1024).toLocaleString('en')
const row = (cells) => `| ${cells.join(' | ')} |`
const table = (head, rows) => [row(head), row(head.map(() => '---')), ...rows.map(row)].join('\n')
const met = (value, goal) => value <= goal ? 'met' : '**missed**'

/** The cells of a row: the times of the libraries, the ratio of polygrad's to the fastest peer's, and whether it meets the goal. */
function compared (times, goal) {
  const best = Math.min(...LIBRARIES.slice(1).map((name) => times[name] ?? Infinity))
  const part = times.polygrad / best
  return [...LIBRARIES.map((name) => milliseconds(times[name])), part.toFixed(2), goal, met(part, goal)]
}

function speeds (cases, times, writing, threads) {
  const rows = cases.map(({ name, goal, flops }) => {
    const now = times[name].times
    return [name, ...compared(now, goal), flops === undefined ? '' : (flops / now.polygrad / 1e6).toFixed(0)]
  })
  const tokens = Object.fromEntries(Object.entries(writing).map(([name, { perSecond }]) => [name, 1000 / perSecond]))
  rows.push(['a token of GPT-2 124M', ...compared(tokens, GOALS.writing), ''])
  const add = times.add.times
  rows.push(['eager add of 10, and read', ...compared(add, 0).slice(0, -2), `${1000 * GOALS.add} µs`, met(add.polygrad, GOALS.add), ''])
  return `## ${threads === 1 ? 'One thread, in a page that is not isolated' : `${threads} threads, in an isolated page`}

${table(['milliseconds', ...LIBRARIES, 'of the best', 'goal', '', 'GFLOP/s'], rows)}`
}

function starts (visits) {
  const rows = LIBRARIES.map((name) => [name, ...['ready', 'forward', 'total', 'step'].map((what) => milliseconds(visits[name][what]))])
  return `## The start

Fresh visitors, one thread: the least times in milliseconds until the library is there (read from this machine), until the first
forward pass of the MLP has its result and until the first training step has it, both from nothing compiled. Goals: a sum below the
peers', a first step within ${GOALS.step} ms (${met(visits.polygrad.step, GOALS.step)}).

${table(['', 'the library', 'forward pass', 'sum', 'training step'], rows)}`
}

function sizesTable (sizes) {
  const rows = LIBRARIES.map((name) => [name, ...['raw', 'gzip', 'brotli'].map((kind) => kilobytes(sizes[name][kind]))])
  return `## Sizes

What a visitor loads, in KB: JavaScript, minified by esbuild with what the benchmark uses of it (polygrad: all), and WebAssembly
(polygrad: the part that training needs; pages load the other one when they have begun).

${table(['', 'raw', 'gzip -9', 'brotli -11'], rows)}`
}

function problemsOf (times) {
  const told = Object.entries(times).flatMap(([threads, all]) => Object.entries(all).flatMap(([name, { problems }]) => {
    return Object.entries(problems).map(([library, text]) => `- ${name}, ${library}, threads: ${threads}: ${text}`)
  }))
  return told.length > 0 ? `\n\nNot timed:\n\n${told.join('\n')}` : ''
}

/** The page; the first of versions is the browser's. */
export function pageOf ({ cases, times, writing, visits, sizes, versions, processor }) {
  return `# In the browser

polygrad as WebAssembly beside ${versions.slice(1).join(', ')}
(npm's newest) in one page of headless ${versions[0]}, ${processor}.
\`make bench-web\` measures this again. A load above the number of processors lengthens all times but processor times.

All libraries run by turns of 40 ms; the least mean of seven turns counts, after 300 ms of runs: with one thread the processor time of
the page's thread, with more of them the time that passed. Programs are compiled ones (TinyJit, jit, a session); TensorFlow.js has none.
Inputs and results stay in the memory of the library; onnxruntime-web copies them in and out, as its interface wants it. All values of
all results are compared with those of polygrad: |difference| ≤ 10⁻⁴ |value| + 2·10⁻⁵ of the greatest one. A goal is the greatest part of
the fastest peer's time. The models of GPT-2 have random weights in float32, the same for both, and must write the same tokens; a token
is timed by the time that passed.

${Object.keys(times).map((threads) => speeds(cases, times[threads], writing[threads], Number(threads))).join('\n\n')}${problemsOf(times)}

${starts(visits)}

${sizesTable(sizes)}
`
}

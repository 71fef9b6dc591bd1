/** The Mandelbrot set: iterations of all pixels at once, as a compiled function. */

import { Tensor, TinyJit } from './polygrad.js'

const UNROLLED = 8 // iterations of a step
const MOST = 512 // iterations
const BETWEEN = 4 // steps between which the picture is drawn
const START = { x: -0.6, y: 0, width: 3.3 }
const FACTOR = 3 // of a zoom
const STEP = 0.15 // by which arrow keys pan, as a fraction of the width

const canvas = document.getElementById('picture')
const context = canvas.getContext('2d')
const image = new ImageData(canvas.width, canvas.height)
const SHAPE = [canvas.height, canvas.width]
const dtype = 'float64'
const columns = Tensor.arange(canvas.width, { dtype }).add(0.5).sub(canvas.width / 2).reshape(1, -1).realize()
const rows = Tensor.arange(canvas.height, { dtype }).add(0.5).sub(canvas.height / 2).reshape(-1, 1).realize()

/** The complex numbers of the pixels, from the centre x + iy and the width of a pixel. */
const points = new TinyJit((x, y, pixel) => ({
  re: columns.mul(pixel).add(x).expand(SHAPE).contiguous(), im: rows.mul(pixel).add(y).expand(SHAPE).contiguous()
}))

/** UNROLLED iterations of z = z² + c; n is the escape time, the number of iterations with |z| at most 2. */
const iterate = new TinyJit((re, im, zr, zi, n) => {
  for (let i = 0; i < UNROLLED; i++) {
    const [rr, ii] = [zr.mul(zr), zi.mul(zi)]
    const inside = rr.add(ii).le(4)
    n = n.add(inside.cast('int32'))
    const product = zr.mul(zi)
    zr = inside.where(rr.sub(ii).add(re), zr)
    zi = inside.where(product.add(product).add(im), zi)
  }
  return { zr, zi, n }
})

/** The color of an escape time, as red, green and blue. */
function colorOf (n, most) {
  if (n >= most) return [0, 0, 0]
  const t = Math.log2(n + 1) / 9
  return [9 * (1 - t) * t ** 3, 15 * (1 - t) ** 2 * t ** 2, 8.5 * (1 - t) ** 3 * t].map((part) => 255 * Math.min(1, part))
}

function paint (counts, most) {
  const colors = Array.from({ length: most + 1 }, (_, n) => colorOf(n, most))
  counts.forEach((n, i) => {
    const [red, green, blue] = colors[n]
    image.data[4 * i] = red
    image.data[4 * i + 1] = green
    image.data[4 * i + 2] = blue
    image.data[4 * i + 3] = 255
  })
  context.putImageData(image, 0, 0)
}

const view = { ...START }
let current = 0 // the number of the latest requested picture

async function draw () {
  const mine = ++current
  const scalar = (value) => new Tensor(value, { dtype })
  const start = performance.now()
  const { re, im } = points(scalar(view.x), scalar(view.y), scalar(view.width / canvas.width))
  let now = { zr: Tensor.zeros(...SHAPE, { dtype }).realize(), zi: Tensor.zeros(...SHAPE, { dtype }).realize(),
    n: Tensor.zeros(...SHAPE, { dtype: 'int32' }).realize() }
  for (let done = UNROLLED, steps = 1; done <= MOST; done += UNROLLED, steps++) {
    const next = iterate(re, im, now.zr, now.zi, now.n)
    for (const tensor of Object.values(now)) tensor.dispose()
    now = next
    if (steps % BETWEEN !== 0 && done < MOST) continue
    paint(now.n.toArray(), done)
    const milliseconds = performance.now() - start
    const count = SHAPE[0] * SHAPE[1]
    document.getElementById('state').textContent = `${done} iterations of ${count} points in ${Math.round(milliseconds)} ms, ` +
      `width ${view.width.toPrecision(3)}`
    await new Promise(requestAnimationFrame)
    if (mine !== current) return // superseded by a newer request
  }
  document.documentElement.dataset.done = String(mine)
}

function zoom (factor, x = view.x, y = view.y) {
  Object.assign(view, { x, y, width: Math.min(START.width, view.width / factor) })
  draw()
}

const KEYS = {
  '+': () => zoom(FACTOR),
  '=': () => zoom(FACTOR),
  '-': () => zoom(1 / FACTOR),
  ArrowLeft: () => zoom(1, view.x - STEP * view.width),
  ArrowRight: () => zoom(1, view.x + STEP * view.width),
  ArrowUp: () => zoom(1, view.x, view.y - STEP * view.width),
  ArrowDown: () => zoom(1, view.x, view.y + STEP * view.width)
}
canvas.addEventListener('keydown', (event) => {
  if (!(event.key in KEYS)) return
  event.preventDefault()
  KEYS[event.key]()
})
canvas.addEventListener('click', ({ offsetX, offsetY }) => {
  const pixel = view.width / canvas.clientWidth
  zoom(FACTOR, view.x + (offsetX - canvas.clientWidth / 2) * pixel, view.y + (offsetY - canvas.clientHeight / 2) * pixel)
})
document.getElementById('in').addEventListener('click', () => zoom(FACTOR))
document.getElementById('out').addEventListener('click', () => zoom(1 / FACTOR))
document.getElementById('reset').addEventListener('click', () => {
  Object.assign(view, START)
  draw()
})
await draw()

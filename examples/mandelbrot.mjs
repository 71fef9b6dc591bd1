// Draws the Mandelbrot set in the terminal, with the names of jax-js:
//
//     cd bindings/js && npm install && cd ../..
//     node examples/mandelbrot.mjs [columns]
//
// The real and the imaginary part are one array each; one compiled step updates all points at once.

import jax from '../bindings/js/lib/jax/index.js'

const { jit, numpy: np } = jax
const SHADES = ' .:-=+*#%@'
const STEPS = 50
const columns = Number(process.argv[2] ?? 78)
const lines = Math.round(columns * 0.4)

const [real, imaginary] = np.meshgrid([np.linspace(-2.1, 0.7, columns), np.linspace(-1.15, 1.15, lines)])

/** A step z = z^2 + c of the points that have not escaped, and the number of steps of each before it escapes. */
const step = jit((x, y, stayed) => {
  const inside = np.square(x).add(np.square(y)).lessEqual(4)
  const nextX = np.square(x).sub(np.square(y)).add(real)
  const nextY = x.mul(y).mul(2).add(imaginary)
  return [np.where(inside, nextX, x), np.where(inside, nextY, y), stayed.add(inside.astype(np.int32))]
})

let points = [np.zerosLike(real), np.zerosLike(real), np.zeros(real.shape, { dtype: np.int32 })]
for (let i = 0; i < STEPS; i++) points = step(...points)

const shade = (stayed) => SHADES[Math.floor(stayed / STEPS * (SHADES.length - 1))]
for (const row of points[2].js()) console.log(row.map(shade).join('').trimEnd())

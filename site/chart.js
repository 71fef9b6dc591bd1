/** A chart of curves over a common axis, as SVG. */

const WIDTH = 480
const HEIGHT = 220
const EDGE = { left: 44, right: 10, top: 12, bottom: 26 }
const SVG = 'http://www.w3.org/2000/svg'

function element (name, attributes, text = '') {
  const made = document.createElementNS(SVG, name)
  for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value)
  made.textContent = text
  return made
}

/**
 * Draws curves into an element.
 *
 * @param {Element} parent the element whose contents are replaced
 * @param {object} options label: what the chart shows; curves: arrays of numbers; low, high: the range of the vertical axis; ticks: its
 *   marked values; unit: the unit of the horizontal axis; format: the label of a tick
 */
export function draw (parent, { label, curves, low, high, ticks, unit, format = String }) {
  const last = Math.max(1, ...curves.map((curve) => curve.length - 1))
  const x = (i) => EDGE.left + i / last * (WIDTH - EDGE.left - EDGE.right)
  const y = (value) => {
    const part = (Math.min(high, Math.max(low, value)) - low) / (high - low)
    return HEIGHT - EDGE.bottom - part * (HEIGHT - EDGE.top - EDGE.bottom)
  }
  const svg = element('svg', { viewBox: `0 0 ${WIDTH} ${HEIGHT}`, class: 'chart', role: 'img', 'aria-label': label })
  for (const tick of ticks) {
    svg.append(element('line', { class: 'grid', x1: EDGE.left, x2: WIDTH - EDGE.right, y1: y(tick), y2: y(tick) }))
    svg.append(element('text', { x: EDGE.left - 6, y: y(tick) + 4, 'text-anchor': 'end' }, format(tick)))
  }
  svg.append(element('text', { x: EDGE.left, y: HEIGHT - 8 }, '0'))
  svg.append(element('text', { x: WIDTH - EDGE.right, y: HEIGHT - 8, 'text-anchor': 'end' }, `${last} ${unit}`))
  curves.forEach((curve, i) => {
    const points = curve.map((value, at) => `${x(at).toFixed(1)},${y(value).toFixed(1)}`).join(' ')
    svg.append(element('polyline', { class: i > 0 ? 'curve second' : 'curve', points }))
  })
  parent.replaceChildren(svg)
}

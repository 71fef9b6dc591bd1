/** Clusters the rows of a table by k-means, and plots them on the first two principal components. */

import { Tensor } from './polygrad.js'
import { offerDevices } from './device.js'
import { onFile } from './drop.js'

const ROUNDS = 100
const SHOWN = 8 // columns whose means are shown
const DOT = 4
const PIXELS = 64 // of a digit; its label follows
const EDGE = 20
const COLORS = [
  '#4878cf', '#e1812c', '#3a923a', '#c03d3e', '#9372b2', '#845b53',
  '#d684bd', '#7f7f7f', '#a9aa35', '#2eabb8', '#2f4b7c', '#ffa600'
]
const byId = (id) => document.getElementById(id)
const say = (text) => { byId('state').textContent = text }

/** The cells of a line of CSV; separators between quotes are part of a cell. */
function cellsOf (line, separator) {
  const cells = line.match(new RegExp(`("([^"]|"")*"|[^${separator}]*)(${separator}|$)`, 'g')).slice(0, -1)
  if (line.endsWith(separator)) cells.push('')
  return cells.map((cell) => cell.replace(new RegExp(`${separator}$`), '').replace(/^\s*"(.*)"\s*$/, '$1').trim())
}

/** The numeric columns of a CSV text: their names, and the rows without missing values in them. */
function tableOf (text) {
  const lines = text.split(/\r?\n/).filter((line) => line.trim() !== '')
  const separator = ['\t', ';', ','].find((mark) => lines[0]?.includes(mark)) ?? ','
  const rows = lines.map((line) => cellsOf(line, separator))
  const isNumber = (cell) => cell !== undefined && cell !== '' && Number.isFinite(Number(cell))
  const named = !rows[0]?.every(isNumber)
  const names = rows[0]?.map((cell, i) => named ? cell : `column ${i + 1}`) ?? []
  const body = named ? rows.slice(1) : rows
  const numeric = names.map((_, i) => i).filter((i) => body.filter((row) => isNumber(row[i])).length > body.length / 2)
  const kept = body.filter((row) => numeric.every((i) => isNumber(row[i]))).map((row) => numeric.map((i) => Number(row[i])))
  if (kept.length < 3 || numeric.length < 2) throw new Error('the file has too few numbers: at least 3 rows and 2 columns are needed')
  return { names: numeric.map((i) => names[i]), rows: kept }
}

/** The rows with columns of mean 0, and, if scaled, of standard deviation 1; constant columns are 0. */
function prepared (rows, scaled) {
  const x = new Tensor(Float32Array.from(rows.flat()), { shape: [rows.length, rows[0].length] })
  const centred = x.sub(x.mean(0, true))
  const deviation = x.std(0, true, 0)
  return (scaled ? centred.div(deviation.eq(0).where(1, deviation)) : centred).realize()
}

/** The first two principal components of centred rows. */
function planeOf (x) {
  const covariance = x.T.matmul(x).div(x.shape[0])
  const [, vectors] = covariance.eigh() // in ascending order of eigenvalues
  return x.matmul(vectors.getitem(':', '-2:').flip(1))
}

/** Initial centres by k-means++ (Arthur and Vassilvitskii, 2007): a row's probability is in proportion to its squared distance to them. */
function firstCentres (x, k) {
  const rowOf = (i) => x.getitem(`${i}:${i + 1}`)
  const draws = Tensor.rand(k).tolist()
  let centres = rowOf(Math.floor(draws[0] * x.shape[0]))
  for (let i = 1; i < k; i++) {
    const weights = x.cdist(centres).min(1).square().tolist()
    let left = draws[i] * weights.reduce((sum, weight) => sum + weight, 0)
    const next = weights.findIndex((weight) => (left -= weight) < 0)
    centres = Tensor.cat(centres, rowOf(Math.max(0, next))).realize()
  }
  return centres
}

/** The cluster of each row, by Lloyd's algorithm. */
async function groupsOf (x, k) {
  let centres = firstCentres(x, k)
  let groups = null
  for (let round = 1; round <= ROUNDS; round++) {
    const nearest = x.cdist(centres).argmin(1)
    const now = Array.from(nearest.toArray(), Number)
    if (groups !== null && now.every((group, i) => group === groups[i])) return { groups, rounds: round }
    groups = now
    const members = nearest.oneHot(k).cast('float32')
    const count = members.sum(0).reshape(k, 1)
    centres = count.eq(0).where(centres, members.T.matmul(x).div(count.maximum(1))).realize()
    say(`Round ${round} …`)
    await new Promise(requestAnimationFrame)
  }
  return { groups, rounds: ROUNDS }
}

function drawPlane (points, groups) {
  const canvas = byId('plane')
  const context = canvas.getContext('2d')
  context.clearRect(0, 0, canvas.width, canvas.height)
  const ranges = [0, 1].map((axis) => {
    const values = points.map((point) => point[axis])
    return [Math.min(...values), Math.max(...values)]
  })
  const place = (value, [low, high], room) => EDGE + (value - low) / (high - low || 1) * (room - 2 * EDGE)
  points.forEach(([x, y], i) => {
    context.fillStyle = COLORS[groups[i]]
    context.beginPath()
    context.arc(place(x, ranges[0], canvas.width), canvas.height - place(y, ranges[1], canvas.height), DOT, 0, 2 * Math.PI)
    context.fill()
  })
}

function lineOf (kind, cells) {
  const made = document.createElement('tr')
  made.append(...cells.map((text) => Object.assign(document.createElement(kind), { textContent: text })))
  return made
}

function showMeans ({ names, rows }, groups, k) {
  const lines = Array.from({ length: k }, (_, group) => {
    const members = rows.filter((_row, i) => groups[i] === group)
    const mean = (column) => (members.reduce((sum, values) => sum + values[column], 0) / members.length).toPrecision(4)
    const means = names.slice(0, SHOWN).map((_name, i) => members.length > 0 ? mean(i) : '–')
    const line = lineOf('td', [`● ${group + 1}`, members.length, ...means])
    line.firstChild.style.color = COLORS[group]
    return line
  })
  byId('means').replaceChildren(lineOf('th', ['group', 'rows', ...names.slice(0, SHOWN)]), ...lines)
}

let table = null

async function find () {
  const k = Math.max(1, Math.min(COLORS.length, table.rows.length, Math.round(Number(byId('groups').value)) || 1))
  byId('groups').value = k
  byId('find').disabled = true
  try {
    const start = performance.now()
    Tensor.manualSeed(1)
    const x = prepared(table.rows, byId('scale').checked)
    const { groups, rounds } = await groupsOf(x, k)
    drawPlane(planeOf(x).tolist(), groups)
    showMeans(table, groups, k)
    const milliseconds = Math.round(performance.now() - start)
    say(`${table.rows.length} rows of ${table.names.length} numbers, ${k} groups after ${rounds} rounds, ${milliseconds} ms`)
  } catch (error) {
    say(`Failed: ${error.message}`)
  }
  byId('find').disabled = false
  document.documentElement.dataset.done = 'yes'
}

async function take (file) {
  try {
    table = tableOf(await file.text())
    byId('scale').checked = true
  } catch (error) {
    return say(`${file.name}: ${error.message}`)
  }
  await find()
}

onFile(([file]) => take(file))
byId('find').addEventListener('click', find)

const digits = (await Tensor.fromUrl('data/digits.csv.gz', { gunzip: true })).toArray()
const { rows } = tableOf(new TextDecoder().decode(digits.slice()))
await offerDevices(() => { if (!byId('find').disabled) find() })
table = { names: rows[0].slice(0, PIXELS).map((_, i) => `pixel ${i + 1}`), rows: rows.map((row) => row.slice(0, PIXELS)) }
await find()

'use strict'
/** The files of a folder with a model in Hugging Face's format. */

const { fs, path } = require('./host/node.js')
const { PolygradError } = require('./library.js')
const { show } = require('./arguments.js')

const SINGLE = 'model.safetensors'
const INDEX = `${SINGLE}.index.json`

/** Calls give; its errors become PolygradErrors about the argument what. */
function given (what, give) {
  try {
    return give()
  } catch (error) {
    throw new PolygradError(`${what}: ${error.message}`)
  }
}

/** Parses JSON. */
function parsed (what, text) {
  return given(what, () => JSON.parse(text))
}

function parsedFile (what, file) {
  return parsed(`${what}: ${file}`, given(what, () => fs.readFileSync(file, 'utf8')))
}

/**
 * The names of the files that hold a folder's weights: those in its index, or else model.safetensors, or else all .safetensors
 * files. A folder may have a second copy of the weights, in one file for other programs.
 */
function weightNames (what, folder, names) {
  if (!names.includes(INDEX)) return names.includes(SINGLE) ? [SINGLE] : names.filter((name) => name.endsWith('.safetensors')).sort()
  const index = path.join(folder, INDEX)
  const places = parsedFile(what, index)?.weight_map
  if (places === null || typeof places !== 'object') {
    throw new PolygradError(`${what}: ${index} has no weight_map, expected files by tensors`)
  }
  for (const name of Object.values(places)) {
    // A downloaded index must not name files outside of its folder.
    if (typeof name !== 'string' || ['', '.', '..'].includes(name) || name !== path.basename(name)) {
      throw new PolygradError(`${what}: ${index}: ${show(name)}, expected a file beside the index`)
    }
  }
  return [...new Set(Object.values(places))].sort()
}

module.exports = { INDEX, parsed, weightNames }

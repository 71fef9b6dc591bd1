/**
 * The package as one module for browsers:
 *
 *     node scripts/bundle.mjs OUT
 *
 * writes polygrad.js, polygrad-worker.js, of which the threads of the library are, polygrad-remote.js and its worker, which has the whole
 * library, beside them their maps, and polygrad-random.js, polygrad-func.js and so on, which export the functions of the objects random
 * and func by their names. polygrad-jax.js has what programs for @jax-js/jax call.
 */

import fs from 'node:fs'
import path from 'node:path'
import { fileURLToPath, pathToFileURL } from 'node:url'
import { build } from 'esbuild'
import { namesIn, namesOf, toModule } from './modules.mjs'

export const ROOT = fileURLToPath(new URL('..', import.meta.url))

/** Lets esbuild take files of CommonJS as modules. */
export function asModules (filter) {
  return {
    name: 'modules',
    setup ({ onLoad }) {
      onLoad({ filter }, async ({ path: file }) => {
        return { contents: toModule(await fs.promises.readFile(file, 'utf8'), file), loader: 'js' }
      })
    }
  }
}

/** What takes the place of files that use what only Node has. */
const TWINS = {
  'lib/engine/index.js': 'lib/engine/browser.mjs',
  'lib/host/node.js': 'lib/host/browser.js',
  'lib/host/place.js': 'lib/host/place_browser.js',
  'lib/remote/start.js': 'lib/remote/start_browser.mjs',
  'lib/hub.js': 'lib/host/hub.js',
  'lib/download.js': 'lib/host/download.js',
  'lib/host/store.js': 'lib/host/store_browser.js'
}

const forBrowsers = {
  name: 'browsers',
  setup ({ onResolve }) {
    onResolve({ filter: /^\./ }, ({ path: name, resolveDir }) => {
      const twin = TWINS[path.relative(ROOT, path.join(resolveDir, name))]
      return twin === undefined ? null : { path: path.join(ROOT, twin) }
    })
  }
}

/** Modules of other packages' names, which are files of their own beside the module. */
const COMPATIBLE = ['jax', 'optax', 'loaders']

/** Groups of functions that the module exports as objects, each of which has an entry of its own. */
const GROUPS = {
  random: 'lib/random.js', lax: 'lib/lax.js', special: 'lib/special.js', linalg: 'lib/linalg.js',
  fft: 'lib/fft.js', numpy: 'lib/numpy.js',
  func: 'lib/func/index.js'
}

/** Statements that import names of an object of the module, and export them again. */
function exported (object, names) {
  // Names of properties may be words of the language, such as switch.
  const taken = names.map((name, i) => `${name}: f${i}`).join(', ')
  const given = names.map((name, i) => `f${i} as ${name}`).join(', ')
  return `import { ${object} } from './polygrad.js'\nconst { ${taken} } = ${object}\nexport { ${given} }\n`
}

/** What the library itself has no part of. */
const STORE = 'lib/host/store.js'

/** Names that the module exports itself. */
const PUBLIC = ['Tensor', 'Device', 'PolygradError']

/** The files of the library, for modules beside it: what they take of these comes from the module. */
const besides = {
  name: 'besides',
  setup ({ onResolve, onLoad }) {
    onResolve({ filter: /^\./ }, ({ path: name, resolveDir, kind }) => {
      if (kind === 'entry-point') return null
      if (name === './polygrad.js') return { path: name, external: true }
      const asked = path.relative(ROOT, path.join(resolveDir, name))
      if (asked === STORE) return { path: path.join(ROOT, TWINS[STORE]) }
      const file = TWINS[asked] ?? asked
      const [, folder] = file.split(path.sep)
      if (COMPATIBLE.includes(folder)) {
        const own = path.join(resolveDir, '/').startsWith(path.join(ROOT, 'lib', folder, '/'))
        return own ? null : { path: `./polygrad-${folder}.js`, external: true }
      }
      return file.startsWith('..') ? null : { path: file, namespace: 'library' }
    })
    onLoad({ filter: /.*/, namespace: 'library' }, ({ path: file }) => {
      const group = Object.keys(GROUPS).find((key) => GROUPS[key] === file.split(path.sep).join('/'))
      const names = namesOf(path.join(ROOT, file))
      if (group !== undefined) return { contents: exported(group, names) }
      const own = namesIn(path.join(ROOT, 'lib', 'internals.js'), 'internals').filter((name) => names.includes(name))
      const open = names.filter((name) => PUBLIC.includes(name))
      return { contents: `${exported('internals', own)}${open.length > 0 ? `export { ${open.join(', ')} } from './polygrad.js'\n` : ''}` }
    })
  }
}

/** What all bundles have in common. */
export const OPTIONS = { bundle: true, format: 'esm', platform: 'browser', target: 'es2022', legalComments: 'none', logLevel: 'warning' }

/** Makes the module, and gives esbuild's account of what is in it. */
export async function bundle (out) {
  const { metafile } = await build({
    ...OPTIONS,
    entryPoints: {
      polygrad: path.join(ROOT, 'index.js'),
      'polygrad-worker': path.join(ROOT, 'lib', 'wasm', 'worker.mjs'),
      'polygrad-remote': path.join(ROOT, 'lib', 'remote', 'index.js'),
      'polygrad-remote-worker': path.join(ROOT, 'lib', 'remote', 'worker.mjs')
    },
    external: ['./polygrad.js'],
    outdir: out,
    minify: true,
    sourcemap: true,
    metafile: true,
    plugins: [forBrowsers, asModules(/bindings\/js\/(index|lib\/.*)\.js$/)]
  })
  await build({
    ...OPTIONS,
    entryPoints: Object.fromEntries(COMPATIBLE.map((name) => [`polygrad-${name}`, path.join(ROOT, 'lib', name, 'index.js')])),
    external: ['./polygrad.js'],
    outdir: out,
    minify: true,
    sourcemap: true,
    plugins: [besides, asModules(/bindings\/js\/lib\/.*\.js$/)]
  })
  for (const [group, file] of Object.entries(GROUPS)) {
    fs.writeFileSync(path.join(out, `polygrad-${group}.js`), exported(group, namesOf(path.join(ROOT, file))))
  }
  return metafile
}

if (import.meta.url === pathToFileURL(process.argv[1]).href) {
  if (process.argv.length !== 3) {
    console.error('usage: node scripts/bundle.mjs OUT')
    process.exit(2)
  }
  await bundle(process.argv[2])
}

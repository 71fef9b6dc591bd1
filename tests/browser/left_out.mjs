/** Tests of the package that are skipped in browsers, with the reasons. */

const PROGRAMS = 'it starts programs of Node'
const FILES = 'it reads files by their names, which a page has not'

/** Whole files. */
export const files = {
  'bundle.test.js': 'it runs a bundler',
  'example.test.js': PROGRAMS,
  'fetched.test.js': 'it starts a server',
  'files.test.js': FILES,
  'garbage.test.js': 'it starts programs of Node, and a page cannot collect garbage before the end of a turn',
  'hub.test.js': 'it downloads into a folder, from a server that it starts',
  'jax_names.test.js': FILES,
  'loaders.test.js': 'it reads files of the repository',
  'process.test.js': PROGRAMS,
  'types.test.js': 'it is about the declarations of TypeScript',
  'webgpu.test.js': "it is about npm's package webgpu in Node",
  'wasm.test.js': 'it starts modules of its own out of files'
}

/** Single tests, by file and name. */
export const tests = {
  'exchange.test.js': {
    'the contents of a URL': 'it starts a server; only/page.test.mjs has what a page fetches'
  },
  'generation.test.js': {
    'texts end where the model says': FILES,
    'the language model of README.md': PROGRAMS
  },
  'instance.test.js': {
    'a model in the format of Hugging Face': FILES
  },
  'refusals.test.js': {
    'arrays and options of other realms, and subclasses, are what they are': 'it makes a realm by node:vm'
  },
  'viz.test.js': {
    'a profile has records': 'the clock of a page is too coarse for the time of a small kernel'
  }
}

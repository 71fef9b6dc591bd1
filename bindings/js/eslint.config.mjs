const globals = Object.fromEntries([
  'require', 'module', 'exports', '__dirname', '__filename', 'process', 'Buffer', 'console', 'globalThis', 'structuredClone',
  'setImmediate', 'setTimeout', 'setInterval', 'clearInterval', 'clearTimeout', 'performance', 'URL', 'gc', 'global',
  'fetch', 'AbortController', 'atob', 'TextEncoder', 'TextDecoder', 'WebAssembly'
].map((name) => [name, 'readonly']))
const browserGlobals = Object.fromEntries([
  'Blob', 'CompressionStream', 'Event', 'ImageData', 'Option', 'requestAnimationFrame', 'DecompressionStream', 'MessageChannel',
  'Response', 'TransformStream', 'URLSearchParams', 'XMLHttpRequest', 'addEventListener', 'btoa', 'createImageBitmap', 'document',
  'location', 'parent'
].map((name) => [name, 'readonly']))

export default [
  { ignores: ['**/node_modules/**', '**/native/**', 'web/**', '**/lib/prototypes.js', '**/test/types/out/**'] },
  {
    languageOptions: { ecmaVersion: 2022, globals },
    linterOptions: { reportUnusedDisableDirectives: true },
    rules: {
      'no-undef': 'error',
      'no-unused-vars': ['error', { args: 'after-used', varsIgnorePattern: '^_' }],
      'no-const-assign': 'error',
      'no-dupe-keys': 'error',
      'no-unreachable': 'error',
      'no-shadow': 'error',
      'prefer-const': 'error',
      'no-var': 'error',
      eqeqeq: ['error', 'always', { null: 'ignore' }],
      'no-cond-assign': 'error',
      'no-fallthrough': 'error',
      'no-self-assign': 'error',
      'no-useless-return': 'error',
      'no-throw-literal': 'error',
      'max-len': ['error', { code: 140 }],
      semi: ['error', 'never'],
      quotes: ['error', 'single', { avoidEscape: true, allowTemplateLiterals: true }]
    }
  },
  {
    files: ['**/lib/host/*.js', '**/lib/wasm/fetch.js', '**/tests/browser/**', '**/site/**', '**/bench/web/**'],
    languageOptions: { globals: browserGlobals }
  },
  { files: ['**/*.js'], languageOptions: { sourceType: 'commonjs' } },
  { files: ['**/*.mjs', '**/site/*.js', '**/bench/web/*.js'], languageOptions: { sourceType: 'module' } }
]

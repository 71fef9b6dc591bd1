/**
 * Opens a page in headless Chromium and prints its console messages until it is done:
 *
 *     node tests/browser/show.mjs FOLDER PAGE [--plain] [--seconds 300] [--size 1280x900] [--screenshot FILE.png]
 *
 * The folder is served to the browser. A page says that it is done by the attribute data-done of its root element. An error of its
 * scripts, or one that the page writes to the console, ends the program with 1. With --plain the page is not isolated.
 */

import { parseArgs } from 'node:util'
import { serve } from '../../scripts/serve.mjs'
import { BROWSERS, launch, openPage } from './browsers.mjs'

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    plain: { type: 'boolean', default: false },
    seconds: { type: 'string', default: '300' },
    size: { type: 'string', default: '1280x900' },
    screenshot: { type: 'string' }
  }
})
if (positionals.length !== 2) {
  console.error('usage: node tests/browser/show.mjs FOLDER PAGE [--plain] [--seconds 300] [--size 1280x900] [--screenshot FILE.png]')
  process.exit(2)
}
const [folder, address] = positionals
const [width, height] = values.size.split('x').map(Number)
const name = values.plain ? 'chromium-plain' : 'chromium'

const server = await serve(folder, { isolated: BROWSERS[name].isolated })
const browser = await launch(name)
let failed = false
let printed // a promise: resolves when all messages are printed
try {
  const page = await openPage(browser)
  await page.setViewport({ width, height })
  const broken = new Promise((resolve, reject) => page.on('pageerror', reject))
  broken.catch(() => {})
  page.on('console', (message) => {
    if (message.type() === 'error') failed = true
    const said = message.args().length > 0 ? Promise.all(message.args().map((arg) => arg.jsonValue())) : [message.text()]
    printed = Promise.all([said, printed]).then(([now]) => console.log(...now))
  })
  const response = await Promise.race([broken, page.goto(new URL(address, server.url).href)])
  if (!response.ok()) throw new Error(`${address}: the server answered ${response.status()}`)
  const done = page.waitForFunction('document.documentElement.dataset.done !== undefined', { timeout: 1000 * values.seconds, polling: 100 })
  await Promise.race([broken, done])
  await printed
  if (values.screenshot !== undefined) await page.screenshot({ path: values.screenshot, fullPage: true })
} catch (error) {
  console.error(error.stack ?? String(error))
  failed = true
} finally {
  await browser.close()
  await server.close()
}
process.exit(failed ? 1 : 0)

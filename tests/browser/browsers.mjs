/** The browsers that pages are opened in. */

import fs from 'node:fs'
import path from 'node:path'
import puppeteer from 'puppeteer-core'

// Firefox throttles the timers of background pages to one second, and more under load; these preferences turn that off.
const TIMERS = { 'dom.timeout.enable_budget_timer_throttling': false, 'dom.min_background_timeout_value_without_budget_throttling': 4 }

export const BROWSERS = {
  chromium: { browser: 'chrome', names: ['chromium'], isolated: true, args: ['--no-sandbox'] },
  'chromium-plain': { browser: 'chrome', names: ['chromium'], isolated: false, args: ['--no-sandbox'] },
  // WebGPU on the CPU, by SwiftShader.
  'chromium-webgpu': {
    browser: 'chrome',
    names: ['chromium'],
    isolated: true,
    args: ['--no-sandbox', '--disable-gpu-sandbox', '--enable-unsafe-webgpu'],
    settings: { POLY_DEVICE: 'webgpu' },
    only: ['programs.test.js', 'table.test.js', 'webgpu.test.mjs']
  },
  firefox: { browser: 'firefox', names: ['firefox-esr', 'firefox'], isolated: true, args: [], preferences: TIMERS },
  // WebGPU in Firefox on the CPU, by lavapipe. On Linux preferences must enable it.
  'firefox-webgpu': {
    browser: 'firefox',
    names: ['firefox-esr', 'firefox'],
    isolated: true,
    args: [],
    preferences: {
      ...TIMERS,
      'dom.webgpu.enabled': true,
      'dom.webgpu.workers.enabled': true,
      'gfx.webgpu.ignore-blocklist': true,
      'dom.webgpu.testing.assert-hardware-adapter': false
    },
    settings: { POLY_DEVICE: 'webgpu' },
    only: ['webgpu.test.mjs']
  }
}

/** The path of the first executable of these names in PATH. */
function programOf (names) {
  const places = names.flatMap((name) => process.env.PATH.split(path.delimiter).map((folder) => path.join(folder, name)))
  const found = places.find((place) => fs.existsSync(place))
  if (found === undefined) throw new Error(`${names[0]} is not installed: scripts/require.sh installs it`)
  return found
}

/** Launches a browser by its key in BROWSERS, with options of Puppeteer. */
export function launch (name, options = {}) {
  const { browser, names, args, preferences } = BROWSERS[name]
  return puppeteer.launch({ browser, executablePath: programOf(names), headless: true, args, extraPrefsFirefox: preferences, ...options })
}

/** A new page. Firefox may fail to open one while another one closes, so it is retried. */
export async function openPage (launched, attempts = 5) {
  try {
    return await launched.newPage()
  } catch (error) {
    if (attempts === 1) throw error
    await new Promise((resolve) => setTimeout(resolve, 200))
    return openPage(launched, attempts - 1)
  }
}

// The pages of the site in Chromium: each loads without errors and works, at the sizes of a desktop and of a phone.

import test from 'node:test'
import assert from 'node:assert'
import fs from 'node:fs'
import path from 'node:path'
import { fileURLToPath } from 'node:url'
import { serve } from '../../../scripts/serve.mjs'
import { launch, openPage } from '../browsers.mjs'
import { tinyModel } from './models.mjs'

const ROOT = fileURLToPath(new URL('../../..', import.meta.url))
const SITE = path.join(ROOT, 'build', 'site')
const PICTURES = path.join(ROOT, 'build', 'pictures')
const PATIENCE = 240_000 // milliseconds
const PHONE = { width: 360, height: 740 }
const SCREEN = { width: 1280, height: 900 }

const server = await serve(SITE)
const browser = await launch('chromium')
const withGpu = await launch('chromium-webgpu') // SwiftShader
fs.mkdirSync(PICTURES, { recursive: true })
test.after(async () => {
  await browser.close()
  await withGpu.close()
  await server.close()
})

/**
 * Opens a page of the site, runs a function on it, and asserts that it reported only expected errors, that Tab first reaches its links,
 * and that its contents are then no wider than a phone.
 */
async function visit (name, work, { expected = null, of = browser } = {}) {
  const page = await openPage(of)
  const errors = []
  page.on('pageerror', (error) => errors.push(error.message))
  page.on('console', (message) => { if (message.type() === 'error' && !expected?.test(message.text())) errors.push(message.text()) })
  await page.setViewport(SCREEN)
  await page.goto(`${server.url}${name}`)
  try {
    for (let i = 0; i < 3; i++) await page.keyboard.press('Tab')
    assert.strictEqual(await page.evaluate('document.activeElement.tagName'), 'A')
    await work(page)
    for (const size of [SCREEN, PHONE]) {
      await page.setViewport(size)
      const picture = `${name.replaceAll(/\W/g, '-') || 'index'}${of === withGpu ? '-gpu' : ''}-${size.width}.png`
      await page.screenshot({ path: path.join(PICTURES, picture) })
    }
    assert.ok(await page.evaluate('document.documentElement.scrollWidth') <= PHONE.width, name)
    assert.deepStrictEqual(errors, [])
  } finally {
    await page.close()
  }
}

// With POLY_PART=1/3, as make test sets it, every third page is tested, from the second on.
const [part, parts] = (process.env.POLY_PART ?? '0/1').split('/').map(Number)
let number = 0
const someDays = (name, work) => { if (number++ % parts === part) test(name, work) }

const until = (page, condition) => page.waitForFunction(condition, { timeout: PATIENCE, polling: 100 })
const done = (page) => until(page, 'document.documentElement.dataset.done !== undefined')
const textOf = (page, selector) => page.$eval(selector, (element) => element.textContent)
const pixelsOf = (page, selector) => page.$eval(selector, (canvas) => {
  const { data } = canvas.getContext('2d').getImageData(0, 0, canvas.width, canvas.height)
  return new Set(new Uint32Array(data.buffer)).size // colors
})

someDays('the front page learns to read digits, again and with a pause', async () => {
  await visit('', async (page) => {
    await until(page, "parseInt(document.getElementById('epoch').textContent) >= 2") // a busy page may skip epochs
    await page.click('#pause')
    await new Promise((resolve) => setTimeout(resolve, 500))
    const paused = await textOf(page, '#epoch')
    await new Promise((resolve) => setTimeout(resolve, 1000))
    assert.strictEqual(await textOf(page, '#epoch'), paused)
    await page.click('#pause')
    await done(page)
    assert.ok(Number(await textOf(page, '#accuracy')) >= 0.97)
    assert.ok((await page.$$('#misread figure')).length > 0)
    await page.click('#train')
    await until(page, "/^[123] of/.test(document.getElementById('epoch').textContent)")
  })
})

someDays('the playground runs programs, and shows their kernels', async () => {
  await visit('playground.html', async (page) => {
    await done(page)
    assert.match(await textOf(page, '#output'), /shape=\[256,64\]/)
    assert.match(await textOf(page, '#kernels pre'), /^\(module/)
    assert.match(await textOf(page, '#graph'), /float32 \(256,64\)/)
    await page.$eval('#code', (area) => { area.value = 'const x = new Tensor([1, 2]).mul(3)\nprint(x.tolist())' })
    await page.focus('#code')
    await page.keyboard.down('Control')
    await page.keyboard.press('Enter')
    await page.keyboard.up('Control')
    await until(page, "document.getElementById('output').textContent === '[3,6]\\n'")
    await until(page, "!document.getElementById('run').disabled")
    await page.$eval('#code', (area) => { area.value = 'new Tensor([1, 2]).matmul(new Tensor([1, 2, 3]))' })
    await page.click('#run')
    await until(page, "document.getElementById('output').classList.contains('error')")
    assert.match(await textOf(page, '#output'), /Error: matmul: /)
    const examples = await page.$$eval('#example option', (options) => options.map(({ value }) => value))
    for (const example of examples) {
      await until(page, "!document.getElementById('run').disabled")
      await page.$eval('#state', (state) => { state.textContent = '' })
      await page.select('#example', example)
      if (example === examples[0]) await page.click('#run') // selected already
      await until(page, "/Done|failed/.test(document.getElementById('state').textContent)")
      assert.match(await textOf(page, '#state'), /Done/, example)
    }
  })
})

someDays('a small GPT learns to write, with a pause, and learns a text of the reader', async () => {
  await visit('chargpt.html', async (page) => {
    await done(page)
    await page.click('#pause')
    assert.ok(Number(await textOf(page, '#loss')) < 4.2)
    assert.match(await textOf(page, '#sample'), /^The tensor /)
    assert.strictEqual((await textOf(page, '#sample')).length, 'The tensor '.length + 200)
    await new Promise((resolve) => setTimeout(resolve, 500))
    const paused = await textOf(page, '#step')
    await new Promise((resolve) => setTimeout(resolve, 500))
    assert.strictEqual(await textOf(page, '#step'), paused)
    const file = path.join(PICTURES, 'text.txt')
    fs.writeFileSync(file, 'abcd '.repeat(1000))
    await page.$eval('#steps', (input) => { input.value = 60 })
    await (await page.$('#file')).uploadFile(file)
    await until(page, "document.getElementById('state').textContent === 'Done.'")
    assert.match(await textOf(page, '#text'), /text.txt: 5,000 characters, 5 different ones/)
    assert.ok(Number(await textOf(page, '#loss')) < 0.5)
    assert.match(await textOf(page, '#sample'), /abcd abcd abcd/)
    fs.writeFileSync(file, 'too short')
    await (await page.$('#file')).uploadFile(file)
    await until(page, "document.getElementById('text').textContent.includes('the text has 9 characters')")
  })
})

someDays('language models out of files of the reader', async () => {
  const prompt = 'the other thé'
  const { files, text, textOfPieces } = tinyModel(prompt, 12)
  const places = Object.fromEntries(Object.entries(files).map(([name, data]) => {
    fs.writeFileSync(path.join(PICTURES, name), data)
    return [name, path.join(PICTURES, name)]
  }))
  await visit('language.html', async (page) => {
    await until(page, "document.getElementById('state').textContent === 'No model yet.'")
    const input = await page.$('#file')
    const load = async (...names) => {
      await page.$eval('#state', (state) => { state.textContent = '' })
      await input.uploadFile(...names.map((name) => places[name]))
      await until(page, "/Failed|numbers, read in/.test(document.getElementById('state').textContent)")
      return textOf(page, '#state')
    }
    assert.match(await load('config.json', 'model.safetensors'), /Failed: tokenizer.json or tokenizer.model is missing: drop a .gguf/)
    await page.select('#dtype', 'float32')
    await page.$eval('#prompt', (area, value) => { area.value = value }, prompt)
    for (const [id, value] of [['tokens', 12], ['temperature', 0]]) await page.$eval(`#${id}`, (field, to) => { field.value = to }, value)
    for (const [expected, ...names] of [
      [text, 'tiny.gguf'], [text, 'tokenizer.json', 'model.safetensors', 'config.json'],
      [textOfPieces, 'tokenizer.model', 'model.safetensors', 'config.json']
    ]) {
      assert.match(await load(...names), /A model of 0\.0\d+ million numbers/)
      await page.$eval('html', (root) => { delete root.dataset.done })
      await page.focus('#prompt')
      await page.keyboard.down('Control')
      await page.keyboard.press('Enter')
      await page.keyboard.up('Control')
      await done(page)
      assert.strictEqual(await textOf(page, '#output'), expected, String(names))
    }
  })
})

someDays('the Mandelbrot set is drawn, and closer by a key', async () => {
  await visit('mandelbrot.html', async (page) => {
    await done(page)
    const before = await page.evaluate("document.getElementById('picture').toDataURL()")
    assert.ok(await pixelsOf(page, '#picture') > 20)
    await page.focus('#picture')
    await page.keyboard.press('ArrowLeft')
    await page.keyboard.press('+')
    await until(page, "document.documentElement.dataset.done === '3'")
    assert.match(await textOf(page, '#state'), /width 1\.10/)
    assert.notStrictEqual(await page.evaluate("document.getElementById('picture').toDataURL()"), before)
  })
})

someDays('words find drawn pictures, and pictures of the reader', async () => {
  await visit('search.html', async (page) => {
    await until(page, "parseInt(document.getElementById('right').textContent) >= 25")
    const drawn = await page.evaluate((colors) => colors.map((color) => {
      const canvas = Object.assign(document.createElement('canvas'), { width: 64, height: 48 })
      const context = canvas.getContext('2d')
      context.fillStyle = '#b0b0b0'
      context.fillRect(0, 0, 64, 48)
      context.fillStyle = color
      context.fillRect(18, 10, 28, 28)
      return canvas.toDataURL().split(',')[1]
    }), ['#2d55dc', '#e12828'])
    const files = ['blue.png', 'red.png', 'no.png'].map((name) => path.join(PICTURES, name))
    files.forEach((file, i) => fs.writeFileSync(file, Buffer.from(drawn[i] ?? '', 'base64')))
    await (await page.$('#file')).uploadFile(...files)
    await until(page, "document.getElementById('own').textContent === '2 of yours. No pictures: no.png'")
    const found = async (words) => {
      await page.$eval('#words', (input, value) => {
        input.value = value
        input.dispatchEvent(new Event('input'))
      }, words)
      return page.$$eval('#found figcaption', (all) => all.map(({ textContent }) => textContent))
    }
    const blue = await found('a blue square')
    assert.strictEqual(blue.length, 24)
    assert.ok(blue.some((text) => text.includes('blue.png')) && !blue.some((text) => text.includes('red.png')), blue.join())
    assert.ok((await found('red')).some((text) => text.includes('red.png')))
    await found('elephant')
    assert.match(await textOf(page, '#known'), /^Known words: red, green/)
  })
})

/** Uploads a CSV file of three clusters to the page. */
async function findThreeGroups (page) {
  const file = path.join(PICTURES, 'three.csv')
  const near = (x, y, name) => Array.from({ length: 20 }, (_, i) => `${x + i % 5 / 10},"${y + i % 3 / 10}",${name}`)
  fs.writeFileSync(file, ['width,height,name', ...near(0, 0, 'a'), ...near(10, 0, 'b'), ...near(0, 10, 'c'), '5,,d'].join('\n'))
  await done(page)
  await page.$eval('#groups', (input) => { input.value = 3 })
  await (await page.$('#file')).uploadFile(file)
  await showsThreeGroups(page)
}

async function showsThreeGroups (page) {
  await until(page, "document.getElementById('state').textContent.startsWith('60 rows of 2 numbers, 3 groups')")
  const sizes = await page.$$eval('#means td:nth-child(2)', (cells) => cells.map((cell) => Number(cell.textContent)))
  assert.deepStrictEqual(sizes, [20, 20, 20])
  assert.match(await textOf(page, '#means'), /width.*height/)
}

someDays('groups are found in a file, and without a GPU the page says so', async () => {
  const other = path.join(PICTURES, 'other.csv')
  await visit('data.html', async (page) => {
    await done(page)
    assert.match(await textOf(page, '#no-gpu'), /^no GPU: (WebGPU finds no GPU|this browser has no WebGPU)$/)
    assert.match(await textOf(page, '#state'), /1797 rows of 64 numbers, 10 groups/)
    await findThreeGroups(page)
    fs.writeFileSync(other, 'only,text\na,b\n')
    await (await page.$('#file')).uploadFile(other)
    await until(page, "document.getElementById('state').textContent.includes('too few numbers')")
  })
})

someDays('other libraries are asked for by a click only, and polygrad is timed without them, too', async () => {
  await visit('benchmark.html', async (page) => {
    const asked = []
    await page.setRequestInterception(true)
    page.on('request', (request) => {
      if (request.url().startsWith(server.url)) return request.continue()
      asked.push(request.url())
      return request.respond({ status: 404 })
    })
    await until(page, "!document.getElementById('measure').disabled")
    assert.deepStrictEqual(asked, [])
    await page.click('#libraries input[value=jax-js]')
    await page.click('#measure')
    await until(page, "document.querySelectorAll('#times tr').length === 3")
    await page.click('#stop')
    await done(page)
    assert.match(await textOf(page, '#state'), /^Stopped. onnxruntime-web cannot be loaded: .* tfjs cannot be loaded: /)
    const places = /^https:..cdn.jsdelivr.net.npm.(onnxruntime-web|@tensorflow.tfjs)/
    assert.ok(asked.length > 0 && asked.every((url) => places.test(url)), asked.join())
    const [head, first] = await page.$$eval('#times tr', (rows) => {
      return rows.map((row) => Array.from(row.children, ({ textContent }) => textContent))
    })
    assert.deepStrictEqual(head, ['', 'polygrad'])
    assert.ok(first[0] === 'matmul 512' && Number(first[1]) > 0, first.join())
  }, { expected: /Failed to load resource|Access-Control-Allow-Origin/ })
})

/** As visit, on the GPU, which is selected once the page has done enough on the CPU. */
const visitOnGpu = (name, work, enough = done) => visit(name, async (page) => {
  await until(page, "document.getElementById('device')?.disabled === false")
  const chosen = () => page.$eval('#device', ({ selectedOptions: [option] }) => option.textContent)
  assert.match(await chosen(), /^processor, \d+ threads?$/)
  await enough(page)
  await page.$eval('html', (root) => { delete root.dataset.done })
  await page.focus('#device')
  await page.keyboard.press('ArrowDown')
  assert.match(await chosen(), /^GPU: .*swiftshader$/)
  await work(page)
  await page.evaluate('localStorage.clear()')
}, { of: withGpu })

someDays('the front page learns on the GPU', async () => {
  // A page on the software GPU is responsive only every many steps, so an observer in the page pauses it: once the loss was above that of
  // the network trained on the CPU, which shows the restart, and has then decreased.
  const begun = async (page) => {
    await until(page, "parseInt(document.getElementById('epoch').textContent) >= 4")
    await page.$eval('#loss', (element) => {
      let first = null
      const observer = new globalThis.MutationObserver(() => {
        const loss = Number(element.textContent)
        if (first === null && loss > 1) {
          first = loss
        } else if (first !== null && loss < first) {
          observer.disconnect()
          document.getElementById('pause').click()
        }
      })
      observer.observe(element, { childList: true })
    })
  }
  await visitOnGpu('', (page) => until(page, "document.getElementById('pause').textContent === 'Go on'"), begun)
})

someDays('the playground shows shaders', async () => {
  await visitOnGpu('playground.html', async (page) => {
    await done(page)
    assert.match(await textOf(page, '#output'), /shape=\[256,64\]/)
    assert.match(await textOf(page, '#kernels'), /WGSL.*@compute/s)
  })
})

someDays('groups are found on the GPU', async () => {
  await visitOnGpu('data.html', async (page) => {
    await done(page)
    await showsThreeGroups(page)
  }, findThreeGroups)
})

test('the reference', async () => {
  await visit('docs/api.html', async (page) => {
    assert.match(await textOf(page, 'h1'), /Reference/)
    assert.ok((await page.$$('h3, h4')).length > 200)
    await page.click('a[href="#sum"]')
    assert.strictEqual(await page.evaluate('location.hash'), '#sum')
    await page.click('nav a[href="../playground.html"]')
    await done(page)
  })
})

test('every link of a page leads somewhere', () => {
  const pages = fs.readdirSync(SITE, { recursive: true }).filter((name) => name.endsWith('.html'))
  assert.ok(pages.length > 15)
  const texts = new Map()
  const textIn = (name) => {
    if (!texts.has(name)) texts.set(name, fs.readFileSync(path.join(SITE, name), 'utf8'))
    return texts.get(name)
  }
  for (const page of pages) {
    for (const [, href] of textIn(page).matchAll(/<a [^>]*?href="([^"]+)"/g)) {
      if (/^https?:/.test(href)) continue
      const [place, anchor] = href.split('#')
      const target = place === '' ? page : path.join(path.dirname(page), place)
      assert.ok(fs.existsSync(path.join(SITE, target)), `${page}: ${href}`)
      assert.ok(anchor === undefined || textIn(target).includes(`id="${anchor}"`), `${page}: ${href}`)
    }
  }
})

test("documents fit a phone's width", async () => {
  for (const name of ['docs/api.html', 'docs/guide/settings.html']) await visit(name, async () => {})
})

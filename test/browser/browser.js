// Starts a browser for the tests: Debian's Chromium, without a window.

import { chromium } from 'playwright-core'
import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'

const executablePath = process.env.CHROMIUM ?? '/usr/bin/chromium'
const axe = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8')

// Over a slow line each request of a page waits, at random up to so many milliseconds: what was asked for first may come last.
const slowest = Number(process.env.SLOWEST ?? 0)

async function late (route) {
  await new Promise((resolve) => setTimeout(resolve, Math.random() * slowest))
  await route.fallback().catch(() => {}) // the page may have gone
}

// launch starts the browser. The flags keep it from asking hosts of its maker.
export function launch () {
  return chromium.launch({
    executablePath,
    args: ['--no-sandbox', '--disable-gpu', '--disable-quic', '--no-first-run', '--disable-background-networking',
      '--disable-component-update', '--disable-sync']
  })
}

// Visitor is somebody who looks at the dashboard of a server, in a window of their own. Whatever the page complains of is
// kept: errors, what its policy forbade, requests to other hosts.
export class Visitor {
  static async of (browser, server, { theme = 'light', width = 1200 } = {}) {
    const v = new Visitor()
    v.server = server
    v.complaints = []
    v.context = await browser.newContext({ colorScheme: theme, viewport: { width, height: 900 } })
    v.page = await v.context.newPage()
    if (slowest > 0) await v.context.route('**', late)
    v.page.setDefaultTimeout(60_000)
    v.page.on('console', (m) => {
      // A refusal by the API is shown to the person; the browser logs it besides.
      if (m.type() === 'error' && !/Failed to load resource/.test(m.text())) v.complaints.push(m.text())
    })
    v.page.on('pageerror', (e) => v.complaints.push(e.stack))
    v.page.on('request', (r) => {
      if (!r.url().startsWith(server.host) && !r.url().startsWith('data:') && !r.url().startsWith('blob:')) v.complaints.push('a request to ' + r.url())
    })
    return v
  }

  // go shows a page of the dashboard, by the end of its address, once it has loaded what it shows.
  async go (hash) {
    await this.page.goto(`${this.server.host}/_utils/${hash}`)
    await this.settled()
  }

  // settled waits until nothing on the page is still being loaded.
  async settled () {
    await this.page.waitForFunction(() => document.querySelector('main h1') && !document.querySelector('main [role=status]'))
  }

  async logIn (name = 'adm', password = 'pass') {
    await this.page.goto(`${this.server.host}/_utils/`)
    await this.page.getByLabel('Name').fill(name)
    await this.page.getByLabel('Password').fill(password)
    await this.button('Log in').click()
    await this.page.getByRole('heading', { name: 'Databases' }).waitFor()
  }

  button (name) { return this.page.getByRole('button', { name, exact: true }) }
  heading (name) { return this.page.getByRole('heading', { name, exact: true }) }

  // editor is the text of one, by its label.
  editor (label) { return this.page.getByRole('textbox', { name: label, exact: true }) }

  // write replaces what an editor holds.
  async write (label, text) {
    await this.editor(label).click()
    await this.page.keyboard.press('ControlOrMeta+a')
    await this.page.keyboard.insertText(text)
  }

  // sound holds that the page has nothing to complain of: no error, nothing beside it on a narrow screen, and no
  // violation that axe finds.
  async sound () {
    const wide = await this.page.evaluate(() => document.documentElement.scrollWidth - innerWidth)
    assert.ok(wide <= 0, `${this.page.url()} is ${wide} pixels wider than the screen`)
    await this.page.evaluate(axe)
    const { violations } = await this.page.evaluate(() => globalThis.axe.run())
    assert.deepEqual(violations.map((x) => `${x.id}: ${x.nodes.map((n) => n.html).join(' ')}`), [], this.page.url())
    assert.deepEqual(this.complaints, [])
  }

  async close () {
    await this.context.close()
    assert.deepEqual(this.complaints, [])
  }
}

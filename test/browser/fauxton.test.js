// Fauxton, CouchDB's own dashboard, as its makers built it: it finds nothing missing at this server.

import { test } from 'node:test'
import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import { mkdtempSync, readFileSync, rmSync, statSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Server } from '../node/server.js'
import { launch } from './browser.js'

// Its newest release. The package's own dependencies are those of its build and are not wanted.
const release = 'fauxton@1.2.6'
const sum = '5ZwPKqstwmQclSHifWBmbyzlBOLoBB3gssGaiEFLPcIzHO0Zxz+uPr/D/Fs6DGH7Hfohw7s6zqcjwU9CRcshfw=='

// fetched unpacks the release into a directory, and returns where its pages are.
function fetched (into) {
  const packed = execFileSync('npm', ['pack', '--silent', '--pack-destination', into, release], { encoding: 'utf8' }).trim()
  const file = join(into, packed)
  assert.equal(createHash('sha512').update(readFileSync(file)).digest('base64'), sum)
  execFileSync('tar', ['-xzf', file, '-C', into])
  return join(into, 'package', 'dist', 'release')
}

test('Fauxton verifies the installation', async (t) => {
  const dir = mkdtempSync(join(tmpdir(), 'sectional-fauxton-'))
  t.after(() => rmSync(dir, { recursive: true, force: true }))
  const pages = fetched(dir)
  const server = await Server.start()
  t.after(() => server.remove())
  const browser = await launch()
  t.after(() => browser.close())
  const page = await browser.newPage()
  // It takes the place of the dashboard; all else is the server's.
  await page.route((url) => url.pathname.startsWith('/_utils/'), (route) => {
    const path = join(pages, new URL(route.request().url()).pathname.slice('/_utils/'.length) || 'index.html')
    return statSync(path, { throwIfNoEntry: false })?.isFile() ? route.fulfill({ path }) : route.fulfill({ status: 404 })
  })
  const complaints = []
  page.on('pageerror', (e) => complaints.push(e.stack))
  page.on('response', (r) => { if (r.status() >= 400) complaints.push(`${r.status()} ${r.request().method()} ${new URL(r.url()).pathname}`) })
  const shown = (text) => page.getByText(text).first().waitFor({ timeout: 60_000 })
  await page.goto(`${server.host}/_utils/#login`)
  await page.locator('input[name=username]').fill('adm')
  await page.locator('input[name=password]').fill('pass')
  await page.keyboard.press('Enter')
  await shown('Create Database')

  await page.goto(`${server.host}/_utils/#verifyinstall`)
  await page.getByRole('button', { name: 'Verify Installation' }).click()
  await shown('Success! Your CouchDB installation is working.')
  const steps = await page.locator('tbody tr').allInnerTexts()
  assert.deepEqual(steps.map((s) => s.replace(/\s+/g, ' ').trim()), ['Create Database ✓', 'Create Document ✓', 'Update Document ✓', 'Delete Document ✓', 'Create View ✓', 'Replication ✓'])
  // It looks first whether databases of an earlier run are there.
  assert.deepEqual(complaints.splice(0).toSorted(), ['404 GET /verifytestdb', '404 GET /verifytestdb_replicate'])

  await server.request('PUT', '/shop?partitioned=true')
  await server.request('PUT', '/shop/c1:order', { total: 12 })
  await server.request('PUT', '/shop/_design/by', { options: { partitioned: false }, views: { total: { map: 'function (doc) { emit(doc.total, null) }', reduce: '_count' } } })
  for (const [path, text] of [['_all_dbs', 'shop'], ['database/shop/_all_docs', 'c1:order'], ['database/shop/c1:order', '"total": 12'], ['database/shop/_design/by/_view/total', 'c1:order'],
    ['database/shop/_find', 'Mango Query'], ['database/shop/_index', 'special: _id'], ['database/shop/permissions', 'Members'], ['activetasks', 'Active Tasks'], ['replication', 'Replication'], ['_config/_local', 'Main config']]) {
    await page.goto(`${server.host}/_utils/#${path}`)
    await shown(text)
  }
  assert.deepEqual(complaints, [])
})

// How pages look, in both themes, wide and narrow: beside pictures of them that somebody has looked at, in screens/. What is
// compared is coarse (where there is light and dark), since letters differ from machine to machine. SCREENS=new takes
// the pictures anew.

import { test } from 'node:test'
import assert from 'node:assert/strict'
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { Server } from '../node/server.js'
import { launch, Visitor } from './browser.js'

const directory = new URL('screens/', import.meta.url)

const shown = {
  databases: '#/db',
  documents: '#/db/shop',
  document: '#/db/shop/doc/c1%3Aorder001',
  conflict: '#/db/shop/doc/c2%3Anote',
  partitions: '#/db/shop/partitions',
  queries: '#/db/shop/queries?q=' + encodeURIComponent('{"selector": {"total": {"$gt": 100}}, "limit": 10}'),
  access: '#/db/shop/access',
  users: '#/users',
  help: '#/help/guides/partitions.md'
}

// small scales a picture down, so that it is some kilobytes, and compares it with another one: how far the tiles of 8 by
// 8 points differ in brightness in the mean, of 255. A single tile may: an editor paints its lines when it has time.
async function small (page, png, other) {
  return page.evaluate(async ([png, other]) => {
    const load = async (data) => createImageBitmap(await (await fetch('data:image/png;base64,' + data)).blob())
    const draw = (image, width, height) => {
      const canvas = Object.assign(document.createElement('canvas'), { width, height })
      const to = canvas.getContext('2d')
      to.imageSmoothingQuality = 'high'
      to.drawImage(image, 0, 0, width, height)
      return canvas
    }
    const image = await load(png)
    const [width, height] = [image.width / 4, image.height / 4].map(Math.round)
    const canvas = draw(image, width, height)
    const picture = canvas.toDataURL('image/png').split(',')[1]
    if (!other) return { picture }
    const tiles = (from) => {
      const [w, h] = [Math.floor(width / 8), Math.floor(height / 8)]
      const { data } = draw(from, w, h).getContext('2d').getImageData(0, 0, w, h)
      return Array.from({ length: w * h }, (_, i) => (data[4 * i] + data[4 * i + 1] + data[4 * i + 2]) / 3)
    }
    const [now, before] = [tiles(canvas), tiles(await load(other))]
    const apart = now.map((tile, i) => Math.abs(tile - before[i]))
    return { picture, mean: apart.reduce((a, b) => a + b) / apart.length }
  }, [png, other])
}

test('pages look as they did', async (t) => {
  const server = await Server.start()
  t.after(() => server.remove())
  const browser = await launch()
  t.after(() => browser.close())
  await server.request('PUT', '/shop?partitioned=true')
  await server.request('PUT', '/letters')
  const docs = Array.from({ length: 90 }, (_, i) => ({ _id: `c${i % 7}:order${String(i).padStart(3, '0')}`, total: 7 * i % 200, note: 'x'.repeat(i % 7 * 20) }))
  await server.request('POST', '/shop/_bulk_docs', { docs })
  await server.request('POST', '/shop/_bulk_docs', { new_edits: false, docs: [{ _id: 'c2:note', _rev: '1-b', text: 'at the desk' }, { _id: 'c2:note', _rev: '1-a', text: 'on the phone' }] })
  await server.request('PUT', '/_users/org.couchdb.user:ann', { name: 'ann', password: 'pw', roles: ['staff'], type: 'user' })
  await server.request('PUT', '/shop/_security', { admins: { names: [], roles: ['_admin'] }, members: { names: ['ann'], roles: ['staff'] } })
  const blank = await browser.newPage()
  const wrong = []
  mkdirSync(directory, { recursive: true })
  for (const theme of ['light', 'dark']) {
    for (const width of [1200, 390]) {
      const v = await Visitor.of(browser, server, { theme, width })
      await v.logIn()
      for (const [name, hash] of Object.entries(shown)) {
        await v.go(hash)
        await v.page.waitForFunction(() => !document.querySelector('pre.editor')) // editors come later
        await v.page.evaluate(() => document.activeElement?.blur())
        const png = (await v.page.screenshot({ animations: 'disabled', caret: 'hide' })).toString('base64')
        const file = new URL(`${name}-${theme}-${width}.png`, directory)
        const before = process.env.SCREENS !== 'new' && existsSync(file) && readFileSync(file).toString('base64')
        const { picture, mean } = await small(blank, png, before)
        if (!before && process.env.SCREENS === 'new') writeFileSync(file, Buffer.from(picture, 'base64'))
        else if (!before || mean > 6) wrong.push(`${name}, ${theme}, ${width}: ${before ? `apart by ${mean.toFixed(1)} in the mean` : 'there is no picture'}`)
      }
      await v.close()
    }
  }
  assert.deepEqual(wrong, [])
})

// What people do every day whom another dashboard has taught to expect it: files at documents, copies of documents, views
// and indexes without a client, questions before anything is lost, word of what was saved.

import { after, before, test } from 'node:test'
import assert from 'node:assert/strict'
import { Server } from '../node/server.js'
import { launch, Visitor } from './browser.js'

let server, browser

before(async () => {
  server = await Server.start()
  browser = await launch()
  await server.request('PUT', '/shop?partitioned=true')
  await server.request('PUT', '/flat')
  await server.request('POST', '/shop/_bulk_docs', { docs: Array.from({ length: 40 }, (_, i) => ({ _id: `c${i % 4}:order${i}`, total: i })) })
})

after(async () => {
  await browser?.close()
  await server?.remove()
})

// visit has an administrator do something on a screen of a width, and holds that the page had nothing to complain of.
const visit = (width, act) => async () => {
  const v = await Visitor.of(browser, server, { width, theme: width < 500 ? 'dark' : 'light' })
  try {
    await v.logIn()
    await act(v)
    await v.sound()
  } finally {
    await v.close()
  }
}

test('a file is attached to a document and deleted', visit(360, async (v) => {
  await server.request('PUT', '/flat/letter', { to: 'ann' })
  await v.go('#/db/flat/doc/letter')
  await v.page.getByLabel('Add a file').setInputFiles({ name: 'plan b.txt', mimeType: 'text/plain', buffer: Buffer.from('hello') })
  await v.page.getByRole('link', { name: 'plan b.txt' }).waitFor()
  await v.sound()
  const { _attachments } = (await server.request('GET', '/flat/letter')).body
  assert.deepEqual([_attachments['plan b.txt'].content_type, _attachments['plan b.txt'].length], ['text/plain', 5])
  await v.button('Delete the attachment plan b.txt').click()
  await v.button('Delete attachment').click()
  await v.page.getByRole('link', { name: 'plan b.txt' }).waitFor({ state: 'detached' })
  assert.equal((await server.request('GET', '/flat/letter')).body._attachments, undefined)
}))

test('a file is not attached to what somebody has changed meanwhile', visit(1200, async (v) => {
  const { rev } = (await server.request('PUT', '/flat/busy', {})).body
  await v.go('#/db/flat/doc/busy')
  await server.request('PUT', '/flat/busy', { _rev: rev, theirs: true })
  await v.page.getByLabel('Add a file').setInputFiles({ name: 'a.txt', mimeType: 'text/plain', buffer: Buffer.from('a') })
  await v.page.getByRole('alert').getByText('409 conflict').waitFor()
}))

test('a document gets an id from the server where it needs none', visit(360, async (v) => {
  await v.go('#/db/flat/doc')
  await v.write('The document\'s members', '{"made": "here"}')
  await v.button('Create').click()
  await v.heading('New document').waitFor({ state: 'detached' })
  await v.settled()
  const id = await v.page.locator('h1').innerText()
  assert.match(id, /^[0-9a-f]{32}$/)
  assert.equal((await server.request('GET', `/flat/${id}`)).body.made, 'here')
}))

test('a new document begins in the partition that is shown', visit(360, async (v) => {
  await v.go('#/db/shop?partition=c3')
  await v.page.getByRole('link', { name: 'New document' }).click()
  assert.equal(await v.page.getByLabel(/^Id/).inputValue(), 'c3:')
}))

test('a document is duplicated', visit(1200, async (v) => {
  await server.request('PUT', '/shop/c1:model', { n: 1, _attachments: { 'a.txt': { data: 'aGVsbG8=', content_type: 'text/plain' } } })
  await v.go('#/db/shop/doc/c1%3Amodel')
  await v.page.getByRole('link', { name: 'Duplicate' }).click()
  await v.page.getByText('A copy of c1:model').waitFor()
  assert.equal(await v.page.getByLabel(/^Id/).inputValue(), 'c1:')
  await v.page.getByLabel(/^Id/).fill('c1:second')
  await v.button('Create').click()
  await v.heading('c1:second').waitFor()
  await v.settled()
  const { _rev, ...doc } = (await server.request('GET', '/shop/c1:second')).body
  assert.deepEqual(doc, { _id: 'c1:second', n: 1 })
}))

// draft has the visitor type something into a document, to which the list of databases and that of documents led.
async function draft (v, id) {
  await server.request('PUT', `/flat/${id}`, {})
  await v.go('#/db')
  await v.go('#/db/flat')
  await v.page.getByRole('link', { name: id, exact: true }).click()
  await v.heading(id).waitFor()
  await v.settled()
  await v.write('The document', '{"typed": 1}')
  await v.editor('The document').getByText('"typed"').waitFor()
}

// asked waits for the question whether to leave, and answers it.
async function asked (v, answer) {
  const dialog = v.page.getByRole('dialog', { name: 'Leave this page?' })
  await dialog.waitFor()
  await v.sound()
  await dialog.getByRole('button', { name: answer }).click()
  await dialog.waitFor({ state: 'detached' })
}

test('what is not saved is asked about before a link leaves it', visit(360, async (v) => {
  await draft(v, 'draft')
  await v.page.getByRole('link', { name: 'Users' }).click()
  await asked(v, 'Cancel')
  await v.editor('The document').getByText('"typed"').waitFor()
  await v.page.getByRole('link', { name: 'Users' }).click()
  await asked(v, 'Leave without saving')
  await v.heading('Users').waitFor()
  await v.page.getByRole('link', { name: 'Databases' }).click()
  await v.heading('Databases').waitFor()
}))

test('what is not saved is asked about before Back and Forward leave it', visit(1200, async (v) => {
  await draft(v, 'back')
  const here = v.page.url()
  await v.page.evaluate(() => history.back())
  await asked(v, 'Cancel')
  assert.equal(v.page.url(), here)
  await v.editor('The document').getByText('"typed"').waitFor()
  await v.page.evaluate(() => history.go(-2))
  await asked(v, 'Leave without saving')
  await v.heading('Databases').waitFor()
  await v.page.evaluate(() => history.go(2))
  await v.heading('back').waitFor()
  await v.settled()
  await v.page.evaluate(() => history.back())
  await v.heading('flat').waitFor()
  await v.page.evaluate(() => history.forward())
  await v.heading('back').waitFor()
  await v.settled()
  await v.page.evaluate(() => history.back())
  await v.heading('flat').waitFor()
  await v.page.evaluate(() => history.back())
  await v.heading('Databases').waitFor()
}))

test('Forward is asked about, and where it leads is kept', visit(1200, async (v) => {
  await server.request('PUT', '/flat/forth', {})
  await v.go('#/db/flat/doc/forth')
  await v.go('#/users')
  await v.page.evaluate(() => history.back())
  await v.heading('forth').waitFor()
  await v.settled()
  await v.write('The document', '{"typed": 1}')
  await v.page.evaluate(() => history.forward())
  await asked(v, 'Cancel')
  await v.heading('forth').waitFor()
  await v.page.evaluate(() => history.forward())
  await asked(v, 'Leave without saving')
  await v.heading('Users').waitFor()
}))

test('what is not saved is asked about before logging out and before the tab is closed', visit(1200, async (v) => {
  await draft(v, 'tab')
  await v.button('Log out').click()
  await asked(v, 'Cancel')
  const question = v.page.waitForEvent('dialog')
  await v.page.close({ runBeforeUnload: true })
  const dialog = await question
  assert.equal(dialog.type(), 'beforeunload')
  await dialog.dismiss()
  await v.editor('The document').getByText('"typed"').waitFor()
}))

test('who has saved a document is not asked', visit(1200, async (v) => {
  await v.go('#/db/flat/doc?id=saved')
  await v.write('The document\'s members', '{"made": 1}')
  await v.button('Create').click()
  await v.heading('saved').waitFor()
  await v.settled()
  await v.write('The document', (await v.editor('The document').innerText()).replace('"made": 1', '"made": 2'))
  await v.button('Save').click()
  await v.page.getByRole('row', { name: /^2-/ }).waitFor()
  await v.page.getByRole('link', { name: 'Users' }).click()
  await v.heading('Users').waitFor()
}))

test('who may what, and what a database does in time, is asked about before it is left unsaved', visit(360, async (v) => {
  await server.request('PUT', '/asking')
  for (const [page, label, button] of [['access', 'Users', 'Save'], ['settings', /_revs_limit/, 'Save revisions'], ['settings', /seconds$/, 'Save expiry']]) {
    await v.go('#/db/asking/' + page)
    await v.page.getByLabel(label).first().fill(label === 'Users' ? 'ann' : '7')
    await v.page.getByRole('link', { name: 'Tables' }).click()
    await asked(v, 'Cancel')
    await v.button(button).click()
    await v.page.getByText('Saved.').waitFor()
    await v.page.getByRole('link', { name: 'Tables' }).click()
    await v.heading('Tables').waitFor()
  }
  assert.deepEqual((await server.request('GET', '/asking/_security')).body.members.names, ['ann'])
}))

// held has a request of the page wait until what it returns is called.
async function held (v, method, path) {
  let asked, release
  const seen = new Promise((resolve) => { asked = resolve })
  const open = new Promise((resolve) => { release = resolve })
  await v.page.route((url) => url.pathname === path, async (route) => {
    if (route.request().method() !== method) return route.continue()
    asked()
    await open
    await route.continue()
  })
  return { seen, release }
}

test('what is typed while a document is saved stays, and it is saved once', visit(1200, async (v) => {
  const { rev } = (await server.request('PUT', '/flat/slow', { n: 1 })).body
  await v.go('#/db/flat/doc/slow')
  const editor = v.editor('The document')
  await v.write('The document', `{"_id": "slow", "_rev": "${rev}", "n": 2}`)
  const put = await held(v, 'PUT', '/flat/slow')
  await v.button('Save').click()
  await put.seen
  await editor.click()
  await v.page.keyboard.press('ControlOrMeta+Home')
  await v.page.keyboard.press('ArrowRight')
  await v.page.keyboard.insertText('"more": 1,')
  await v.page.keyboard.press('ControlOrMeta+s')
  put.release()
  await v.page.getByRole('row', { name: /^2-/ }).waitFor()
  await editor.getByText('"_rev": "2-').waitFor()
  await v.page.keyboard.insertText('"here": 1,') // the cursor is where it was
  await v.button('Save').click()
  await v.page.getByRole('row', { name: /^3-/ }).waitFor()
  const { _id, _rev, ...members } = (await server.request('GET', '/flat/slow')).body
  assert.deepEqual(members, { more: 1, here: 1, n: 2 })
}))

// typed types a text key by key, with the page's processor so many times slower, and holds that the editor has it. What
// brackets and quotes close of themselves is typed over.
async function typed (v, label, text, slower) {
  const session = await v.context.newCDPSession(v.page)
  await session.send('Emulation.setCPUThrottlingRate', { rate: slower })
  await v.editor(label).click()
  await v.page.keyboard.press('ControlOrMeta+a')
  await v.page.keyboard.type(text)
  await session.send('Emulation.setCPUThrottlingRate', { rate: 1 })
  await session.detach()
  assert.equal(await v.editor(label).innerText(), text)
  // Chromium itself styles what is typed where coloured text was deleted; the policy forbids it, and the editor colours it anew.
  v.complaints = v.complaints.filter((c) => !c.startsWith('Applying inline style'))
}

test('what is typed key by key stays', { timeout: 120_000 }, visit(1200, async (v) => {
  const { rev } = (await server.request('PUT', '/flat/keys', {})).body
  await v.go('#/db/flat/doc/keys')
  await typed(v, 'The document', `{"_id": "keys", "_rev": "${rev}", "k": [1, "v"]}`, 1)
  await v.page.keyboard.press('ControlOrMeta+s')
  await v.page.getByRole('row', { name: /^2-/ }).waitFor()
  assert.deepEqual((await server.request('GET', '/flat/keys')).body.k, [1, 'v'])
  await v.settled()
  await v.page.keyboard.type('more')
  await v.editor('The document').getByText('more').waitFor()
  await v.button('Undo changes').click() // what comes from outside still becomes the text
  await v.editor('The document').getByText('more').waitFor({ state: 'detached' })
}))

test('what is typed key by key stays, with a slow processor', { timeout: 120_000 }, visit(1200, async (v) => {
  await v.go('#/db/flat/queries')
  await typed(v, 'The query', '{"selector": {"total": {"$gt": 1}}}', 6)
}))

test('a file beside what is typed loses none of it', visit(360, async (v) => {
  await server.request('PUT', '/flat/both', { n: 1, gone: 1 })
  await v.go('#/db/flat/doc/both')
  await v.write('The document', (await v.editor('The document').innerText()).replace('"n": 1', '"n": 2'))
  await v.page.getByLabel('Add a file').setInputFiles({ name: 'a.txt', mimeType: 'text/plain', buffer: Buffer.from('hello') })
  await v.page.getByRole('link', { name: 'a.txt' }).waitFor()
  await v.editor('The document').getByText('"n": 2').waitFor()
  await v.sound()
  await v.button('Save').click()
  await v.page.getByRole('row', { name: /^3-/ }).waitFor()
  const { n, gone, _attachments } = (await server.request('GET', '/flat/both')).body
  assert.deepEqual([n, gone, Object.keys(_attachments)], [2, 1, ['a.txt']])
}))

test('a session that ends keeps what was typed', visit(360, async (v) => {
  await server.request('PUT', '/flat/long', {})
  const typed = async (text) => {
    await v.go('#/db/flat/doc/long')
    await v.editor('The document').click()
    await v.page.keyboard.press('End')
    await v.page.keyboard.press('ControlOrMeta+Home')
    await v.page.keyboard.press('ArrowRight')
    await v.page.keyboard.insertText(text)
    await v.context.clearCookies()
    await v.button('Save').click()
    await v.page.getByRole('dialog', { name: 'Your session has ended' }).waitFor()
  }
  await typed('"kept": true,')
  await v.sound()
  await v.page.keyboard.insertText('wrong') // the password has the focus
  await v.button('Log in').click()
  await v.page.getByRole('dialog').getByRole('alert').waitFor()
  await v.page.getByLabel('Password').fill('pass')
  await v.button('Log in').click()
  await v.page.getByRole('dialog').waitFor({ state: 'detached' })
  await v.button('Save').click()
  await v.page.getByRole('row', { name: /^2-/ }).waitFor()
  assert.equal((await server.request('GET', '/flat/long')).body.kept, true)
  await typed('"lost": true,')
  await v.button('Leave without saving').click()
  await v.page.getByLabel('Name').waitFor()
  await v.logIn()
}))

test('documents are selected and deleted together', async () => {
  await server.request('PUT', '/many')
  await server.request('POST', '/many/_bulk_docs', { docs: Array.from({ length: 60 }, (_, i) => ({ _id: `d${String(i).padStart(2, '0')}` })) })
  await visit(360, async (v) => {
    await v.go('#/db/many')
    const box = (id) => v.page.getByRole('checkbox', { name: `Select ${id}` })
    await v.page.getByRole('button', { name: 'Delete selected' }).waitFor()
    assert.ok(await v.button('Delete selected').isDisabled())
    await box('d03').click()
    await box('d07').click({ modifiers: ['Shift'] })
    await box('d05').focus()
    await v.page.keyboard.press('Space') // off again
    await v.sound()
    const { rev } = (await server.request('PUT', '/many/d06', { _rev: (await server.request('GET', '/many/d06')).body._rev, theirs: true })).body
    await v.button('Delete 4 documents').click()
    const dialog = v.page.getByRole('dialog')
    await dialog.getByText('d07').waitFor()
    await v.sound()
    await dialog.getByRole('button', { name: 'Delete 4 documents' }).click()
    await v.page.getByText('d06 is still there: it was changed meanwhile.').waitFor()
    await box('d03').waitFor({ state: 'detached' })
    assert.equal((await server.request('GET', '/many/d06')).body._rev, rev)
    assert.equal((await server.request('GET', '/many')).body.doc_count, 57)
    await v.page.getByRole('definition').getByText('57', { exact: true }).waitFor()
    await v.page.getByLabel('All 50 on this page').click()
    await v.button('Delete 50 documents').click()
    await dialog.getByText('and 40 more').waitFor()
    await dialog.getByRole('button', { name: 'Delete 50 documents' }).click()
    await v.page.getByLabel('All 7 on this page').waitFor()
    assert.equal((await server.request('GET', '/many')).body.doc_count, 7)
  })()
})

test('documents of one partition are deleted together or not at all', async () => {
  await server.request('PUT', '/parts?partitioned=true')
  await server.request('POST', '/parts/_bulk_docs', { docs: ['a:1', 'a:2', 'b:1', 'b:2'].map((_id) => ({ _id })) })
  const select = (v, id) => v.page.getByRole('checkbox', { name: `Select ${id}` }).click()
  const left = async () => (await server.request('GET', '/parts/_all_docs')).body.rows.map((r) => r.id)
  await visit(1200, async (v) => {
    await v.go('#/db/parts')
    await select(v, 'a:1')
    await select(v, 'a:2')
    await server.request('PUT', '/parts/a:2', { _rev: (await server.request('GET', '/parts/a:2')).body._rev, theirs: true })
    await v.button('Delete 2 documents').click()
    await v.page.getByText('They are of one partition').waitFor()
    await v.page.getByRole('dialog').getByRole('button', { name: 'Delete 2 documents' }).click()
    await v.page.getByText('Nothing was deleted.').waitFor()
    await v.page.getByText('a:2 is still there').waitFor()
    await v.page.getByRole('cell', { name: /^2-/ }).waitFor() // the list tells the new revision
    assert.deepEqual(await left(), ['a:1', 'a:2', 'b:1', 'b:2'])
    await v.button('Delete 2 documents').click()
    await v.page.getByRole('dialog').getByRole('button', { name: 'Delete 2 documents' }).click()
    await v.page.getByRole('checkbox', { name: 'Select a:1' }).waitFor({ state: 'detached' })
    assert.deepEqual(await left(), ['b:1', 'b:2'])
  })()
})

test('a first view is made from the page of views', visit(360, async (v) => {
  await v.go('#/db/shop/functions')
  await v.page.getByRole('link', { name: 'New view' }).click()
  await v.page.getByLabel(/^Id/).fill('_design/types')
  await v.button('Create').click()
  await v.heading('_design/types').waitFor()
  await v.go('#/db/shop/functions')
  await v.button('Run').click()
  await v.page.getByRole('row', { name: /null 4\d/ }).waitFor()
}))

test('an index is made of fields, and deleted after a question', visit(360, async (v) => {
  await v.go('#/db/shop/queries')
  await v.page.getByLabel(/^Fields/).fill('total, at.city')
  await v.page.getByLabel('For queries of one partition').check()
  await v.button('Create index').click()
  const remove = v.button('Delete the index of total, at.city')
  await remove.waitFor()
  const made = (await server.request('GET', '/shop/_index')).body.indexes.find((i) => i.type === 'json')
  assert.deepEqual([made.def.fields, made.partitioned], [[{ total: 'asc' }, { 'at.city': 'asc' }], true])
  await remove.click()
  await v.button('Cancel').click()
  assert.equal((await server.request('GET', '/shop/_index')).body.indexes.length, 2)
  await remove.click()
  await v.button('Delete index').click()
  await remove.waitFor({ state: 'detached' })
}))

test('an access key is revoked after a question', visit(1200, async (v) => {
  await server.request('PUT', '/_users/org.couchdb.user:cleo', { name: 'cleo', password: 'pw', roles: [], type: 'user' })
  await v.go('#/users')
  await v.button('Change cleo').click()
  await v.button('New key').click()
  const revoke = v.page.getByRole('button', { name: /^Revoke [A-Z0-9]{8}/ })
  await revoke.click()
  await v.page.getByRole('dialog').getByRole('dialog').getByRole('button', { name: 'Cancel' }).click()
  assert.equal(await revoke.count(), 1)
  await revoke.click()
  await v.button('Revoke key').click()
  await revoke.waitFor({ state: 'detached' })
}))

test('the feed shows what was there before', visit(360, async (v) => {
  await server.request('PUT', '/shop/c1:latest', {})
  await v.go('#/db/shop/changes')
  await v.page.getByRole('row', { name: /^earlier c1:latest/ }).waitFor()
  await server.request('PUT', '/shop/c1:new', {})
  await v.page.getByRole('link', { name: 'c1:new' }).waitFor()
  assert.equal(await v.page.getByRole('link', { name: 'c1:latest' }).count(), 1)
}))

test('what is saved is said, until something else is typed', visit(360, async (v) => {
  await v.go('#/db/shop/settings')
  await v.page.getByLabel(/_revs_limit/).fill('20')
  await v.button('Save revisions').click()
  await v.page.getByText('Saved.').waitFor()
  await v.page.getByLabel(/_revs_limit/).fill('2')
  await v.page.getByText('Saved.').waitFor({ state: 'detached' })
}))

test('an address that names no page leads back', visit(360, async (v) => {
  await v.go('#/nonsense')
  await v.page.getByRole('link', { name: 'All databases' }).click()
  await v.heading('Databases').waitFor()
}))

test('the navigation is one line beneath the name on a phone', visit(360, async (v) => {
  const lines = await v.page.evaluate(() => new Set([...document.querySelectorAll('.side nav a')].map((a) => Math.round(a.getBoundingClientRect().top))).size)
  assert.equal(lines, 1)
}))

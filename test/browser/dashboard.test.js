// What people do with the dashboard, in a browser, at the real server.

import { after, before, test } from 'node:test'
import assert from 'node:assert/strict'
import { Server, until } from '../node/server.js'
import { launch, Visitor } from './browser.js'

let server, browser

before(async () => {
  server = await Server.start()
  browser = await launch()
  await server.request('PUT', '/shop?partitioned=true')
  const docs = []
  for (let i = 0; i < 120; i++) docs.push({ _id: `c${i % 7}:order${String(i).padStart(3, '0')}`, total: i, note: 'x'.repeat(i % 7 * 20) })
  await server.request('POST', '/shop/_bulk_docs', { docs })
  await server.request('PUT', '/_users/org.couchdb.user:ann', { name: 'ann', password: 'pw', roles: [], type: 'user' })
  await server.request('PUT', '/shop/_security', { admins: { names: [], roles: ['_admin'] }, members: { names: ['ann'], roles: [] } })
})

after(async () => {
  await browser?.close()
  await server?.remove()
})

// visit has a visitor do something, and holds that nothing was complained of.
async function visit (options, act) {
  const v = await Visitor.of(browser, server, options)
  try {
    await act(v)
  } finally {
    await v.close()
  }
}

test('logging in and out', () => visit({}, async (v) => {
  await v.page.goto(server.host)
  assert.equal(v.page.url(), `${server.host}/_utils/`)
  await v.page.getByLabel('Name').fill('adm')
  await v.page.getByLabel('Password').fill('wrong')
  await v.page.keyboard.press('Enter')
  await v.page.getByRole('alert').getByText('Name or password is incorrect.').waitFor()
  await v.sound()
  await v.page.getByLabel('Password').fill('pass')
  await v.page.keyboard.press('Enter')
  await v.heading('Databases').waitFor()
  await v.page.getByRole('link', { name: 'shop' }).click()
  await v.heading('shop').waitFor()
  await v.page.reload()
  await v.heading('shop').waitFor()
  await v.button('Log out').click()
  await v.button('Log in').waitFor()
  await v.page.reload()
  await v.button('Log in').waitFor()
}))

test('a database is made and dropped', () => visit({}, async (v) => {
  await v.logIn()
  await v.button('New database').click()
  await v.page.getByLabel(/^Name/).fill('Wrong')
  await v.button('Create').click()
  await v.page.getByRole('alert').getByText(/Only lowercase characters/).waitFor()
  await v.page.getByLabel(/^Name/).fill('made/here')
  await v.button('Create').click()
  await v.heading('made/here').waitFor()
  assert.equal((await server.request('GET', '/made%2Fhere')).body.props.partitioned, true)
  await v.button('Delete database').click()
  const yes = v.page.getByRole('dialog').getByRole('button', { name: 'Delete database' })
  assert.ok(await yes.isDisabled())
  await v.page.getByLabel('Type made/here to go on').fill('made/here')
  await yes.click()
  await v.heading('Databases').waitFor()
  assert.equal((await server.request('GET', '/made%2Fhere')).status, 404)
}))

test('a dialog gives the focus back', () => visit({}, async (v) => {
  await v.logIn()
  await v.button('New database').focus()
  await v.page.keyboard.press('Enter')
  await v.page.getByRole('dialog').waitFor()
  await v.page.keyboard.press('Escape')
  await v.page.getByRole('dialog').waitFor({ state: 'detached' })
  assert.equal(await v.page.evaluate(() => document.activeElement.textContent), 'New database')
}))

test('documents are listed by partition and prefix, page by page', () => visit({}, async (v) => {
  await v.logIn()
  await v.go('#/db/shop')
  await v.page.getByRole('link', { name: 'c0:order000' }).waitFor()
  await v.button('Next 50').click()
  await v.page.getByRole('link', { name: 'c2:order114' }).waitFor()
  await v.button('Back').click()
  await v.page.getByRole('link', { name: 'c0:order000' }).waitFor()
  await v.page.getByLabel('Partition').fill('c3')
  await v.button('Show').click()
  await v.page.getByRole('link', { name: 'c3:order003' }).waitFor()
  assert.equal(await v.page.getByRole('link', { name: /:order/ }).count(), 17)
}))

test('a document is written, changed and deleted, digit by digit', () => visit({}, async (v) => {
  await v.logIn()
  await v.go('#/db/shop')
  await v.page.getByRole('link', { name: 'New document' }).click()
  await v.page.getByLabel(/^Id/).fill('c1:made')
  await v.write('The document\'s members', '{"n": 12345678901234567890.10}')
  await v.button('Create').click()
  await v.heading('c1:made').waitFor()
  await v.editor('The document').getByText('12345678901234567890.10').waitFor()
  const rev = (await server.request('GET', '/shop/c1:made')).body._rev
  await v.write('The document', `{"_id": "c1:made", "_rev": "${rev}", "n": 1.50e3, "more": true}`)
  await v.page.keyboard.press('ControlOrMeta+s')
  await v.page.getByText(/^2-/).first().waitFor()
  const text = await (await fetch(`${server.host}/shop/c1:made`, { headers: { authorization: 'Basic ' + btoa('adm:pass') } })).text()
  assert.match(text, /"n":1.50e3,"more":true/)

  // Somebody else was quicker.
  const now = (await server.request('GET', '/shop/_all_docs?key=%22c1:made%22')).body.rows[0].value.rev
  await server.request('PUT', '/shop/c1:made', { _rev: now, theirs: 1 })
  await v.write('The document', `{"_id": "c1:made", "_rev": "${now}", "mine": 1}`)
  await v.button('Save').click()
  await v.page.getByText('Somebody else has saved it meanwhile.', { exact: false }).waitFor()
  await v.button('Reload').click()
  await v.editor('The document').getByText('theirs').waitFor()

  await v.button('Delete document').click()
  await v.page.getByRole('dialog').getByRole('button', { name: 'Delete document' }).click()
  await v.heading('shop').waitFor()
  assert.equal((await server.request('GET', '/shop/c1:made')).status, 404)
}))

test('a conflict is merged, member by member', () => visit({}, async (v) => {
  await server.request('POST', '/shop/_bulk_docs', {
    new_edits: false,
    docs: [{ _id: 'c2:note', _rev: '1-b', text: 'at the desk', same: 1 }, { _id: 'c2:note', _rev: '1-a', text: 'on the phone', same: 1, more: [1] }]
  })
  await v.logIn()
  await v.go('#/db/shop/doc/c2%3Anote')
  await v.heading('In conflict').waitFor()
  await v.page.getByRole('radio', { name: 'more of 1-a' }).check()
  await v.editor('The merged document').getByText('more').waitFor()
  await v.sound()
  await v.button('Save and delete the others').click()
  await v.heading('In conflict').waitFor({ state: 'detached' })
  const { body } = await server.request('GET', '/shop/c2:note?conflicts=true')
  assert.deepEqual({ ...body, _rev: 0 }, { _id: 'c2:note', _rev: 0, text: 'at the desk', same: 1, more: [1] })
}))

test('partitions are charted, sorted and dropped', () => visit({}, async (v) => {
  await v.logIn()
  await v.go('#/db/shop/partitions')
  await v.heading('The largest').waitFor()
  const table = v.page.getByRole('table', { name: 'Partitions', exact: true })
  await table.getByRole('button', { name: 'Partition', exact: true }).click()
  await v.page.waitForFunction(() => document.querySelector('th[aria-sort=descending]')?.textContent.startsWith('Partition '))
  await v.page.getByRole('button', { name: 'Drop partition c6' }).click()
  await v.page.getByLabel('Type c6 to go on').fill('c6')
  await v.button('Drop partition').click()
  await v.page.getByRole('button', { name: 'Drop partition c5' }).waitFor()
  await v.page.getByRole('dialog').waitFor({ state: 'detached' })
  // The partition is gone at once, and its deletion markers come bit by bit.
  assert.equal((await server.request('GET', '/shop/_partition/c6')).body.doc_count, 0)
  await until('each document has left a marker', async () => (await server.request('GET', '/shop/_partition/c6')).body.doc_del_count === 17)
}))

// Who may write names partitions, documents, attachments and indexes; browsers take some names for steps in a path.
test('names that are steps in a path lead nowhere else', () => visit({}, async (v) => {
  for (const path of ['/steps?partitioned=true', '/victim', '/steps/..:a', '/victim/%2e%2e']) await server.request('PUT', path, {})
  await server.request('POST', '/victim/_bulk_docs', { docs: [{ _id: '..', n: 1 }, { _id: 'held', _attachments: { '..': { content_type: 'image/png', data: 'AA==' } } }] })
  await server.request('POST', '/steps/_index', { index: { fields: ['n'] }, partitioned: false, name: 'up', ddoc: '../../victim?' })
  await v.logIn()
  const refused = () => v.page.getByRole('alert').getByText(/Browsers can't ask for/).waitFor()
  await v.go('#/db/steps/partitions')
  await v.page.getByRole('button', { name: 'Drop partition ..' }).click()
  await v.page.getByLabel('Type .. to go on').fill('..')
  await v.button('Drop partition').click()
  await refused()
  await v.go('#/db/victim/doc/..')
  await refused()
  await v.go('#/db/victim/doc/held')
  await v.page.getByText(/^image.png, /).waitFor()
  await v.go('#/db/steps/queries')
  await v.page.getByRole('button', { name: 'Delete the index of n', exact: true }).click()
  await v.button('Delete index').click()
  await v.page.getByRole('button', { name: 'Delete the index of n', exact: true }).waitFor({ state: 'detached' })
  for (const path of ['/steps', '/victim']) assert.equal((await server.request('GET', path)).status, 200, path)
}))

test('another partition key is tried', () => visit({}, async (v) => {
  await server.request('PUT', '/flat')
  await server.request('POST', '/flat/_bulk_docs', { docs: Array.from({ length: 60 }, (_, i) => ({ _id: `d${i}`, country: `c${i % 4}`, shop: `s${i % 20}` })) })
  await v.logIn()
  await v.go('#/db/flat/partitions')
  await v.page.getByLabel('Key').fill('shop')
  await v.button('Try').click()
  await v.page.getByText('This key distributes documents evenly.', { exact: false }).waitFor()
  await v.page.getByLabel('Key').fill('{country')
  await v.button('Try').click()
  await v.page.getByRole('alert').getByText('has no } after it', { exact: false }).waitFor()
  await v.page.getByLabel('Key').fill('country')
  await v.button('Try').click()
  await v.page.getByText('Few values, about 4', { exact: false }).waitFor()
  await v.sound()
}))

test('a member sees what is theirs', () => visit({}, async (v) => {
  await v.logIn('ann', 'pw')
  await v.page.getByText('Only administrators see all databases.', { exact: false }).waitFor()
  await v.sound()
  await v.page.getByLabel('Database').fill('shop')
  await v.button('Open').click()
  await v.page.getByRole('link', { name: 'c0:order000' }).waitFor()
  assert.equal(await v.button('Delete database').count(), 0)
}))

test('whom rules let into partitions only sees those', () => visit({ width: 390 }, async (v) => {
  await server.request('PUT', '/rooms?partitioned=true')
  await server.request('POST', '/rooms/_bulk_docs', { docs: [{ _id: 'ann:lamp', on: true }, { _id: 'bob:lamp', on: true }] })
  await server.request('PUT', '/rooms/_security', { partitions: [{ who: '*', partition: '{name}', access: 'write' }] })
  await v.logIn('ann', 'pw')
  await v.go('#/db/rooms')
  await v.page.getByText('You may see partitions of this database, not all of it.', { exact: false }).waitFor()
  assert.equal(await v.page.getByRole('link', { name: 'bob' }).count(), 0)
  await v.page.getByRole('link', { name: 'ann', exact: true }).click()
  await v.page.getByRole('link', { name: 'ann:lamp' }).waitFor()
  await v.sound()
  await v.page.getByRole('link', { name: 'New document' }).click()
  await v.page.getByLabel(/^Id/).fill('ann:chair')
  await v.button('Create').click()
  await v.heading('ann:chair').waitFor()
  await v.go('#/db/rooms?partition=ann')
  await v.page.getByRole('link', { name: 'ann:chair' }).waitFor()
  await v.page.getByRole('link', { name: 'Queries' }).click()
  await v.write('The query', '{"selector": {"on": true}}')
  await v.button('Run').click()
  await v.page.getByRole('link', { name: 'ann:lamp' }).waitFor()
  await v.sound()
  await v.page.getByRole('textbox', { name: 'Partition' }).fill('bob')
  await v.button('Show').click()
  await v.page.getByRole('alert').getByText('You are not allowed to access this db.').waitFor()
  assert.equal(await v.page.getByRole('link', { name: 'ann:lamp' }).count(), 0)
}))

test('whom nothing lets in is told so', () => visit({}, async (v) => {
  await server.request('PUT', '/closed')
  await server.request('PUT', '/closed/_security', { members: { names: ['somebody'] } })
  await v.logIn('ann', 'pw')
  await v.go('#/db/closed')
  await v.page.getByRole('alert').getByText('You are not allowed to access this db.').waitFor()
  await v.sound()
}))

test('documents with odd ids are listed, shown, and kept through a reload', () => visit({}, async (v) => {
  const ids = ['a/b', '50%', '100%25', 'a#b', 'who?x=1', 'ünïcödé ☃', 'say "hi"', "it's", 'a+b', 'a&b=c', '<b>x</b>', 'a\\b']
  await server.request('PUT', '/odd')
  await server.request('POST', '/odd/_bulk_docs', { docs: ids.concat('..', '.').map((_id) => ({ _id, of: _id })) })
  await v.logIn()
  for (const id of ids) {
    await v.go('#/db/odd')
    await v.page.getByRole('link', { name: id, exact: true }).click()
    await v.heading(id).waitFor()
    await v.page.reload()
    await v.editor('The document').waitFor()
  }
  for (const id of ['.', '..']) {
    await v.go('#/db/odd')
    await v.page.getByRole('link', { name: id, exact: true }).click()
    await v.page.getByRole('alert').getByText('Browsers can\'t ask for what is named', { exact: false }).waitFor()
    await v.go('#/db/odd/doc')
    await v.page.getByLabel(/^Id/).fill(id)
    await v.button('Create').click()
    await v.page.getByRole('alert').getByText('Browsers can\'t ask for what is named', { exact: false }).waitFor()
  }
}))

test('a deleted document is written anew', () => visit({}, async (v) => {
  await server.request('PUT', '/odd', {})
  const { body } = await server.request('PUT', '/odd/gone', { a: 1 })
  await server.request('DELETE', `/odd/gone?rev=${body.rev}`)
  await v.logIn()
  await v.go('#/db/odd/doc/gone')
  await v.page.getByText('It was deleted.', { exact: false }).waitFor()
  await v.sound()
  await v.page.getByRole('link', { name: 'Write it anew' }).click()
  await v.button('Create').click()
  await v.heading('gone').waitFor()
  await v.editor('The document').getByText('3-').waitFor()
}))

test('a document of some megabytes is edited', () => visit({}, async (v) => {
  await server.request('PUT', '/odd', {})
  const { body } = await server.request('PUT', '/odd/long', { text: 'long '.repeat(900_000) })
  await v.logIn()
  await v.go('#/db/odd/doc/long')
  await v.editor('The document').fill(`{"_id": "long", "_rev": "${body.rev}", "text": "short"}`)
  await v.page.keyboard.press('ControlOrMeta+s')
  await v.page.getByText(/^2-/).first().waitFor()
  assert.equal((await server.request('GET', '/odd/long')).body.text, 'short')
}))

test('broken JSON is called that', () => visit({}, async (v) => {
  await v.logIn()
  await v.go('#/db/shop/queries')
  await v.write('The query', '{"selector": {"a":}}')
  await v.button('Run').click()
  await v.page.getByRole('alert').getByText('Invalid JSON.').waitFor()
  await v.go('#/db/shop/access')
  await v.write('Rules for partitions', '{"who": "*"}')
  await v.button('Save').click()
  await v.page.getByRole('alert').waitFor()
}))

test('a server that is stopped is missed, and found again', () => visit({}, async (v) => {
  await v.logIn()
  await v.go('#/db/shop')
  await server.kill()
  await v.page.getByRole('link', { name: 'Databases' }).first().click()
  await v.page.getByRole('alert').getByText("The server can't be reached", { exact: false }).waitFor()
  await v.sound()
  await server.resume()
  const shop = v.page.getByRole('link', { name: 'shop' })
  // The page also asks by itself every few seconds: the button may be gone before it is clicked.
  await Promise.race([v.button('Try again').click(), shop.waitFor()])
  await shop.waitFor()
}))

test('a query is run, explained, and given the index that serves it', () => visit({}, async (v) => {
  await v.logIn()
  await v.go('#/db/shop/queries')
  await v.write('The query', '{"selector": {"total": {"$gt": 100}}, "limit": 10}')
  await v.button('Run').click()
  await v.page.getByText('Scan of all documents').waitFor()
  await v.sound()
  await v.button('Create it').click()
  await v.page.getByText('Index of total').waitFor()
  await v.page.getByText('(100, )').waitFor()
  assert.equal(await v.button('Create it').count(), 0)
  assert.equal((await server.request('GET', '/shop/_index')).body.indexes.filter((i) => i.type === 'json').length, 1)
  await v.button('Next page').click()
  await v.page.getByRole('link', { name: 'c1:order113' }).waitFor()
  await v.button('Delete the index of total').click()
  await v.button('Delete index').click()
  await v.button('Delete the index of total').waitFor({ state: 'detached' })
}))

test('views, full-text and geo indexes are asked', () => visit({}, async (v) => {
  await server.request('PUT', '/shop/_design/all', {
    options: { partitioned: false },
    views: { totals: { map: 'function (doc) { if (doc.total !== undefined) emit(doc._id.slice(0, 2), doc.total) }', reduce: '_sum' } },
    indexes: { notes: { index: 'function (doc) { index("note", doc.text || "none", {store: true, facet: true}) }' } },
    st_indexes: { at: { index: 'function (doc) { if (doc.at) st_index(doc.at) }' } }
  })
  await server.request('PUT', '/shop/c1:text', { text: 'A lamp <b>for</b> the desk' })
  await server.request('PUT', '/shop/c1:place', { at: { type: 'Point', coordinates: [11, 48] } })
  await v.logIn()
  await v.go('#/db/shop/functions')
  await v.button('Run').click()
  await v.page.getByRole('row', { name: /"c0" 1,071/ }).waitFor()
  await v.sound()
  await v.page.getByLabel('View or index').selectOption({ label: 'Full-text index all/notes' })
  await v.page.getByLabel('Query (Lucene syntax)').fill('note:lamp')
  await v.page.getByLabel('Highlight (fields)').fill('note')
  await v.page.getByLabel('Count by (fields)').fill('note')
  await v.button('Search').click()
  await v.page.locator('mark', { hasText: /^lamp$/ }).waitFor()
  await v.page.getByText('<b>for</b> the desk').first().waitFor()
  await v.sound()
  await v.page.getByLabel('View or index').selectOption({ label: 'Geo index all/at' })
  await v.button('Run').click()
  await v.page.getByRole('img', { name: /^1 places between/ }).waitFor()
  await v.sound()
}))

test('changes are shown as they come', () => visit({}, async (v) => {
  await v.logIn()
  await v.go('#/db/shop/changes')
  // Written again until it is seen: the feed begins some time after the page is there.
  const row = v.page.getByRole('link', { name: /^c1:live/ }).first()
  for (let i = 0; !await row.isVisible(); i++) {
    await server.request('PUT', `/shop/c1:live${i}`, {})
    await row.waitFor({ timeout: 500 }).catch(() => {})
    assert.ok(i < 60, 'no change was shown')
  }
  await v.sound()
}))

test('who may what is changed', () => visit({}, async (v) => {
  await server.request('PUT', '/tenants?partitioned=true')
  await v.logIn()
  await v.go('#/db/tenants/access')
  await v.page.getByRole('group', { name: 'Members' }).getByLabel('Users').fill('ann, bob')
  await v.write('Rules for partitions', '[{"who": "*", "partition": "{name}", "access": "write"}]')
  await v.button('Save').click()
  await v.page.getByText('Saved.').waitFor()
  await v.write('Rules for partitions', '[{"who": "*", "access": "write"}]')
  await v.button('Save').click()
  await v.page.getByRole('alert').waitFor()
  const { body } = await server.request('GET', '/tenants/_security')
  assert.deepEqual([body.members.names, body.partitions.length], [['ann', 'bob'], 1])
}))

test('users are made, changed and given access keys', () => visit({}, async (v) => {
  await v.logIn()
  await v.go('#/users')
  await v.button('New user').click()
  await v.page.getByLabel('Name', { exact: true }).fill('cleo')
  await v.page.getByLabel('Password').fill('first')
  await v.page.getByLabel('Roles').fill('staff, editors')
  await v.button('Create').click()
  await v.button('Change cleo').click()
  await v.page.getByLabel(/^New password/).fill('second')
  await v.button('New key').click()
  await v.page.getByText('AWS_SECRET_ACCESS_KEY=').waitFor()
  await v.sound()
  await v.button('Save').click()
  await v.page.getByRole('dialog').waitFor({ state: 'detached' })
  const as = (password) => fetch(`${server.host}/_session`, { headers: { authorization: 'Basic ' + btoa('cleo:' + password) } })
  assert.deepEqual([(await as('first')).status, (await as('second')).status], [401, 200])
  assert.deepEqual((await (await as('second')).json()).userCtx.roles, ['staff', 'editors'])
  await v.button('Change cleo').click()
  await v.button('New key').click()
  await v.page.getByText('AWS_SECRET_ACCESS_KEY=').waitFor()
  await v.button('Delete user').click() // of whom there is a newer revision than is listed
  await v.page.getByRole('dialog').getByRole('button', { name: 'Delete user' }).click()
  await v.button('Change cleo').waitFor({ state: 'detached' })
  assert.equal((await as('second')).status, 401)
}))

test('what administrators did is read page by page', () => visit({}, async (v) => {
  await server.request('PUT', '/acted')
  for (let i = 0; i < 60; i++) await server.request('PUT', '/acted')
  await v.logIn()
  await v.go('#/live/audit')
  const acts = v.page.getByRole('region', { name: 'Audit log' }).locator('tbody tr')
  await acts.first().waitFor()
  assert.equal(await acts.count(), 50)
  assert.match(await acts.first().innerText(), /adm\s.*PUT \/\{db\}\s+acted\s+412/s)
  await v.sound()
  await v.button('Older').click()
  await acts.filter({ hasText: '201' }).filter({ hasText: 'acted' }).waitFor()
  await v.button('Newest').click()
  await acts.nth(49).waitFor()
  assert.equal(await v.button('Newest').count(), 0)
}))

test('a replication that is refused says what and why', () => visit({}, async (v) => {
  await server.request('PUT', '/strict')
  await server.request('PUT', '/strict/_design/rules', { validate_doc_update: 'function (doc) { if (!doc._deleted) throw({forbidden: "not here"}) }' })
  await server.request('PUT', '/_replicator/copying', { source: 'shop', target: 'strict', selector: { _id: { $beginsWith: 'c0:' } } })
  await v.logIn()
  await v.go('#/live/replications')
  const refused = v.page.getByRole('row', { name: /copying/ }).getByRole('button')
  await refused.click()
  await v.page.getByText('not here').first().waitFor()
  await v.sound()
}))

test('a database is replicated', () => visit({}, async (v) => {
  await v.logIn()
  await v.go('#/db/shop')
  await v.button('Replicate').click()
  await v.page.getByLabel(/^The other/).fill('shop-copy')
  await v.sound()
  await v.page.getByRole('dialog').getByRole('button', { name: 'Replicate' }).click()
  await v.page.getByRole('row', { name: /shop-copy.*completed/ }).waitFor()
  const counts = await Promise.all(['/shop', '/shop-copy'].map(async (path) => (await server.request('GET', path)).body.doc_count))
  assert.equal(counts[0], counts[1])
}))

test('subscriptions say what they could not deliver', () => visit({}, async (v) => {
  await server.request('PUT', '/told')
  await server.request('PUT', '/_node/_local/_config/subscriptions/allow_private', 'true')
  await v.logIn()
  await v.go('#/db/told/subscriptions')
  await v.button('New subscription').click()
  await v.page.getByLabel('URL').fill(`${server.host}/nobody/here`)
  await v.page.getByLabel(/^Secret/).fill('short')
  await v.button('Create').click()
  await v.page.getByRole('alert').waitFor()
  await v.page.getByLabel(/^Secret/).fill('0123456789abcdef')
  await v.button('Create').click()
  await v.page.getByRole('dialog').waitFor({ state: 'detached' })
  const { body: { subscriptions: [{ id, state, ...s }] } } = await server.request('GET', '/told/_subscriptions')
  await server.request('PUT', `/told/_subscriptions/${id}`, { ...s, attempts: 1 })
  await server.request('PUT', '/told/doc', {})
  await v.button(`Dead letters to ${s.url}`).click()
  await v.page.getByRole('link', { name: 'doc', exact: true }).waitFor()
  await v.sound()
  await v.button('Delete all').click()
  await v.button(`Dead letters to ${s.url}`).waitFor({ state: 'detached' })
  await v.button('Pause').click()
  await v.page.getByText('paused').waitFor()
  await v.button(`Delete the subscription to ${s.url}`).click()
  await v.button('Delete subscription').click()
  await v.page.getByText('No subscriptions.', { exact: false }).waitFor()
}))

test('metrics are plotted', () => visit({}, async (v) => {
  await v.logIn()
  await v.go('#/live/metrics')
  await v.page.getByText(/p99: \d/).waitFor()
  await v.sound()
}))

const dot = 'R0lGODlhAQABAIAAAAAAAP///yH5BAEAAAAALAAAAAABAAEAAAIBRAA7' // a picture of one point

test('an administrator sees what somebody else sees', () => visit({}, async (v) => {
  await server.request('PUT', '/theirs?partitioned=true')
  await server.request('PUT', '/theirs/_security', { members: { names: ['mia'] }, partitions: [{ who: '*', partition: '{name}', access: 'write' }] })
  await server.request('POST', '/theirs/_bulk_docs', { docs: [{ _id: 'ann:mine', n: 1, _attachments: { 'a.txt': { content_type: 'text/plain', data: 'aGVsbG8=' }, 'dot.gif': { content_type: 'image/gif', data: dot } } }, { _id: 'bob:his' }] })
  await v.logIn()
  await v.go('#/users')
  await v.button('See as ann').click()
  await v.page.getByText('You see what ann sees, and can change nothing.').waitFor()
  await v.page.getByLabel('Database', { exact: true }).fill('theirs')
  await v.button('Open').click()
  await v.page.getByRole('link', { name: 'ann', exact: true }).click()
  await v.page.getByRole('link', { name: 'ann:mine' }).click()
  await v.heading('ann:mine').waitFor()
  await v.sound()
  await v.page.waitForFunction(() => document.querySelector('img[src^="blob:"]')?.naturalWidth === 1)
  const [asked, file] = await Promise.all([v.page.waitForRequest(/a\.txt/), v.page.waitForEvent('download'), v.button('a.txt').click()])
  assert.deepEqual([await asked.headerValue('X-Sectional-As'), file.suggestedFilename()], ['ann', 'a.txt'])
  await v.write('The document', '{"n": 2}')
  await v.button('Save').click()
  await v.page.getByRole('alert').getByText('As another user one can only read.').waitFor()
  await v.button('Undo changes').click()
  await v.go('#/db/theirs/doc/bob%3Ahis')
  await v.page.getByRole('alert').getByText('not allowed').waitFor()
  await v.page.reload()
  await v.button('See as yourself').click()
  await v.heading('Users').waitFor()
  await v.go('#/db/theirs/doc/bob%3Ahis')
  await v.editor('The document').waitFor()
}))

test('what has changed since an older revision, and how revisions came from each other', () => visit({}, async (v) => {
  const { body: { rev } } = await server.request('PUT', '/shop/c4:told', { text: 'once', same: true })
  await server.request('PUT', '/shop/c4:told', { _rev: rev, text: 'twice', same: true })
  await v.logIn()
  await v.go('#/db/shop/doc/c4%3Atold')
  await v.page.getByRole('button', { name: /^1-/ }).click()
  await v.page.getByRole('row', { name: 'text "once" "twice"' }).waitFor()
  assert.equal(await v.page.getByRole('row', { name: 'same true true' }).count(), 0)
  await server.request('POST', '/shop/_bulk_docs', { new_edits: false, docs: [{ _id: 'c4:told', _rev: '2-0', _revisions: { start: 2, ids: ['0', rev.slice(2)] }, text: 'thrice' }] })
  await v.button('Reload').click()
  await v.page.getByRole('img', { name: /the winner: from 1-.*2-0: from 1-/ }).waitFor()
  await v.sound()
}))

test('statements are asked of tables', () => visit({}, async (v) => {
  const operate = (operation, body) => fetch(`${server.host}/_dynamodb`, { method: 'POST', body: JSON.stringify(body), headers: { authorization: 'Basic ' + btoa('adm:pass'), 'x-amz-target': 'DynamoDB_20120810.' + operation } })
  const key = (hash, range) => [{ AttributeName: hash, KeyType: 'HASH' }, { AttributeName: range, KeyType: 'RANGE' }]
  const made = await operate('CreateTable', {
    TableName: 'Music', BillingMode: 'PAY_PER_REQUEST', KeySchema: key('artist', 'song'),
    AttributeDefinitions: ['artist', 'song', 'year'].map((AttributeName) => ({ AttributeName, AttributeType: 'S' })),
    LocalSecondaryIndexes: [{ IndexName: 'by-year', KeySchema: key('artist', 'year'), Projection: { ProjectionType: 'KEYS_ONLY' } }]
  })
  assert.equal(made.status, 200)
  await v.logIn()
  await v.page.getByRole('link', { name: 'Tables' }).click()
  await v.page.getByRole('link', { name: 'Music' }).click()
  await v.page.getByRole('row', { name: 'by-year local artist, year keys only active' }).waitFor()
  await v.write('The statement', `INSERT INTO "Music" VALUE {'artist': 'Arvo Pärt', 'song': 'Fratres', 'year': '1977', 'plays': 12345678901234567890123}`)
  await v.button('Run').click()
  await v.page.getByText('No items.').waitFor()
  await v.write('The statement', `SELECT * FROM "Music" WHERE artist = 'Arvo Pärt'`)
  await v.button('Run').click()
  await v.page.getByRole('cell', { name: '12345678901234567890123' }).waitFor()
  await v.sound()
  await v.write('The statement', 'SELECT FROM')
  await v.button('Run').click()
  await v.page.getByRole('alert').getByText('ValidationException').waitFor()
}))

test('a database is told when documents expire, and for how long it remembers', () => visit({}, async (v) => {
  await server.request('PUT', '/timed')
  await server.request('PUT', '/timed/odd', { expires: 'tomorrow' })
  await v.logIn()
  await v.go('#/db/timed/settings')
  await v.page.getByLabel('Member that has the time').fill('expires')
  await v.button('Save expiry').click()
  await v.page.getByText('nobody can read their time: 1', { exact: false }).waitFor()
  await v.page.getByLabel(/^Delete them after/).fill('long')
  await v.button('Save deletion markers').click()
  await v.page.getByRole('alert').waitFor()
  await v.page.getByLabel(/^Delete them after/).fill('3_months')
  await v.button('Save deletion markers').click()
  await v.page.getByRole('alert').waitFor({ state: 'detached' })
  await v.page.getByLabel(/_revs_limit/).fill('7')
  await v.button('Save revisions').click()
  await v.page.getByText('Saved.').nth(2).waitFor()
  await v.sound()
  const now = await Promise.all(['_expiry', '_auto_purge', '_revs_limit'].map(async (path) => (await server.request('GET', '/timed/' + path)).body))
  assert.deepEqual([now[0].field, now[1].deleted_document_ttl, now[2]], ['expires', '3_months', 7])
}))

test('the list of databases tells where writes go', () => visit({}, async (v) => {
  await server.request('PUT', '/busy')
  await v.logIn()
  await v.page.getByRole('row', { name: /^busy 0/ }).waitFor()
  for (let i = 0; i < 5; i++) await server.request('POST', '/busy', {})
  await v.page.getByRole('row', { name: /^busy 5 0 .* B 0?\.?[0-9.]*[1-9][0-9]*$/ }).waitFor()
}))

test('the documentation is read, searched and copied, also by who is not logged in', () => visit({}, async (v) => {
  await v.page.goto(server.host)
  await v.page.getByRole('link', { name: 'Help' }).click()
  await v.heading('Help').waitFor()
  await v.sound()
  await v.page.getByRole('article').getByRole('link', { name: 'Start', exact: true }).click()
  await v.heading('Start').waitFor()

  // What is copied names this server.
  await v.context.grantPermissions(['clipboard-read', 'clipboard-write'])
  await v.page.locator('.code', { hasText: 'URL=' }).getByRole('button', { name: 'Copy' }).click()
  await v.button('Copied').waitFor()
  assert.equal(await v.page.evaluate(() => navigator.clipboard.readText()), `URL=http://admin:PASSWORD@${new URL(server.host).host}\ncurl $URL`)

  // By the keyboard alone: from the search to the place that was found.
  await v.page.getByLabel('Search the documentation').focus()
  await v.page.keyboard.type('conflicts limit')
  await v.page.getByText(/^\d+ places/).waitFor()
  await v.page.getByRole('link', { name: 'Limits on writes' }).focus()
  await v.sound()
  await v.page.keyboard.press('Enter')
  await v.page.waitForFunction(() => document.activeElement.id === 'limits-on-writes')
  await v.page.getByLabel('Search the documentation').fill('zebra crossing')
  await v.page.getByText('Nothing has all of these words.').waitFor()
  await v.page.getByRole('link', { name: 'Log in' }).click()
  await v.button('Log in').waitFor()
}))

test('every page of the documentation is reached from its contents, and every link leads somewhere', () => visit({ width: 390 }, async (v) => {
  await v.page.goto(`${server.host}/_utils/#/help`)
  await v.heading('Help').waitFor()
  const names = Object.keys(await (await fetch(`${server.host}/_utils/help.json`)).json())
  const reached = new Set(['#/help'])
  const anchors = []
  const open = async (page) => {
    await v.page.evaluate((hash) => { location.hash = hash }, page)
    await v.page.waitForFunction((hash) => location.hash === hash && document.querySelector('main .manual')?.closest('main').querySelector('h1'), page)
    return v.page.evaluate(() => ({
      title: document.querySelector('main h1').textContent,
      links: [...document.querySelectorAll('.manual a[href^="#"]')].map((a) => a.getAttribute('href')),
      ids: [...document.querySelectorAll('.manual [id]')].map((e) => e.id),
      left: document.querySelector('.manual').innerText.match(/\*\*|\]\(|^#+ |<!--/m)?.[0],
      wide: document.documentElement.scrollWidth - innerWidth
    }))
  }
  const ids = {}
  const queue = ['#/help']
  while (queue.length > 0) {
    const page = queue.shift()
    const shown = await open(page)
    assert.notEqual(shown.title, 'Page not found', page)
    assert.ok(shown.wide <= 0, `${page} is ${shown.wide} pixels wider than the screen`)
    ids[page] = new Set(shown.ids)
    for (const link of shown.links) {
      const [to, query] = link.split('?')
      if (!reached.has(to)) queue.push(to)
      reached.add(to)
      const at = new URLSearchParams(query).get('at')
      if (at) anchors.push({ page, to, at })
    }
  }
  assert.deepEqual([...reached].map((hash) => hash.replace(/^#\/help\/?/, '') || 'README.md').sort(), names.sort())
  assert.deepEqual(anchors.filter(({ to, at }) => !ids[to].has(at)), [])
}))

const pages = ['#/db', '#/db/shop', '#/db/shop/partitions', '#/db/shop/queries', '#/db/shop/functions', '#/db/shop/changes', '#/db/shop/access', '#/db/shop/settings', '#/db/shop/subscriptions',
  '#/db/shop/doc', '#/db/shop/doc/c0%3Aorder000', '#/live', '#/live/replications', '#/live/metrics', '#/live/audit', '#/users', '#/tables', '#/help', '#/help/guides/search.md', '#/help?q=partition+key', '#/nowhere']

for (const theme of ['light', 'dark']) {
  for (const width of [1200, 390]) {
    test(`every page, ${theme}, ${width} pixels wide`, () => visit({ theme, width }, async (v) => {
      await v.logIn()
      for (const page of pages) {
        await v.go(page)
        await v.sound()
      }
    }))
  }
}

test('what documents, names and files say is shown, and runs nowhere', () => visit({}, async (v) => {
  const script = 'globalThis.ran = 1'
  const ids = ['<img src=x onerror="ran=1">', '"><script>ran=1</script>', "javascript:ran=1", 'constructor', 'a?b=c#d', '../../_session', '%2e%2e%2f', 'x\u0000y', '{{ran=1}}']
  const body = (id) => `{"_id": ${JSON.stringify(id)}, "in": {"__proto__": {"ran": 1}}, "constructor": {"prototype": {"ran": 1}}, "hasOwnProperty": 1, "toString": 1, "link": "javascript:ran=1", "html": "<img src=x onerror='ran=1'>",
    "_attachments": {"<img src=x onerror=ran=1>.txt": {"content_type": "text/html<script>", "data": "eA=="}, "page.html": {"content_type": "text/html", "data": "${Buffer.from(`<script>${script};document.title='ran'</script>`).toString('base64')}"},
    "drawing.svg": {"content_type": "image/svg+xml", "data": "${Buffer.from(`<svg xmlns="http://www.w3.org/2000/svg"><title>still</title><script>${script};document.title='ran'</script></svg>`).toString('base64')}"}}}`
  await server.request('PUT', '/' + encodeURIComponent('odd/$(1)+-'))
  const made = await fetch(`${server.host}/${encodeURIComponent('odd/$(1)+-')}/_bulk_docs`, {
    method: 'POST', headers: { 'content-type': 'application/json', authorization: 'Basic ' + btoa('adm:pass') }, body: `{"docs": [${ids.map(body)}]}`
  })
  assert.equal(made.status, 201, await made.clone().text())
  assert.deepEqual((await made.json()).map((d) => d.ok), ids.map(() => true))
  v.page.on('dialog', (d) => v.complaints.push('a dialog ' + d.message()))
  const unharmed = async () => assert.deepEqual(await v.page.evaluate(() => [globalThis.ran, ({}).ran, document.title === 'ran']), [undefined, undefined, false])
  await v.logIn()
  const base = '#/db/' + encodeURIComponent('odd/$(1)+-')
  for (const page of ['', '/queries', '/changes', '/functions', '/access']) {
    await v.go(base + page)
    await unharmed()
  }
  await v.go(base + '/queries')
  await v.write('The query', '{"selector": {}}')
  await v.button('Run').click()
  await v.page.getByRole('cell', { name: 'javascript:ran=1' }).first().waitFor()
  await unharmed()
  for (const id of ids) {
    await v.go(`${base}/doc/${encodeURIComponent(id)}`)
    assert.equal(await v.page.locator('h1').textContent(), id)
    await v.editor('The document').getByText('"__proto__"').waitFor()
    await unharmed()
  }
  for (const name of ['page.html', 'drawing.svg']) {
    await v.page.goto(`${server.host}/${encodeURIComponent('odd/$(1)+-')}/constructor/${name}`)
    await unharmed()
    assert.equal(await v.page.evaluate(() => { try { return document.cookie } catch { return 'another origin' } }), 'another origin')
  }
  v.complaints = v.complaints.filter((c) => !/Blocked script execution in .* because the document's frame is sandboxed/.test(c)) // the files' scripts
}))

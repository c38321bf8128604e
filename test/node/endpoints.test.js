// A partition in the place of a database: PouchDB is given the address of a endpoint.

import assert from 'node:assert/strict'
import { once } from 'node:events'
import { after, before, test } from 'node:test'
import PouchDB from 'pouchdb'
import memory from 'pouchdb-adapter-memory'
import { Server, pauses, until } from './server.js'

PouchDB.plugin(memory)

let server
let count = 0

before(async () => {
  server = await Server.start()
  for (const name of ['gus', 'rea']) {
    const user = { name, type: 'user', password: 'pw', roles: [] }
    assert.equal((await server.request('PUT', `/_users/org.couchdb.user:${name}`, user)).status, 201)
  }
})
after(async () => {
  await server.stop()
  await server.remove()
})

const local = () => new PouchDB(`endpoint-${count++}`, { adapter: 'memory' })

// shared makes a partitioned database in which other people write, too. Rules let gus write to alice, and rea read it.
async function shared () {
  const name = `shared${count++}`
  assert.equal((await server.request('PUT', `/${name}?partitioned=true`)).status, 201)
  const partitions = ['gus', 'rea'].map((who) => ({ who: { names: [who] }, partition: 'alice', access: who === 'gus' ? 'write' : 'read' }))
  assert.equal((await server.request('PUT', `/${name}/_security`, { partitions })).status, 200)
  const others = Array.from({ length: 50 }, (_, n) => ({ _id: `bob:note:${n}`, secret: true }))
  assert.equal((await server.request('POST', `/${name}/_bulk_docs`, { docs: others })).status, 201)
  return name
}

// The ways to write the address of a endpoint, and what ids of documents begin with there.
const endpoints = [
  { path: (db) => `${db}/_partition/alice`, prefix: 'alice:' },
  { path: (db) => `${db}%2F_partition%2Falice`, prefix: 'alice:' },
  { path: (db) => `${db}/_owner/alice`, prefix: '' },
  { path: (db) => `${db}%2F_owner%2Falice`, prefix: '' }
]

// as opens a path of the server for somebody: the administrator, or a user whom only a rule lets in.
const as = (who, path) => who === 'adm'
  ? new PouchDB(`${server.url}/${path}`)
  : new PouchDB(`${server.host}/${path}`, { auth: { username: who, password: 'pw' } })

const everything = async (db) => {
  const { rows } = await db.allDocs({ include_docs: true, conflicts: true, attachments: true })
  return rows.map(({ doc: { _attachments = {}, ...doc } }) => ({
    ...doc,
    files: Object.entries(_attachments).map(([name, { content_type: type, data }]) => ({ name, type, data }))
  }))
}

for (const [endpoint, who] of endpoints.flatMap((endpoint) => [[endpoint, 'adm'], [endpoint, 'gus']])) {
  const where = `${endpoint.path('db')} as ${who}`
  const id = (name) => endpoint.prefix + name

  test(`sync both ways with conflicts and attachments: ${where}`, async () => {
    const name = await shared()
    const far = as(who, endpoint.path(name))
    const [here, there] = [local(), local()]
    await here.bulkDocs(Array.from({ length: 250 }, (_, n) => ({ _id: id(`note:${String(n).padStart(4, '0')}`), n })))
    await here.putAttachment(id('note:0001'), 'photo.jpg', (await here.get(id('note:0001')))._rev, Buffer.alloc(200_000, 'photo'), 'image/jpeg')
    await here.sync(far)
    await there.sync(far)
    assert.equal((await far.info()).doc_count, 250)
    assert.deepEqual(await everything(there), await everything(here))
    assert.deepEqual(await everything(far), await everything(here))

    for (const [db, side] of [[here, 'here'], [there, 'there']]) {
      const doc = await db.get(id('note:0002'))
      await db.put({ ...doc, side })
      await db.put({ _id: id(`note:${side}`), side })
    }
    await there.remove(await there.get(id('note:0003')))
    for (const db of [here, there, here]) await db.sync(far)
    const winner = await far.get(id('note:0002'), { conflicts: true })
    assert.equal(winner._conflicts.length, 1)
    for (const db of [here, there]) {
      assert.deepEqual(await db.get(id('note:0002'), { conflicts: true }), winner)
      await assert.rejects(db.get(id('note:0003')), { status: 404, reason: 'deleted' })
    }
    assert.deepEqual(await everything(there), await everything(here))
    assert.deepEqual(await everything(far), await everything(here))
    // The owner of the service sees it all, and what others wrote is as it was.
    const { body: { rows } } = await server.request('GET', `/${name}/_all_docs`)
    assert.equal(rows.filter((row) => row.id.startsWith('alice:note:')).length, (await far.allDocs()).rows.length)
    assert.equal(rows.filter((row) => row.id.startsWith('bob:') && row.value.rev.startsWith('1-')).length, 50)

    // A replication that begins again reads nothing.
    assert.equal((await there.replicate.from(far)).docs_read, 0)
  })

  test(`live sync: ${where}`, async () => {
    const name = await shared()
    const far = as(who, endpoint.path(name))
    const here = local()
    const failures = []
    const sync = here.sync(far, { live: true, retry: true, back_off_function: () => 50 })
    sync.on('error', (err) => failures.push(err)).on('denied', (err) => failures.push(err))
    const idle = pauses(sync)
    const there = async (key) => (await server.request('GET', `/${name}/alice:${key}`)).status === 200
    const arrived = (key) => here.get(id(key)).then(() => true, () => false)
    await here.put({ _id: id('up') })
    await until('the write goes up', () => there('up'))
    await server.request('PUT', `/${name}/bob:other`, {})
    await server.request('PUT', `/${name}/alice:down`, {})
    await until('the write comes down', () => arrived('down'))
    await idle()
    if (who === 'adm') await server.kill()
    await here.put({ _id: id('meanwhile') })
    if (who === 'adm') await server.resume()
    await until('the write of the pause goes up', () => there('meanwhile'))
    sync.cancel()
    await once(sync, 'complete')
    assert.deepEqual(failures, [])
    assert.deepEqual((await here.allDocs()).rows.map((row) => row.id), ['down', 'meanwhile', 'up'].map(id))
  })
}

test('what a partition may not have is denied by itself', async () => {
  const name = await shared()
  await server.request('PUT', '/_users/org.couchdb.user:ann', { name: 'ann', type: 'user', password: 'pw', roles: [] })
  await server.request('PUT', `/${name}/_security`, { members: { names: ['ann'] }, admins: { names: [] } })
  const far = new PouchDB(`${server.host}/${name}/_partition/alice`, { auth: { username: 'ann', password: 'pw' } })
  const here = local()
  await here.bulkDocs([{ _id: 'alice:1' }, { _id: 'bob:note:1', forged: true }, { _id: '_design/x', views: {} }, { _id: 'alice:2' }])
  const denied = []
  const result = await here.replicate.to(far).on('denied', ({ id, name }) => denied.push(`${id} ${name}`))
  assert.deepEqual(denied.sort(), ['_design/x forbidden', 'bob:note:1 forbidden'])
  assert.equal(result.docs_written, 2)
  assert.deepEqual((await far.allDocs()).rows.map((row) => row.id), ['alice:1', 'alice:2'])
  assert.equal((await server.request('GET', `/${name}/bob:note:1`)).body.forged, undefined)
})

for (const endpoint of endpoints) {
  test(`readers keep their own checkpoints: ${endpoint.path('db')}`, async () => {
    const name = await shared()
    const [writer, reader, here, there] = [as('gus', endpoint.path(name)), as('rea', endpoint.path(name)), local(), local()]
    const id = (key) => endpoint.prefix + key
    const read = async (from, to) => (await to.replicate.from(from)).docs_read
    await writer.bulkDocs([{ _id: id('1') }, { _id: id('2') }])
    assert.equal(await read(writer, here), 2)
    assert.equal(await read(reader, there), 2)
    await server.request('PUT', `/${name}/bob:more`, {})
    await writer.put({ _id: id('3') })
    assert.equal(await read(reader, there), 1)
    assert.equal(await read(reader, there), 0)
    const locals = async (db) => (await (await db.fetch('_local_docs')).json()).rows.map((row) => row.id)
    const [mine, others] = [await locals(reader), await locals(writer)]
    assert.equal(mine.length, 1)
    assert.equal(others.length, 1)
    assert.equal((await reader.fetch(others[0], { method: 'DELETE' })).status, 404)
    assert.equal(await read(writer, here), 1)
    assert.deepEqual(await everything(there), await everything(here))
  })
}

test('equally named partitions of two databases keep checkpoints apart', async () => {
  const [one, two] = [await shared(), await shared()]
  const here = local()
  for (const name of [one, two]) {
    const far = new PouchDB(`${server.url}/${name}/_partition/alice`)
    await far.put({ _id: `alice:${name}` })
    assert.equal((await here.replicate.from(far)).docs_written, 1)
  }
})

// PouchDB: the replicating client. It keeps its side in memory.

import assert from 'node:assert/strict'
import { once } from 'node:events'
import { after, before, test } from 'node:test'
import PouchDB from 'pouchdb'
import memory from 'pouchdb-adapter-memory'
import { Server, counting, pauses, until } from './server.js'

PouchDB.plugin(memory)

let server
let count = 0

before(async () => { server = await Server.start() })
after(() => server.remove())

const local = () => new PouchDB(`local-${count++}`, { adapter: 'memory' })

async function remote (name, partitioned, options) {
  assert.equal((await server.request('PUT', `/${name}${partitioned ? '?partitioned=true' : ''}`)).status, 201)
  return new PouchDB(`${server.url}/${name}`, options)
}

// everything gives all documents with the contents of their attachments. Digest and revpos stay out: PouchDB counts the
// revpos of what it pulled anew, and a server that compresses text shows the digest of what it stores.
const everything = async (db) => {
  const { rows } = await db.allDocs({ include_docs: true, conflicts: true, attachments: true })
  return rows.map(({ doc: { _attachments = {}, ...doc } }) => ({
    ...doc,
    files: Object.entries(_attachments).map(([name, { content_type: type, data }]) => ({ name, type, data }))
  }))
}

for (const partitioned of [false, true]) {
  test(`sync both ways with conflicts and attachments, partitioned: ${partitioned}`, async () => {
    const far = await remote(`sync-${partitioned}`, partitioned)
    const [here, there] = [local(), local()]
    await here.bulkDocs(Array.from({ length: 250 }, (_, n) => ({ _id: `note:${String(n).padStart(4, '0')}`, n })))
    await here.putAttachment('note:0001', 'photo.jpg', (await here.get('note:0001'))._rev, Buffer.alloc(200_000, 'photo'), 'image/jpeg')
    await here.putAttachment('note:0001', 'small.txt', (await here.get('note:0001'))._rev, Buffer.from('small'), 'text/plain')
    await here.sync(far)
    await there.sync(far)
    assert.deepEqual(await everything(there), await everything(here))
    assert.deepEqual(await everything(far), await everything(here))

    // Both sides change the same document; after syncing, all three agree on winner and conflict.
    for (const [db, who] of [[here, 'here'], [there, 'there']]) {
      const doc = await db.get('note:0002')
      await db.put({ ...doc, who })
      await db.put({ _id: `note:${who}`, who })
    }
    await there.remove(await there.get('note:0003'))
    for (const db of [here, there, here]) await db.sync(far)
    const winner = await far.get('note:0002', { conflicts: true })
    assert.equal(winner._conflicts.length, 1)
    for (const db of [here, there]) {
      assert.deepEqual(await db.get('note:0002', { conflicts: true }), winner)
      await assert.rejects(db.get('note:0003'), { status: 404, reason: 'deleted' })
    }
    // The loser is taken away and everybody hears of it.
    await far.remove('note:0002', winner._conflicts[0])
    for (const db of [here, there]) {
      await db.sync(far)
      assert.equal((await db.get('note:0002', { conflicts: true }))._conflicts, undefined)
    }
    assert.deepEqual(await everything(there), await everything(here))
    assert.deepEqual(await everything(far), await everything(here))
  })
}

test('live sync goes on after the server was killed and restarted', async () => {
  const far = await remote('live', false)
  const here = local()
  const sync = here.sync(far, { live: true, retry: true, back_off_function: () => 50 })
  const failures = []
  sync.on('error', (err) => failures.push(err)).on('denied', (err) => failures.push(err))
  const idle = pauses(sync)
  const there = async (id) => (await server.request('GET', `/live/${id}`)).status === 200
  const arrived = (id) => here.get(id).then(() => true, () => false)

  await here.put({ _id: 'before:here' })
  await until('the write goes up', () => there('before:here'))
  await server.request('PUT', '/live/before:there', {})
  await until('the write comes down', () => arrived('before:there'))

  await idle()
  await server.kill()
  await here.put({ _id: 'meanwhile:here' })
  await server.resume()
  assert.ok(await there('before:here'), 'the server kept what it had acknowledged')
  await until('the write of the pause goes up', () => there('meanwhile:here'))
  await server.request('PUT', '/live/after:there', {})
  await until('the feed goes on', () => arrived('after:there'))

  sync.cancel()
  await once(sync, 'complete')
  assert.deepEqual(failures, [])
  await here.sync(far)
  assert.deepEqual(await everything(far), await everything(here))
})

test('a replication that was cut off resumes from its checkpoint', async () => {
  const [fetch, answered] = counting(PouchDB.fetch)
  const far = await remote('resumed', false, { fetch })
  await far.bulkDocs(Array.from({ length: 400 }, (_, n) => ({ _id: `doc:${n}`, n })))
  const here = local()
  await here.replicate.from(far)
  await answered()
  await server.kill()
  await server.resume()
  await far.put({ _id: 'doc:new' })
  const second = await here.replicate.from(far)
  assert.equal(second.docs_read, 1, 'only what is new is read')
})

test('a document with attachments syncs while another client updates it all the time', async () => {
  const far = await remote('busy', false)
  const path = '/busy/page:1'
  const attachment = (n) => ({ 'data.bin': { content_type: 'application/octet-stream', data: Buffer.alloc(50_000, `version ${n} `).toString('base64') } })
  let { body: { rev } } = await server.request('PUT', path, { n: 0, _attachments: attachment(0) })
  const revisions = [rev] // by version
  let writing = true
  let versions = 0
  const writer = (async () => {
    while (writing) {
      const n = ++versions
      const { status, body } = await server.request('PUT', path, { _rev: rev, n, _attachments: attachment(n) })
      assert.equal(status, 201)
      rev = body.rev
      revisions.push(rev)
    }
  })()
  // Two targets: PouchDB's own side, for which it fetches a changed attachment without naming a revision (body and
  // attachment may then be of different versions, whatever the server does), and a remote one, for which it names it.
  const here = local()
  const mirror = await remote('mirror', false)
  try {
    for (let round = 0; round < 15; round++) {
      const before = versions
      for (const target of [here, mirror]) {
        const result = await target.replicate.from(far)
        assert.deepEqual(result.errors, [])
        assert.equal(result.doc_write_failures, 0)
      }
      const { n, _attachments: { 'data.bin': file } } = await mirror.get('page:1', { attachments: true })
      assert.equal(Buffer.from(file.data, 'base64').toString().slice(0, 20), Buffer.alloc(20, `version ${n} `).toString(), 'body and attachment belong together')
      await until('the other client writes on', () => versions > before)
    }
  } finally {
    writing = false
    await writer
  }
  assert.ok(versions > 15)
  // Superseded revisions are still readable with their attachments, as far back as the tree remembers any (1000).
  const old = Math.max(0, revisions.length - 900)
  const { status, body } = await server.request('GET', `${path}?rev=${revisions[old]}&attachments=true`)
  assert.equal(status, 200)
  assert.equal(body.n, old)
  const start = `version ${old} `
  assert.equal(Buffer.from(body._attachments['data.bin'].data, 'base64').toString().slice(0, start.length), start)
  for (const target of [here, mirror]) {
    await target.replicate.from(far)
    assert.equal((await target.get('page:1'))._rev, rev)
  }
})

test('the fitness log asks by ranges of ids', async () => {
  const far = await remote('fitness', false)
  await far.bulkDocs([
    ...['bench-press', 'deadlift', 'squat'].map((name) => ({ _id: `exercise:${name}` })),
    ...['2016-12-08-06-00-00', '2016-12-10-05-55-12', '2016-12-12-05-52-01'].map((at) => ({ _id: `workout:${at}` })),
    ...['2016-12-08-06-20-00', '2016-12-10-06-11-05', '2016-12-12-14-18-59'].map((at) => ({ _id: `lift:223:${at}` })),
    { _id: 'lift:31:2016-12-12-15-00-00' }
  ])
  const ids = async (options) => (await far.allDocs(options)).rows.map((row) => row.id)
  assert.deepEqual(await ids({ startkey: 'exercise:', endkey: 'exercise:\uffff' }),
    ['exercise:bench-press', 'exercise:deadlift', 'exercise:squat'])
  assert.deepEqual(await ids({ startkey: 'workout:\uffff', endkey: 'workout:', descending: true, limit: 1 }),
    ['workout:2016-12-12-05-52-01'])
  assert.deepEqual(await ids({ startkey: 'lift:223:2016-12-12-14-18-59', endkey: 'lift:223:', descending: true, skip: 1 }),
    ['lift:223:2016-12-10-06-11-05', 'lift:223:2016-12-08-06-20-00'])
  assert.deepEqual(await ids({ keys: ['workout:2016-12-10-05-55-12'] }), ['workout:2016-12-10-05-55-12'])
})

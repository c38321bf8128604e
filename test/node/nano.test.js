// nano: the plain CouchDB client.

import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import nano from 'nano'
import { Server, until } from './server.js'

let server, couch

before(async () => {
  server = await Server.start()
  couch = nano(server.url)
})
after(() => server.remove())

// Both kinds of database behave alike as long as ids have a partition.
const kinds = [{ name: 'ordinary', options: {} }, { name: 'partitioned', options: { partitioned: true } }]

for (const kind of kinds) {
  test(`documents in an ${kind.name} database`, async () => {
    const name = `documents-${kind.name}`
    assert.deepEqual(await couch.db.create(name, kind.options), { ok: true })
    assert.ok((await couch.db.list()).includes(name))
    const info = await couch.db.get(name)
    assert.equal(Boolean(info.props.partitioned), kind.name === 'partitioned')
    const db = couch.use(name)

    const first = await db.insert({ colour: 'green', watts: 7 }, 'lamp:desk')
    assert.match(first.rev, /^1-[0-9a-f]{32}$/)
    assert.deepEqual(await db.get('lamp:desk'), { _id: 'lamp:desk', _rev: first.rev, colour: 'green', watts: 7 })
    const second = await db.insert({ _id: 'lamp:desk', _rev: first.rev, colour: 'red' })
    await assert.rejects(db.insert({ _id: 'lamp:desk', _rev: first.rev, colour: 'blue' }),
      { statusCode: 409, error: 'conflict', reason: 'Document update conflict.' })
    assert.equal((await db.head('lamp:desk')).etag, `"${second.rev}"`)
    assert.equal((await db.get('lamp:desk', { rev: first.rev })).colour, 'green')
    const infos = await db.get('lamp:desk', { revs_info: true })
    assert.deepEqual(infos._revs_info.map((r) => r.rev), [second.rev, first.rev])
    const gone = await db.destroy('lamp:desk', second.rev)
    assert.match(gone.rev, /^3-/)
    await assert.rejects(db.get('lamp:desk'), { statusCode: 404, reason: 'deleted' })
    await assert.rejects(db.get('lamp:never'), { statusCode: 404, reason: 'missing' })

    assert.deepEqual(await couch.db.destroy(name), { ok: true })
    await assert.rejects(db.info(), { statusCode: 404, reason: 'Database does not exist.' })
  })

  test(`bulk, lists and fetch in an ${kind.name} database`, async () => {
    const name = `bulk-${kind.name}`
    await couch.db.create(name, kind.options)
    const db = couch.use(name)
    const docs = Array.from({ length: 300 }, (_, n) => ({ _id: `p${n % 3}:${String(n).padStart(4, '0')}`, n }))
    const outcome = await db.bulk({ docs })
    assert.equal(outcome.length, 300)
    assert.ok(outcome.every((row) => row.ok && row.rev.startsWith('1-')))
    const again = await db.bulk({ docs: docs.slice(0, 2) })
    assert.deepEqual(again.map((row) => row.error), ['conflict', 'conflict'])

    const all = await db.list({ include_docs: true })
    assert.equal(all.total_rows, 300)
    assert.deepEqual(all.rows.map((row) => row.id), docs.map((d) => d._id).sort())
    assert.ok(all.rows.every((row) => row.doc._id === row.id && row.doc._rev === row.value.rev))
    const range = await db.list({ start_key: 'p1:', end_key: 'p1;', inclusive_end: false, limit: 5, skip: 2 })
    assert.deepEqual(range.rows.map((row) => row.id), ['p1:0007', 'p1:0010', 'p1:0013', 'p1:0016', 'p1:0019'])
    const back = await db.list({ descending: true, limit: 1 })
    assert.equal(back.rows[0].id, 'p2:0299')

    const fetched = await db.fetch({ keys: ['p0:0000', 'p0:none', 'p2:0002'] })
    assert.deepEqual(fetched.rows.map((row) => row.error ?? row.doc.n), [0, 'not_found', 2])
    const revisions = await db.fetchRevs({ keys: ['p0:0003'] })
    assert.equal(revisions.rows[0].value.rev, outcome[3].rev)
  })

  test(`attachments in an ${kind.name} database`, async () => {
    const name = `attachments-${kind.name}`
    await couch.db.create(name, kind.options)
    const db = couch.use(name)
    const picture = Buffer.alloc(300_000, 'picture')
    const one = await db.attachment.insert('album:1', 'a b.png', picture, 'image/png')
    assert.ok(picture.equals(await db.attachment.get('album:1', 'a b.png')))
    const stub = (await db.get('album:1'))._attachments['a b.png']
    assert.equal(stub.length, picture.length)
    assert.equal(stub.content_type, 'image/png')
    assert.match(stub.digest, /^md5-/)

    const parts = [{ name: 'x.txt', data: 'first', content_type: 'text/plain' }, { name: 'y.txt', data: 'second', content_type: 'text/plain' }]
    await db.multipart.insert({ title: 'many' }, parts, 'album:2')
    assert.equal(String(await db.attachment.get('album:2', 'y.txt')), 'second')
    const chunks = []
    for await (const chunk of await db.attachment.getAsStream('album:1', 'a b.png')) chunks.push(chunk)
    assert.ok(picture.equals(Buffer.concat(chunks)))
    await db.attachment.destroy('album:1', 'a b.png', { rev: one.rev })
    await assert.rejects(db.attachment.get('album:1', 'a b.png'), { statusCode: 404 })
  })

  test(`changes of an ${kind.name} database`, async () => {
    const name = `changes-${kind.name}`
    await couch.db.create(name, kind.options)
    const db = couch.use(name)
    for (const id of ['a:1', 'a:2', 'b:1']) await db.insert({}, id)
    const { rev } = await db.insert({ again: true, _rev: (await db.get('a:1'))._rev }, 'a:1')
    const feed = await db.changes({ since: 0 })
    assert.deepEqual(feed.results.map((row) => row.id), ['a:2', 'b:1', 'a:1'])
    assert.equal(feed.results[2].changes[0].rev, rev)
    assert.equal(feed.pending, 0)

    // The reader listens from now on and gets what is written after that.
    const reader = db.changesReader.start({ since: feed.last_seq, timeout: 5000 })
    const arrived = new Promise((resolve, reject) => {
      reader.on('change', (change) => resolve(change))
      reader.on('error', reject)
    })
    await db.insert({ late: true }, 'c:1')
    assert.equal((await arrived).id, 'c:1')
    db.changesReader.stop()
  })
}

test('partitions', async () => {
  await couch.db.create('shop', { partitioned: true })
  const db = couch.use('shop')
  await db.bulk({ docs: ['kitchen:1', 'kitchen:2', 'Home#Garden & Co:1'].map((_id) => ({ _id, price: 5 })) })
  const info = await db.partitionInfo('kitchen')
  assert.equal(info.doc_count, 2)
  assert.equal(info.partition, 'kitchen')
  assert.ok(info.sizes.external > 0)
  const list = await db.partitionedList('Home#Garden & Co', { include_docs: true })
  assert.deepEqual(list.rows.map((row) => row.doc._id), ['Home#Garden & Co:1'])
  await assert.rejects(db.insert({}, 'colonless'), { statusCode: 400, reason: 'Doc id must be of form partition:id' })
})

test('sessions and uuids', async () => {
  const anonymous = nano(server.host)
  await assert.rejects(anonymous.db.list(), { statusCode: 401 })
  await assert.rejects(anonymous.auth('adm', 'wrong'), { statusCode: 401, reason: 'Name or password is incorrect.' })
  assert.deepEqual((await couch.session()).userCtx, { name: 'adm', roles: ['_admin'] })
  assert.equal((await couch.uuids(3)).uuids.length, 3)
})

test('replications, once and for good', async () => {
  for (const name of ['origin', 'copy', 'mirror']) await couch.db.create(name)
  await couch.use('origin').bulk({ docs: Array.from({ length: 50 }, (_, n) => ({ _id: `d${n}`, n })) })
  const once = await couch.db.replicate('origin', 'copy')
  assert.equal(once.ok, true)
  assert.equal(once.history[0].docs_written, 50)
  assert.equal((await couch.db.replicate('origin', `${server.url}/copy`, { doc_ids: ['d1'] })).ok, true)
  await assert.rejects(couch.db.replicate('origin', 'nowhere'), { statusCode: 500, error: 'db_not_found' })
  const made = await couch.db.replicate('origin', 'made', { create_target: true, selector: { n: { $lt: 10 } } })
  assert.equal(made.history[0].docs_written, 10)

  const enabled = await couch.db.replication.enable('origin', 'mirror', { continuous: true })
  assert.match(enabled.rev, /^1-/)
  const document = await couch.db.replication.query(enabled.id)
  assert.equal(document.owner, 'adm')
  await until('the mirror is filled', async () => (await couch.db.get('mirror')).doc_count === 50)
  await couch.use('origin').insert({ late: true }, 'late')
  await until('the mirror follows', async () => (await couch.db.get('mirror')).doc_count === 51)
  await until('it is among the tasks', async () =>
    (await server.request('GET', '/_active_tasks')).body.some((task) => task.type === 'replication' && task.doc_id === enabled.id && task.continuous))
  const disabled = await couch.db.replication.disable(enabled.id, enabled.rev)
  assert.equal(disabled.ok, true)
  await until('the job has gone', async () => (await server.request('GET', '/_scheduler/jobs')).body.total_rows === 0)
})

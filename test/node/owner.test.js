// An application that was written for a database per user, at the door of an owner in a database that all share.

import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import Nano from 'nano'
import PouchDB from 'pouchdb'
import find from 'pouchdb-find'
import memory from 'pouchdb-adapter-memory'
import { Server } from './server.js'

PouchDB.plugin(memory).plugin(find)

let server
let count = 0

before(async () => {
  server = await Server.start()
  assert.equal((await server.request('PUT', '/_node/_local/_config/sectional/owner_design_docs', 'members')).status, 200)
})
after(() => server.remove())

// design is what the application keeps in the user's database.
const design = {
  _id: '_design/fitness',
  views: {
    by_kind: { map: "function (doc) { emit(doc._id.split(':')[0], null) }", reduce: '_count' },
    minutes: { map: "function (doc) { if (doc._id.indexOf('workout:') === 0) emit(doc._id.substr(8, 7), doc.minutes) }", reduce: '_stats' },
    heavy: { map: "function (doc) { if (doc.kg > 80) emit(doc._id, { _id: 'workout:' + doc._id.substr(7) }) }" }
  },
  filters: { workouts: "function (doc) { return doc._id.indexOf('workout:') === 0 }" },
  updates: { longer: "function (doc, req) { doc.minutes += Number(req.query.by); return [doc, doc._id + ' is longer'] }" },
  lists: { csv: "function (head, req) { var row; while ((row = getRow())) send(row.id + ',' + row.value + '\\n') }" },
  validate_doc_update: "function (doc) { if (!/^(workout|weight|profile|_design)/.test(doc._id)) throw({ forbidden: 'what is ' + doc._id + '?' }) }"
}

// data layer: everything that the application asks of the user's database, given any client's address for it.
async function everythingAsked (address) {
  const db = new PouchDB(address)
  const told = []
  const tell = (value) => told.push(JSON.parse(JSON.stringify(value, (key, v) => (key === 'update_seq' || key === 'seq' || key === 'last_seq' || key === 'bookmark' ? undefined : v))))
  await db.put(design)
  tell(await db.put({ _id: 'profile', name: 'Alice' }))
  for (let month = 10; month <= 12; month++) {
    for (let day = 10; day < 20; day++) {
      const at = `2016-${month}-${day}-05-52-01`
      tell(await db.bulkDocs([{ _id: `workout:${at}`, minutes: 30 + day, at: { month, day } }, { _id: `weight:${at}`, kg: 60 + month + day }]))
    }
  }
  const workout = 'workout:2016-12-12-05-52-01'
  tell(await db.get(workout))
  tell(await db.allDocs({ startkey: 'workout:2016-11', endkey: 'workout:2016-11\ufff0', include_docs: true }))
  tell(await db.allDocs({ startkey: 'workout:\ufff0', endkey: 'workout:', descending: true, limit: 3 }))
  tell(await db.allDocs({ keys: ['profile', workout, 'nothing', '_design/fitness'], include_docs: true }))
  tell(await db.allDocs())
  tell(await db.query('fitness/by_kind', { group: true }))
  tell(await db.query('fitness/minutes', { group: true, startkey: '2016-11' }))
  tell(await db.query('fitness/minutes', { reduce: false, include_docs: true, limit: 5, skip: 3 }))
  tell(await db.query('fitness/heavy', { include_docs: true }))
  await db.createIndex({ index: { fields: ['at.day', '_id'], ddoc: 'days', name: 'days' } })
  tell(await db.find({ selector: { 'at.day': { $gte: 17 } }, sort: ['at.day', '_id'], fields: ['_id', 'at'] }))
  tell(await db.find({ selector: { _id: { $gte: 'workout:2016-12-15', $lt: 'workout:2016-12-18' } } }))
  tell((await db.getIndexes()).indexes.map(({ name, ddoc }) => [name, ddoc]))
  await assert.rejects(db.put({ _id: 'other:1' }), (err) => { tell([err.status, err.reason]); return true })
  await assert.rejects(db.put({ _id: workout }), (err) => { tell([err.status, err.reason]); return true })
  tell(await db.changes({ filter: 'fitness/workouts', include_docs: true }))
  tell(await db.changes({ doc_ids: ['profile', workout] }))
  const { _rev: rev } = await db.get(workout)
  tell(await db.putAttachment(workout, 'track.gpx', rev, Buffer.alloc(100_000, 'track'), 'application/gpx+xml'))
  tell((await db.getAttachment(workout, 'track.gpx')).length)
  tell(await db.get(workout, { attachments: false, revs: true, revs_info: true }))
  tell(await db.put({ _id: '_local/settings', unit: 'kg' }))
  tell(await db.get('_local/settings'))
  tell(await db.remove(await db.get('weight:2016-10-10-05-52-01')))
  tell(await db.bulkGet({ docs: [{ id: workout }, { id: 'nothing' }] }))
  tell((await db.info()).doc_count)

  const one = await (await db.fetch(`_design/fitness/_update/longer/${workout}?by=5`, { method: 'PUT' })).text()
  const list = await (await db.fetch('_design/fitness/_list/csv/minutes?reduce=false')).text()
  tell([one, list])
  const at = address.lastIndexOf('/', address.endsWith('alice') ? address.indexOf('/_owner') - 1 : undefined)
  const nano = Nano(address.slice(0, at)).use(address.slice(at + 1))
  tell(await nano.get(workout, { rev_info: true }))
  tell(await nano.list({ startkey: 'weight:2016-12' }))
  tell(await nano.view('fitness', 'by_kind', { group: true }))
  tell(await nano.insert({ _id: 'weight:nano', kg: 1 }))
  return told
}

test('an application of a database per user runs unchanged in a shared one', async () => {
  const [own, shared] = [`own${count++}`, `shared${count++}`]
  await server.request('PUT', `/${own}`)
  await server.request('PUT', `/${shared}?partitioned=true`)
  const others = Array.from({ length: 50 }, (_, n) => ({ _id: `bob:workout:${n}`, minutes: 1, at: { day: 18 }, kg: 99 }))
  await server.request('POST', `/${shared}/_bulk_docs`, { docs: others })
  const expected = await everythingAsked(`${server.url}/${own}`)
  const got = await everythingAsked(`${server.url}/${shared}/_owner/alice`)
  for (const i of expected.keys()) assert.deepEqual(got[i], expected[i])
  assert.equal(got.length, expected.length)

  // What the service asks of all its users.
  await server.request('PUT', `/${shared}/_design/all`, { options: { partitioned: false }, views: { minutes: { map: "function (doc) { emit(doc._id.split(':').slice(0, 2), doc.minutes || 0) }", reduce: '_sum' } } })
  const { body: { rows } } = await server.request('GET', `/${shared}/_design/all/_view/minutes?group=true`)
  assert.deepEqual(rows.filter(({ key }) => key[1] === 'workout').map(({ key }) => key[0]), ['alice', 'bob'])
  const { body: { docs } } = await server.request('POST', `/${shared}/_find`, { selector: { 'at.day': 18 }, fields: ['_id'], limit: 200 })
  assert.equal(docs.filter(({ _id }) => _id.startsWith('alice:workout:')).length, 3)
  assert.equal(docs.filter(({ _id }) => _id.startsWith('bob:')).length, 50)
})

test('revisions are the same through either door', async () => {
  const name = `shared${count++}`
  await server.request('PUT', `/${name}?partitioned=true`)
  const [owner, partition] = ['_owner', '_partition'].map((door) => new PouchDB(`${server.url}/${name}/${door}/alice`))
  const { rev } = await owner.put({ _id: 'workout:1', n: 1 })
  assert.equal((await partition.get('alice:workout:1'))._rev, rev)
  await partition.put({ _id: 'alice:workout:1', _rev: rev, n: 2 })
  assert.equal((await owner.get('workout:1')).n, 2)
  await owner.put({ _id: '_local/x', door: 'owner' })
  await assert.rejects(partition.get('_local/x'), { status: 404 })
})

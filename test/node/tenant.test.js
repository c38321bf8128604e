// An application that was written for a database per user, at the endpoint of a tenant in a database that all share.

import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import Nano from 'nano'
import PouchDB from 'pouchdb'
import find from 'pouchdb-find'
import memory from 'pouchdb-adapter-memory'
import { Server } from './server.js'

PouchDB.plugin(memory).plugin(find)

let server
let log // the documents of a user's fitness log, by id
let count = 0

// fitnessLog makes exercises, workouts of a winter, and their lifts.
function fitnessLog () {
  const names = ['squat', 'bench press', 'deadlift', 'overhead press', 'row', 'dips', 'curl', 'lunge']
  const docs = names.map((name, number) => ({ _id: `exercise:${number}`, number, name }))
  for (let day = 0; day < 60; day += 2) {
    const createdAt = new Date(Date.UTC(2016, 11, 1 + day, 17)).toISOString()
    const workoutId = `workout:${createdAt.slice(0, 10)}`
    docs.push({ _id: workoutId, createdAt })
    for (const exercise of [day / 2 % 8, (day / 2 + 3) % 8, (day / 2 + 5) % 8]) {
      docs.push({ _id: `lift:${exercise}:${createdAt.slice(0, 10)}`, workoutId, exercise, createdAt, weight: 40 + 5 * exercise + day / 10, reps: Array(3 + exercise % 3).fill(5) })
    }
  }
  return docs.sort((a, b) => (a._id < b._id ? -1 : 1))
}

before(async () => {
  server = await Server.start()
  assert.equal((await server.request('PUT', '/_node/_local/_config/sectional/owner_design_docs', 'members')).status, 200)
  log = fitnessLog()
  for (const kind of ['exercise', 'workout', 'lift']) assert.ok(of(kind).length > 5, `${kind}: ${of(kind).length}`)
})
after(() => server.remove())

// of gives the documents of a kind, which is what their ids begin with.
const of = (kind) => log.filter(({ _id }) => _id.startsWith(`${kind}:`))

// design is what the application keeps in the user's database.
const design = {
  _id: '_design/fitness',
  views: {
    by_kind: { map: "function (doc) { emit(doc._id.split(':')[0], null) }", reduce: '_count' },
    moved: { map: "function (doc) { if (doc._id.indexOf('lift:') === 0) emit([doc.exercise, doc.createdAt.substr(0, 7)], doc.weight * doc.reps.length) }", reduce: '_stats' },
    heavy: { map: "function (doc) { if (doc.weight > 60) emit(doc._id, { _id: doc.workoutId }) }" }
  },
  filters: { workouts: "function (doc) { return doc._id.indexOf('workout:') === 0 }" },
  updates: { heavier: "function (doc, req) { doc.weight += Number(req.query.by); return [doc, doc._id + ' is heavier'] }" },
  lists: { csv: "function (head, req) { var row; while ((row = getRow())) send(row.id + ',' + row.value + '\\n') }" },
  validate_doc_update: "function (doc) { if (!/^(exercise|workout|lift|_design)/.test(doc._id)) throw({ forbidden: 'what is ' + doc._id + '?' }) }"
}

// data layer: everything that the application asks of the user's database, given any client's address for it.
async function everythingAsked (address) {
  const db = new PouchDB(address)
  const told = []
  const tell = (value) => told.push(JSON.parse(JSON.stringify(value, (key, v) => (key === 'update_seq' || key === 'seq' || key === 'last_seq' || key === 'bookmark' ? undefined : v))))
  await db.put(design)
  tell(await db.put(log[0]))
  for (let at = 1; at < log.length; at += 30) tell(await db.bulkDocs(log.slice(at, at + 30)))
  const workout = of('workout')[0]._id
  const lift = of('lift').find(({ workoutId }) => workoutId === workout)._id
  const squat = of('exercise').find(({ name }) => name === 'squat')
  tell(await db.get(workout))
  tell(await db.allDocs({ startkey: 'workout:2017-01', endkey: 'workout:2017-01\ufff0', include_docs: true }))
  tell(await db.allDocs({ startkey: `lift:${squat.number}:\ufff0`, endkey: `lift:${squat.number}:`, descending: true, limit: 3 }))
  tell(await db.allDocs({ keys: [squat._id, workout, 'nothing', '_design/fitness'], include_docs: true }))
  tell(await db.allDocs())
  tell(await db.query('fitness/by_kind', { group: true }))
  tell(await db.query('fitness/moved', { group: true, startkey: [squat.number, '2017-01'], endkey: [squat.number, {}] }))
  tell(await db.query('fitness/moved', { group_level: 1 }))
  tell(await db.query('fitness/moved', { reduce: false, include_docs: true, limit: 5, skip: 3 }))
  tell(await db.query('fitness/heavy', { include_docs: true }))
  await db.createIndex({ index: { fields: ['exercise', 'createdAt'], ddoc: 'lifts', name: 'lifts' } })
  tell(await db.find({ selector: { exercise: squat.number, createdAt: { $gte: '2017' } }, sort: ['exercise', 'createdAt'], fields: ['_id', 'weight', 'reps'] }))
  tell(await db.find({ selector: { _id: { $gte: 'workout:2016-12-15', $lt: 'workout:2016-12-28' } } }))
  tell((await db.getIndexes()).indexes.map(({ name, ddoc }) => [name, ddoc]))
  await assert.rejects(db.put({ _id: 'other:1' }), (err) => { tell([err.status, err.reason]); return true })
  await assert.rejects(db.put({ _id: workout }), (err) => { tell([err.status, err.reason]); return true })
  tell(await db.changes({ filter: 'fitness/workouts', include_docs: true }))
  tell(await db.changes({ doc_ids: [squat._id, workout] }))
  const { _rev: rev } = await db.get(workout)
  tell(await db.putAttachment(workout, 'track.gpx', rev, Buffer.alloc(100_000, 'track'), 'application/gpx+xml'))
  tell((await db.getAttachment(workout, 'track.gpx')).length)
  tell(await db.get(workout, { attachments: false, revs: true, revs_info: true }))
  tell(await db.put({ _id: '_local/settings', unit: 'kg' }))
  tell(await db.get('_local/settings'))
  tell(await db.remove(await db.get(of('lift').at(-1)._id)))
  tell(await db.bulkGet({ docs: [{ id: workout }, { id: 'nothing' }] }))
  tell((await db.info()).doc_count)

  const one = await (await db.fetch(`_design/fitness/_update/heavier/${lift}?by=5`, { method: 'PUT' })).text()
  const list = await (await db.fetch('_design/fitness/_list/csv/moved?reduce=false')).text()
  tell([one, list])
  const at = address.lastIndexOf('/', address.endsWith('alice') ? address.indexOf('/_owner') - 1 : undefined)
  const nano = Nano(address.slice(0, at)).use(address.slice(at + 1))
  tell(await nano.get(workout, { rev_info: true }))
  tell(await nano.list({ startkey: 'workout:2017' }))
  tell(await nano.view('fitness', 'by_kind', { group: true }))
  tell(await nano.insert({ _id: 'lift:nano', weight: 1, reps: [1], createdAt: '' }))
  return told
}

test('an application of a database per user runs unchanged in a shared one', async () => {
  const [own, shared] = [`own${count++}`, `shared${count++}`]
  await server.request('PUT', `/${own}`)
  await server.request('PUT', `/${shared}?partitioned=true`)
  const others = log.map((doc) => ({ ...doc, _id: `bob:${doc._id}` }))
  await server.request('POST', `/${shared}/_bulk_docs`, { docs: others })
  const expected = await everythingAsked(`${server.url}/${own}`)
  const got = await everythingAsked(`${server.url}/${shared}/_owner/alice`)
  for (const i of expected.keys()) assert.deepEqual(got[i], expected[i])
  assert.equal(got.length, expected.length)

  // What the service asks of all its users.
  await server.request('PUT', `/${shared}/_design/all`, { options: { partitioned: false }, views: { lifts: { map: "function (doc) { emit(doc._id.split(':').slice(0, 2), doc.weight || 0) }", reduce: '_sum' } } })
  const { body: { rows } } = await server.request('GET', `/${shared}/_design/all/_view/lifts?group=true`)
  assert.deepEqual(rows.filter(({ key }) => key[1] === 'lift').map(({ key }) => key[0]), ['alice', 'bob'])
  const { exercise } = of('lift')[0] // the last lift of all is alice's no more
  const { body: { docs } } = await server.request('POST', `/${shared}/_find`, { selector: { exercise }, fields: ['_id'], limit: 1000 })
  const lifts = of('lift').filter((lift) => lift.exercise === exercise).map(({ _id }) => _id)
  assert.notEqual(of('lift').at(-1).exercise, exercise)
  for (const user of ['alice', 'bob']) assert.deepEqual(docs.map(({ _id }) => _id).filter((id) => id.startsWith(user)), lifts.map((id) => `${user}:${id}`))
})

test('revisions are the same through either door', async () => {
  const name = `shared${count++}`
  await server.request('PUT', `/${name}?partitioned=true`)
  const [tenant, partition] = ['_owner', '_partition'].map((door) => new PouchDB(`${server.url}/${name}/${door}/alice`))
  const { rev } = await tenant.put({ _id: 'workout:1', n: 1 })
  assert.equal((await partition.get('alice:workout:1'))._rev, rev)
  await partition.put({ _id: 'alice:workout:1', _rev: rev, n: 2 })
  assert.equal((await tenant.get('workout:1')).n, 2)
  await tenant.put({ _id: '_local/x', door: 'tenant' })
  await assert.rejects(partition.get('_local/x'), { status: 404 })
})

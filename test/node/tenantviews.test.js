// The fitness article's application (a PouchDB per user) as a user whom a rule lets into a partition, with the server's
// own settings: its views and queries are its own affair, and nobody else's data or functions get in its way.

import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import PouchDB from 'pouchdb'
import find from 'pouchdb-find'
import memory from 'pouchdb-adapter-memory'
import { Server } from './server.js'

PouchDB.plugin(memory).plugin(find)

let server

before(async () => {
  server = await Server.start()
  await server.request('PUT', '/fitness?partitioned=true')
  assert.equal((await server.request('PUT', '/fitness/_security', { partitions: [{ who: '*', partition: '{name}', access: 'write' }] })).status, 200)
  for (const name of ['ann', 'bob']) await server.request('PUT', `/_users/org.couchdb.user:${name}`, { name, type: 'user', roles: [], password: 'pw' })
})
after(() => server.remove())

const at = (name) => `http://${name}:pw@127.0.0.1:${server.port}/fitness/_owner/${name}`

const exercise = (number, name) => ({ _id: `exercise:${number}`, name, description: '', isPush: true, isPull: false, isLegs: false, isFavorite: false, createdAt: 0 })
const lift = (number, when, workoutId, createdAt, of) => ({
  _id: `lift:${number}:${when}`, workoutId, exercise: of, note: '', sets: [{ resistance: '', performance: '', note: '' }], createdAt
})
const W = 'workout:2016-12-12-14-00-15'
const earlier = 'workout:2016-12-11-15-07-43'
const dips = { _id: 'exercise:223', name: 'Weighted Dips', isFavorite: false, description: '' }
const documents = [
  exercise(223, 'Weighted Dips'), exercise(1234, 'Dumbbell Bench Press'), exercise(4830, 'Barbell Back Squat'),
  { _id: W, createdAt: 1481569215000 }, { _id: earlier, createdAt: 1481486863000 },
  lift(223, '2016-12-12-14-18-59', W, 1481570339000, dips), lift(223, '2016-12-11-15-27-59', earlier, 1481488079000, dips)
]

// design is the article's, made as the article makes it.
const design = {
  _id: '_design/lifts-by-workout',
  views: {
    'lifts-by-workout': {
      map: function (doc) {
        if (doc._id.indexOf('lift:') === 0) {
          emit([doc.workoutId, doc.createdAt]) // eslint-disable-line no-undef
        }
      }.toString()
    }
  }
}

const ids = ({ rows }) => rows.map(({ id }) => id)

// article makes all the calls of the article, against any database.
async function article (db) {
  await db.bulkDocs(documents)
  assert.deepEqual(ids(await db.allDocs({ startkey: 'workout:\uffff', include_docs: true, limit: 1, descending: true })), [W])
  assert.deepEqual(ids(await db.allDocs({ startkey: 'exercise:', endkey: 'exercise:\uffff', include_docs: true })), ['exercise:1234', 'exercise:223', 'exercise:4830'])
  await db.put(design)
  const { rows } = await db.query('lifts-by-workout', { startkey: [W], endkey: [W, {}], include_docs: true })
  assert.deepEqual(rows.map(({ id, key, doc }) => [id, key, doc.createdAt]), [['lift:223:2016-12-12-14-18-59', [W, 1481570339000], 1481570339000]])
  assert.deepEqual(ids(await db.allDocs({ descending: true, startkey: 'lift:223:\uffff', endkey: 'lift:223:', skip: 1, include_docs: true })), ['lift:223:2016-12-11-15-27-59'])
}

test('the article\'s calls, as they are', async () => {
  await article(new PouchDB('article', { adapter: 'memory' })) // what the article ran
  for (const name of ['ann', 'bob']) await article(new PouchDB(at(name), { skip_setup: true }))
  const { body: { rows } } = await server.request('GET', '/fitness/_partition/ann/_all_docs')
  assert.equal(rows.length, documents.length + 1)
})

test('a database of an application comes in with its views, and is told what does not', async () => {
  const local = new PouchDB('offline', { adapter: 'memory' })
  await article(local)
  await local.put({ _id: '_design/filters', filters: { lifts: "function (doc) { return doc._id.indexOf('lift:') === 0 }" } })
  await local.put({ _id: '_design/strict', validate_doc_update: 'function () { throw({ forbidden: "no" }) }' })
  await local.put({ _id: 'workout:after', createdAt: 1 })
  await server.request('PUT', '/_users/org.couchdb.user:kim', { name: 'kim', type: 'user', roles: [], password: 'pw' })
  const remote = new PouchDB(at('kim'), { skip_setup: true })
  const denied = []
  const replication = local.replicate.to(remote)
  replication.on('denied', (refusal) => denied.push(refusal))
  const result = await replication
  assert.equal(result.ok, true)
  assert.equal(result.doc_write_failures, 2)
  assert.deepEqual(denied.map(({ id, name }) => [id, name]).sort(), [['_design/filters', 'forbidden'], ['_design/strict', 'forbidden']])
  for (const { message } of denied) assert.match(message, /\[sectional\] owner_design_docs/)
  assert.deepEqual(ids(await remote.allDocs()), [...documents.map(({ _id }) => _id), '_design/lifts-by-workout', 'workout:after'].sort())
  assert.equal((await remote.query('lifts-by-workout')).rows.length, 2)
  assert.equal((await remote.put({ _id: 'workout:later' })).ok, true)
  // and back, into an empty one
  const again = new PouchDB('again', { adapter: 'memory' })
  await again.replicate.from(remote)
  assert.equal((await again.query('lifts-by-workout')).rows.length, 2)
})

test('views and indexes that the database has for everybody', async () => {
  await server.request('PUT', '/fitness/_design/shared', { views: { byCreation: { map: 'function (doc) { if (doc.createdAt) emit(doc.createdAt) }', reduce: '_count' } } })
  await server.request('POST', '/fitness/_index', { index: { fields: ['createdAt'] }, ddoc: 'creation', name: 'creation' })
  const db = new PouchDB(at('ann'), { skip_setup: true })
  const { rows } = await db.query('shared/byCreation', { reduce: false, startkey: 1481569215000, include_docs: true })
  assert.deepEqual(rows.map(({ id, doc }) => [id, doc._id]), [[W, W], ['lift:223:2016-12-12-14-18-59', 'lift:223:2016-12-12-14-18-59']])
  const { docs, warning } = await db.find({ selector: { createdAt: { $gte: 1481569215000 } }, sort: ['createdAt'], fields: ['_id'] })
  assert.deepEqual(docs, [{ _id: W }, { _id: 'lift:223:2016-12-12-14-18-59' }])
  assert.equal(warning, undefined)
  await assert.rejects(db.get('_design/shared'), { status: 404 })
})

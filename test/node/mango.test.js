// Mango through the clients: nano, pouchdb-find against a remote, the Cloudant SDK and couchbackup.

import assert from 'node:assert/strict'
import { createReadStream, createWriteStream } from 'node:fs'
import { join } from 'node:path'
import { after, before, test } from 'node:test'
import couchbackup from '@cloudant/couchbackup'
import { BasicAuthenticator, CloudantV1, Pagination, PagerType } from '@ibm-cloud/cloudant'
import nano from 'nano'
import PouchDB from 'pouchdb'
import find from 'pouchdb-find'
import { Server } from './server.js'

PouchDB.plugin(find)

let server, couch, cloudant

before(async () => {
  server = await Server.start()
  couch = nano(server.url)
  cloudant = CloudantV1.newInstance({ authenticator: new BasicAuthenticator(server.credentials) })
  cloudant.setServiceUrl(server.host)
})
after(() => server.remove())

const sensors = () => Array.from({ length: 120 }, (_, n) => ({
  _id: `bridge-${n % 3}:reading-${String(n).padStart(3, '0')}`, device: `device-${n % 7}`, ts: `2026-11-${String(1 + n % 20).padStart(2, '0')}`, n
}))

async function fill (db, partitioned) {
  assert.equal((await server.request('PUT', `/${db}?partitioned=${partitioned}`)).status, 201)
  assert.equal((await server.request('POST', `/${db}/_bulk_docs`, { docs: sensors() })).status, 201)
}

test('nano: createIndex, then find at once', async () => {
  await fill('nano', true)
  const db = couch.use('nano')
  const made = await db.createIndex({ index: { fields: ['device', 'ts'] }, ddoc: 'by-device', name: 'by-device', partitioned: true })
  assert.deepEqual(made, { result: 'created', id: '_design/by-device', name: 'by-device' })
  const own = await db.partitionedFind('bridge-1', { selector: { device: 'device-3' }, sort: ['device', 'ts'], limit: 100 })
  assert.deepEqual(own.docs.map((d) => d.n), sensors().filter((d) => d.device === 'device-3' && d._id.startsWith('bridge-1:'))
    .sort((a, b) => a.ts < b.ts ? -1 : a.ts > b.ts ? 1 : a._id < b._id ? -1 : 1).map((d) => d.n))
  assert.equal(own.warning, undefined)
  await db.createIndex({ index: { fields: ['ts'] }, ddoc: 'by-time', name: 'by-time', partitioned: false })
  const all = await db.find({ selector: { ts: { $gte: '2026-11-19' } }, sort: [{ ts: 'desc' }], fields: ['_id', 'ts'], execution_stats: true })
  assert.deepEqual(all.docs.map((d) => d.ts), [...all.docs.map((d) => d.ts)].sort().reverse())
  assert.equal(all.docs.length, 12)
  assert.equal(all.execution_stats.total_docs_examined, 0, 'the index holds both fields')
  await assert.rejects(db.find({ selector: { n: 1 }, sort: ['n'] }), { statusCode: 400, error: 'no_usable_index' })
})

test('pouchdb-find on a remote database', async () => {
  await fill('pouch', false)
  const db = new PouchDB(`${server.url}/pouch`)
  const made = await db.createIndex({ index: { fields: ['device'] } })
  assert.equal(made.result, 'created')
  assert.equal((await db.createIndex({ index: { fields: ['device'] } })).result, 'exists')
  const { docs } = await db.find({ selector: { device: { $in: ['device-1', 'device-5'] } }, limit: 100 })
  assert.deepEqual(docs.map((d) => d.n).sort((a, b) => a - b), sensors().filter((d) => /[15]$/.test(d.device)).map((d) => d.n))
  const { indexes } = await db.getIndexes()
  assert.deepEqual(indexes.map((i) => i.type), ['special', 'json'])
  const plan = await db.explain({ selector: { device: 'device-1' } })
  assert.equal(plan.index.ddoc, made.id)
  await db.deleteIndex(indexes[1])
  assert.equal((await db.getIndexes()).indexes.length, 1)
})

test('the Cloudant SDK: indexes, find, explain and pagers', async () => {
  const db = 'cloudant'
  await fill(db, true)
  await cloudant.postIndex({ db, ddoc: 'p', name: 'p', type: 'json', index: { fields: [{ n: 'asc' }] }, partitioned: true })
  await cloudant.postIndex({ db, ddoc: 'g', name: 'g', type: 'json', index: { fields: [{ n: 'asc' }] }, partitioned: false })
  const { result: listed } = await cloudant.getIndexesInformation({ db })
  assert.deepEqual(listed.indexes.map((i) => [i.name, i.partitioned]), [['_all_docs', undefined], ['g', false], ['p', true]])

  const { result: explained } = await cloudant.postPartitionExplain({ db, partitionKey: 'bridge-2', selector: { n: { $gt: 50 } } })
  assert.equal(explained.index.ddoc, '_design/p')
  const { result: everywhere } = await cloudant.postExplain({ db, selector: { n: { $gt: 50 } } })
  assert.equal(everywhere.index.ddoc, '_design/g')
  const { result: found, headers } = await cloudant.postPartitionFind({ db, partitionKey: 'bridge-2', selector: { n: { $gt: 110 } }, fields: ['n'] })
  assert.deepEqual(found.docs, [{ n: 113 }, { n: 116 }, { n: 119 }])
  assert.equal(headers['x-cloudant-request-class'], 'lookup')

  const pager = (type, more) => Pagination.newPagination(cloudant, type, { db, limit: 7, selector: { n: { $gte: 30 } }, sort: [{ n: 'asc' }], ...more })
  const collect = async (pagination) => {
    const rows = []
    for await (const page of pagination.pages()) rows.push(...page)
    return rows.map((d) => d.n)
  }
  assert.deepEqual(await collect(pager(PagerType.POST_FIND, {})), sensors().map((d) => d.n).filter((n) => n >= 30))
  assert.deepEqual(await collect(pager(PagerType.POST_PARTITION_FIND, { partitionKey: 'bridge-0' })),
    sensors().map((d) => d.n).filter((n) => n >= 30 && n % 3 === 0))

  await cloudant.deleteIndex({ db, ddoc: 'g', type: 'json', index: 'g' })
  await assert.rejects(cloudant.postFind({ db, selector: { n: { $gt: 1 } }, sort: [{ n: 'asc' }] }), { status: 400 })
})

test('couchbackup restores indexes that then answer', async () => {
  await fill('kept', true)
  const db = couch.use('kept')
  await db.createIndex({ index: { fields: ['device'] }, ddoc: 'd', name: 'd', partitioned: true })
  await couch.db.create('restored', { partitioned: true })
  const file = join(server.directory, 'mango.backup')
  const finished = (start) => new Promise((resolve, reject) => start((err, data) => err ? reject(err) : resolve(data)))
  await finished((done) => couchbackup.backup(`${server.url}/kept`, createWriteStream(file), { log: `${file}.log` }, done))
  await finished((done) => couchbackup.restore(createReadStream(file, 'utf8'), `${server.url}/restored`, {}, done))
  const query = { selector: { device: 'device-2' }, sort: ['device'], limit: 100 }
  const want = await db.partitionedFind('bridge-1', query)
  const got = await couch.use('restored').partitionedFind('bridge-1', query)
  assert.ok(got.docs.length > 0)
  assert.deepEqual(got.docs, want.docs)
  assert.equal(got.warning, undefined)
})

// Views over HTTP: nano, and the Cloudant SDK, whose pagers go from page to page by the last row's key and id.

import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { CloudantV1, CouchdbSessionAuthenticator, Pagination, PagerType } from '@ibm-cloud/cloudant'
import nano from 'nano'
import { Server } from './server.js'

let server, couch, cloudant

before(async () => {
  server = await Server.start()
  couch = nano(server.url)
  cloudant = CloudantV1.newInstance({ authenticator: new CouchdbSessionAuthenticator(server.credentials) })
  cloudant.setServiceUrl(server.host)
})
after(() => server.remove())

const views = {
  byPlace: { map: 'function (doc) { emit(doc.place, doc.n) }', reduce: '_sum' },
  byDay: { map: 'function (doc) { emit([doc.place, doc.n % 7]) }', reduce: '_count' },
  largest: { map: 'function (doc) { emit(doc.place, doc.n) }', reduce: 'function (keys, values) { return Math.max.apply(null, values) }' }
}

// Half of the places are the same, so that pages end between equal keys.
async function fill (db, partitioned) {
  await couch.db.create(db, { partitioned })
  const docs = Array.from({ length: 120 }, (_, n) => ({ _id: `bridge-${n % 3}:${String(n).padStart(4, '0')}`, n, place: n % 2 ? 'north' : `south-${n % 10}` }))
  await couch.use(db).bulk({ docs })
  await couch.use(db).insert({ views }, '_design/readings')
  return docs
}

function sorted (docs) {
  return docs.toSorted((a, b) => a.place < b.place ? -1 : a.place > b.place ? 1 : a._id < b._id ? -1 : 1)
}

test('nano: views of a database', async () => {
  const docs = sorted(await fill('nano', false))
  const db = couch.use('nano')
  const all = await db.view('readings', 'byPlace', { reduce: false })
  assert.equal(all.total_rows, 120)
  assert.deepEqual(all.rows.map((r) => r.id), docs.map((d) => d._id))
  const reduced = await db.view('readings', 'byPlace', { group: true, startkey: 'south-0', endkey: 'south-4' })
  assert.deepEqual(reduced.rows.map((r) => r.key), ['south-0', 'south-2', 'south-4'])
  assert.equal((await db.view('readings', 'byPlace')).rows[0].value, 119 * 60)
  const keys = await db.view('readings', 'byPlace', { keys: ['south-8', 'nowhere', 'south-2'], reduce: false, include_docs: true })
  assert.equal(keys.rows.length, 24)
  assert.equal(keys.rows[0].doc.place, 'south-8')
  const levels = await db.view('readings', 'byDay', { group_level: 1 })
  assert.deepEqual(levels.rows[0], { key: ['north'], value: 60 })
  assert.deepEqual((await db.view('readings', 'largest', { group: true, descending: true, limit: 1 })).rows, [{ key: 'south-8', value: 118 }])
  await assert.rejects(db.view('readings', 'none'), { statusCode: 404, reason: 'missing_named_view' })
})

test('nano: views of a partition', async () => {
  const docs = sorted((await fill('nano-parts', true)).filter((d) => d._id.startsWith('bridge-1:')))
  const db = couch.use('nano-parts')
  const rows = await db.partitionedView('bridge-1', 'readings', 'byPlace', { reduce: false, include_docs: true })
  assert.deepEqual(rows.rows.map((r) => r.doc._id), docs.map((d) => d._id))
  const [total] = (await db.partitionedView('bridge-1', 'readings', 'byPlace')).rows
  assert.equal(total.value, docs.reduce((sum, d) => sum + d.n, 0))
  const [largest] = (await db.partitionedView('bridge-1', 'readings', 'largest', { key: 'north' })).rows
  assert.equal(largest.value, Math.max(...docs.filter((d) => d.place === 'north').map((d) => d.n)))
  await assert.rejects(db.view('readings', 'byPlace'), { statusCode: 400, error: 'query_parse_error' })
})

for (const partitioned of [false, true]) {
  test(`the Cloudant SDK: views and their pagers, partitioned: ${partitioned}`, async () => {
    const db = `sdk-${partitioned}`
    const docs = sorted((await fill(db, partitioned)).filter((d) => !partitioned || d._id.startsWith('bridge-1:')))
    const where = { db, ddoc: 'readings', view: 'byPlace', ...(partitioned ? { partitionKey: 'bridge-1' } : {}) }
    const post = (params) => partitioned ? cloudant.postPartitionView({ ...where, ...params }) : cloudant.postView({ ...where, ...params })
    const { result } = await post({ group: true })
    assert.equal(result.rows.reduce((sum, r) => sum + r.value, 0), docs.reduce((sum, d) => sum + d.n, 0))
    const { result: range } = await post({ reduce: false, startKey: 'south-2', endKey: 'south-6', inclusiveEnd: false, limit: 5 })
    assert.deepEqual(range.rows.map((r) => r.id), docs.filter((d) => d.place >= 'south-2' && d.place < 'south-6').slice(0, 5).map((d) => d._id))
    const type = partitioned ? PagerType.POST_PARTITION_VIEW : PagerType.POST_VIEW
    for (const descending of [false, true]) {
      const seen = []
      for await (const page of Pagination.newPagination(cloudant, type, { ...where, reduce: false, limit: 7, descending }).pages()) {
        assert.ok(page.length <= 7)
        seen.push(...page.map((r) => r.id))
      }
      assert.deepEqual(seen, (descending ? docs.toReversed() : docs).map((d) => d._id))
    }
  })
}

test('the Cloudant SDK: several queries, and a design document', async () => {
  await fill('sdk-queries', false)
  const where = { db: 'sdk-queries', ddoc: 'readings' }
  const { result } = await cloudant.postViewQueries({ ...where, view: 'byPlace', queries: [{ key: 'north' }, { reduce: false, limit: 2 }] })
  assert.equal(result.results[0].rows[0].value, 60 * 60)
  assert.equal(result.results[1].rows.length, 2)
  const { result: info } = await cloudant.getDesignDocumentInformation(where)
  assert.equal(info.name, 'readings')
  assert.match(info.viewIndex.signature, /^[0-9a-f]{32}$/)
})

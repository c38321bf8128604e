// Full-text search by Cloudant's SDK: its calls and its pagers.

import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { BasicAuthenticator, CloudantV1, Pagination, PagerType } from '@ibm-cloud/cloudant'
import { Server } from './server.js'

const index = { index: 'function (doc) { index("default", doc.text); index("n", doc.n, { facet: true, store: true }); index("kind", doc.kind, { facet: true, store: true }) }' }
const ddoc = 'search'
let server, cloudant

before(async () => {
  server = await Server.start()
  cloudant = CloudantV1.newInstance({ authenticator: new BasicAuthenticator(server.credentials) })
  cloudant.setServiceUrl(server.host)
  for (const partitioned of [false, true]) {
    const db = partitioned ? 'parted' : 'plain'
    await cloudant.putDatabase({ db, partitioned })
    await cloudant.putDesignDocument({ db, ddoc, designDocument: { indexes: { words: index } } })
    const docs = Array.from({ length: 50 }, (_, n) => ({ _id: `p${n % 2}:${String(n).padStart(3, '0')}`, n, kind: n % 3 ? 'odd' : 'even', text: `word${n % 5} common` }))
    const { result } = await cloudant.postBulkDocs({ db, bulkDocs: { docs } })
    assert.ok(result.every((row) => row.ok))
  }
})
after(() => server.remove())

test('a search has rows, facets, groups and documents', async () => {
  const query = { db: 'plain', ddoc, index: 'words' }
  const { result } = await cloudant.postSearch({ ...query, query: 'word1 AND n:[10 TO 20]', sort: ['-n<number>'], includeDocs: true, counts: ['kind'], ranges: { n: { low: '[0 TO 14]', high: '[15 TO 100]' } } })
  assert.equal(result.totalRows, 2)
  assert.deepEqual(result.rows.map((row) => row.doc.n), [16, 11])
  assert.deepEqual(result.counts, { kind: { odd: 2 } })
  assert.deepEqual(result.ranges, { n: { low: 1, high: 1 } })
  const groups = await cloudant.postSearch({ ...query, query: 'common', groupField: 'kind', groupLimit: 5, groupSort: ['kind<string>'], sort: ['n'], limit: 1 })
  assert.deepEqual(groups.result.groups.map((g) => [g.by, g.totalRows, g.rows.length]), [['even', 17, 1], ['odd', 33, 1]])
  const drilled = await cloudant.postSearch({ ...query, query: '*:*', drilldown: [['kind', 'even']] })
  assert.equal(drilled.result.totalRows, 17)
  await assert.rejects(cloudant.postSearch({ ...query, query: '(' }), { status: 400 })
  await assert.rejects(cloudant.postSearch({ ...query, index: 'none', query: 'a' }), { status: 404 })
})

test('a partition has its own rows', async () => {
  const { result } = await cloudant.postPartitionSearch({ db: 'parted', partitionKey: 'p1', ddoc, index: 'words', query: 'word1', sort: ['n'] })
  assert.deepEqual(result.rows.map((row) => row.id), ['p1:001', 'p1:011', 'p1:021', 'p1:031', 'p1:041'])
})

test('pagers collect everything', async () => {
  const all = await Pagination.newPagination(cloudant, PagerType.POST_SEARCH, { db: 'plain', ddoc, index: 'words', query: 'common', limit: 7 }).pager().getAll()
  assert.equal(new Set(all.map((row) => row.id)).size, 50)
  const part = await Pagination.newPagination(cloudant, PagerType.POST_PARTITION_SEARCH, { db: 'parted', partitionKey: 'p0', ddoc, index: 'words', query: 'common', sort: ['-n'], limit: 4 }).pager().getAll()
  assert.deepEqual(part.map((row) => row.fields.n), Array.from({ length: 25 }, (_, i) => 48 - 2 * i))
})

test('information and analysis', async () => {
  const { result } = await cloudant.getSearchInfo({ db: 'plain', ddoc, index: 'words' })
  assert.equal(result.name, '_design/search/words')
  assert.equal(result.searchIndex.docCount, 50)
  assert.ok((await cloudant.getSearchDiskSize({ db: 'plain', ddoc, index: 'words' })).result.searchIndex.diskSize > 0)
  assert.deepEqual((await cloudant.postSearchAnalyze({ analyzer: 'english', text: 'running dogs' })).result, { tokens: ['run', 'dog'] })
})

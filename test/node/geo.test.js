// Geo queries by the last of Cloudant's SDKs that has calls for them, and Mango's by today's.

import assert from 'node:assert/strict'
import { text } from 'node:stream/consumers'
import { after, before, test } from 'node:test'
import { BasicAuthenticator, CloudantV1, Pagination, PagerType } from '@ibm-cloud/cloudant'
import withGeo from 'cloudant-with-geo'
import { Server } from './server.js'

const db = 'places'
const index = { db, ddoc: 'world', index: 'places' }
const byId = { limit: 10 }
let server, cloudant, old

before(async () => {
  server = await Server.start()
  cloudant = CloudantV1.newInstance({ authenticator: new BasicAuthenticator(server.credentials) })
  cloudant.setServiceUrl(server.host)
  old = withGeo.CloudantV1.newInstance({ authenticator: new withGeo.BasicAuthenticator(server.credentials) })
  old.setServiceUrl(server.host)
  await cloudant.putDatabase({ db, partitioned: true })
  await old.putDesignDocument({
    db,
    ddoc: index.ddoc,
    designDocument: { options: { partitioned: false }, st_indexes: { places: { index: 'function (doc) { if (doc.geometry) st_index(doc.geometry) }' } } }
  })
  const point = (lon, lat) => ({ type: 'Point', coordinates: [lon, lat] })
  const docs = Array.from({ length: 40 }, (_, n) => ({ _id: `p${n % 2}:${String(n).padStart(2, '0')}`, n, type: 'Feature', properties: { n }, geometry: point(10 + n / 10, 50) }))
  docs.push({ _id: 'p0:line', type: 'Feature', properties: {}, geometry: { type: 'LineString', coordinates: [[10, 49], [10, 51]] } })
  docs.push({ _id: 'p0:wrong', geometry: point(10, 95) })
  const { result } = await cloudant.postBulkDocs({ db, bulkDocs: { docs } })
  assert.ok(result.every((row) => row.ok))
})
after(() => server.remove())

const ids = (answer) => answer.result.rows.map((row) => row.id).sort()

test('boxes, circles, polygons and relations', async () => {
  assert.deepEqual(ids(await old.getGeo({ ...index, ...byId, bbox: '9.95,49.9,10.15,50.1' })), ['p0:00', 'p0:line', 'p1:01'])
  assert.deepEqual(ids(await old.getGeo({ ...index, ...byId, lat: 50, lon: 12, radius: 10_000 })), ['p0:20', 'p1:19', 'p1:21'])
  assert.deepEqual(ids(await old.getGeo({ ...index, ...byId, lat: 50, lon: 12, rangex: 5000, rangey: 9000 })), ['p0:20'])
  const g = 'POLYGON((9.9 49.5,10.05 49.5,10.05 50.5,9.9 50.5,9.9 49.5))'
  assert.deepEqual(ids(await old.getGeo({ ...index, g })), ['p0:00', 'p0:line'])
  assert.deepEqual(ids(await old.getGeo({ ...index, g, relation: 'contains' })), ['p0:00'])
  assert.deepEqual(ids(await old.getGeo({ ...index, g, relation: 'crosses' })), ['p0:line'])
  await assert.rejects(old.getGeo({ ...index }), { status: 400 })
  await assert.rejects(old.getGeo({ ...index, index: 'none', g }), { status: 404 })
})

test('the nearest, in pages', async () => {
  const query = { ...index, lat: 50, lon: 14, nearest: true, limit: 7 }
  const all = []
  for (let bookmark; ;) {
    const { result } = await old.getGeo({ ...query, bookmark })
    if (result.rows.length === 0) break
    all.push(...result.rows.map((row) => row.id))
    bookmark = result.bookmark
  }
  assert.deepEqual(all.slice(0, 3), ['p1:39', 'p0:38', 'p1:37'])
  assert.equal(new Set(all).size, 41)
  assert.deepEqual((await old.getGeo({ ...query, skip: 2, limit: 1 })).result.rows.map((row) => row.id), ['p1:37'])
})

test('forms of answers', async () => {
  const query = { ...index, lat: 50, lon: 12, radius: 100, includeDocs: true }
  const row = (await old.getGeo({ ...query, format: 'view' })).result.rows[0]
  assert.deepEqual([row.id, row.geometry, row.doc.n], ['p0:20', { type: 'Point', coordinates: [12, 50] }, 20])
  const [feature] = (await old.getGeo({ ...query, format: 'geojson' })).result.features
  assert.deepEqual([feature._id, feature.type, feature.properties], ['p0:20', 'Feature', { n: 20 }])
  assert.equal((await old.getGeo({ ...query, format: 'legacy' })).result.features[0].id, 'p0:20')
  const stream = await old.getGeoAsStream({ ...query, format: 'application/vnd.geo+json' })
  assert.equal(JSON.parse(await text(stream.result)).features.length, 1)
})

test('information and cleaning up', async () => {
  const { result } = await old.getGeoIndexInformation(index)
  assert.equal(result.name, '_design/world/places')
  assert.equal((result.geo_index ?? result.geoIndex).doc_count, 41)
  const cleanup = await old.postGeoCleanup({ db })
  assert.equal(cleanup.status, 202)
  assert.equal(cleanup.result.ok, true)
})

test('geo indexes and selectors of Mango', async () => {
  for (const partitioned of [false, true]) {
    const { result } = await cloudant.postIndex({ db, ddoc: `mango-${partitioned}`, name: 'at', type: 'geo', partitioned, index: { fields: [{ geometry: 'geo' }] } })
    assert.equal(result.result, 'created')
  }
  const listed = (await cloudant.getIndexesInformation({ db })).result.indexes.filter((i) => i.type === 'geo')
  assert.deepEqual(listed.map((i) => [i.ddoc, i.def.fields]), [['_design/mango-false', [{ geometry: 'geo' }]], ['_design/mango-true', [{ geometry: 'geo' }]]])
  const near = { geometry: { $near: { $geometry: { type: 'Point', coordinates: [14, 50] } } } }
  const found = async (type, params) => (await Pagination.newPagination(cloudant, type, { db, fields: ['_id'], limit: 7, ...params }).pager().getAll()).map((d) => d._id)
  const all = await found(PagerType.POST_FIND, { selector: near })
  assert.equal(all.length, 41)
  assert.deepEqual(all.slice(0, 3), ['p1:39', 'p0:38', 'p1:37'])
  assert.deepEqual((await found(PagerType.POST_PARTITION_FIND, { partitionKey: 'p1', selector: near })).slice(0, 3), ['p1:39', 'p1:37', 'p1:35'])
  const box = { geometry: { $geoWithin: { $box: [[11.95, 49], [12.25, 51]] } }, n: { $gt: 20 } }
  assert.deepEqual((await found(PagerType.POST_FIND, { selector: box })).sort(), ['p0:22', 'p1:21'])
  assert.equal((await cloudant.postExplain({ db, selector: box })).result.index.type, 'geo')
  await cloudant.deleteIndex({ db, ddoc: 'mango-false', type: 'geo', index: 'at' })
  await assert.rejects(cloudant.postFind({ db, selector: near }), { status: 400 })
})

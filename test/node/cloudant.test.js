// @ibm-cloud/cloudant: the SDK, logged in by session as applications do.

import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { BasicAuthenticator, ChangesFollower, CloudantV1, CouchdbSessionAuthenticator, Pagination, PagerType } from '@ibm-cloud/cloudant'
import { Server, until } from './server.js'

let server, cloudant

before(async () => {
  server = await Server.start()
  cloudant = CloudantV1.newInstance({ authenticator: new CouchdbSessionAuthenticator(server.credentials) })
  cloudant.setServiceUrl(server.host)
})
after(() => server.remove())

async function fill (db, partitioned, count) {
  await cloudant.putDatabase({ db, partitioned })
  const docs = Array.from({ length: count }, (_, n) => ({ _id: `bridge-${n % 4}:${String(n).padStart(5, '0')}`, n }))
  const { result } = await cloudant.postBulkDocs({ db, bulkDocs: { docs } })
  assert.ok(result.every((row) => row.ok))
  return docs.map((d) => d._id).sort()
}

test('the session knows its user', async () => {
  const { result } = await cloudant.getSessionInformation()
  assert.equal(result.userCtx.name, server.credentials.username)
  assert.equal(result.info.authenticated, 'cookie')
})

test('basic authentication works too, and a wrong password does not', async () => {
  const basic = CloudantV1.newInstance({ authenticator: new BasicAuthenticator(server.credentials) })
  basic.setServiceUrl(server.host)
  const { result } = await basic.getServerInformation()
  assert.equal(result.couchdb, 'Welcome')
  const wrong = CloudantV1.newInstance({ authenticator: new BasicAuthenticator({ username: 'adm', password: 'no' }) })
  wrong.setServiceUrl(server.host)
  await assert.rejects(wrong.getAllDbs(), { status: 401 })
})

test('API keys, their roles, and the settings for other origins', async () => {
  const { result: key } = await cloudant.postApiKeys()
  assert.ok(key.ok)
  const bearer = CloudantV1.newInstance({ authenticator: new CouchdbSessionAuthenticator({ username: key.key, password: key.password }) })
  bearer.setServiceUrl(server.host)
  const { result } = await bearer.getSessionInformation()
  assert.equal(result.userCtx.name, key.key)
  await assert.rejects(bearer.getCorsInformation(), { status: 401 })

  const db = 'keys'
  await cloudant.putDatabase({ db })
  await cloudant.putDocument({ db, docId: 'a', document: {} })
  await assert.rejects(bearer.getDocument({ db, docId: 'a' }), { status: 403 })
  const roles = { [key.key]: ['_reader'], nobody: [] }
  const { result: secured } = await cloudant.putCloudantSecurityConfiguration({ db, cloudant: roles })
  assert.ok(secured.ok)
  assert.deepEqual((await cloudant.getSecurity({ db })).result.cloudant, roles)
  assert.equal((await bearer.getDocument({ db, docId: 'a' })).result._id, 'a')
  await assert.rejects(bearer.putDocument({ db, docId: 'b', document: {} }), { status: 403 })

  const settings = { origins: ['https://app.example'], allowCredentials: true, enableCors: true }
  const { result: put } = await cloudant.putCorsConfiguration(settings)
  assert.ok(put.ok)
  assert.deepEqual((await cloudant.getCorsInformation()).result, settings)
  await assert.rejects(cloudant.putCorsConfiguration({ origins: ['app.example'] }), { status: 400 })
})

for (const partitioned of [false, true]) {
  test(`documents, partitioned: ${partitioned}`, async () => {
    const db = `documents-${partitioned}`
    await cloudant.putDatabase({ db, partitioned })
    const { result: put } = await cloudant.putDocument({ db, docId: 'device:1', document: { place: 'north', big: 1234567890 } })
    const { result: got } = await cloudant.getDocument({ db, docId: 'device:1' })
    assert.deepEqual(got, { _id: 'device:1', _rev: put.rev, place: 'north', big: 1234567890 })
    await assert.rejects(cloudant.putDocument({ db, docId: 'device:1', document: { place: 'south' } }), { status: 409 })
    const { result: posted } = await cloudant.postDocument({ db, document: { _id: 'device:2', place: 'west' } })
    assert.equal(posted.id, 'device:2')
    const { headers } = await cloudant.headDocument({ db, docId: 'device:1' })
    assert.equal(headers.etag, `"${put.rev}"`)
    const { result: many } = await cloudant.postBulkGet({ db, docs: [{ id: 'device:1' }, { id: 'device:9' }] })
    assert.equal(many.results[0].docs[0].ok.place, 'north')
    assert.equal(many.results[1].docs[0].error.error, 'not_found')
    await cloudant.putAttachment({ db, docId: 'device:1', attachmentName: 'log.txt', attachment: 'line', contentType: 'text/plain', rev: put.rev })
    const { result: attachment } = await cloudant.getAttachment({ db, docId: 'device:1', attachmentName: 'log.txt' })
    const parts = []
    for await (const part of attachment) parts.push(part)
    assert.equal(Buffer.concat(parts).toString(), 'line')
    const { result: current } = await cloudant.getDocument({ db, docId: 'device:2' })
    const { result: deleted } = await cloudant.deleteDocument({ db, docId: 'device:2', rev: current._rev })
    assert.ok(deleted.ok)
    await assert.rejects(cloudant.getDocument({ db, docId: 'device:2' }), { status: 404 })
    const { result: info } = await cloudant.getDatabaseInformation({ db })
    assert.equal(info.docCount, 1)
    assert.equal(info.docDelCount, 1)
  })

  test(`pagers over _all_docs, partitioned: ${partitioned}`, async () => {
    const db = `pages-${partitioned}`
    const ids = await fill(db, partitioned, 230)
    const seen = []
    const pagination = Pagination.newPagination(cloudant, PagerType.POST_ALL_DOCS, { db, includeDocs: true, limit: 50 })
    for await (const page of pagination.pages()) {
      assert.ok(page.length <= 50)
      seen.push(...page.map((row) => row.doc._id))
    }
    assert.deepEqual(seen, ids)
    const rows = await Pagination.newPagination(cloudant, PagerType.POST_ALL_DOCS, { db, limit: 100, descending: true }).pager().getAll()
    assert.deepEqual(rows.map((row) => row.id), ids.toReversed())
  })

  test(`the changes follower, partitioned: ${partitioned}`, async () => {
    const db = `changes-${partitioned}`
    const ids = await fill(db, partitioned, 60)
    const finite = []
    await new Promise((resolve, reject) => {
      new ChangesFollower(cloudant, { db }).startOneOff()
        .on('data', (item) => finite.push(item.id)).on('error', reject).on('end', resolve)
    })
    assert.deepEqual(finite.sort(), ids)

    const follower = new ChangesFollower(cloudant, { db, since: 'now', includeDocs: true })
    let seen = false
    const live = new Promise((resolve, reject) => {
      follower.start().on('data', (item) => { if (item.doc.late) resolve(item.id) }).on('error', reject)
    }).finally(() => { seen = true })
    // The follower asks for "now" at its first request, so writes go on until one of them is seen.
    let count = 0
    const writing = (async () => {
      while (!seen) {
        await cloudant.putDocument({ db, docId: `late:${String(count++).padStart(6, '0')}`, document: { late: true } })
      }
    })()
    assert.match(await live, /^late:/)
    follower.stop()
    await writing
  })
}

test('partitions', async () => {
  const db = 'partitions'
  const ids = await fill(db, true, 400)
  const mine = ids.filter((id) => id.startsWith('bridge-2:'))
  const { result: info } = await cloudant.getPartitionInformation({ db, partitionKey: 'bridge-2' })
  assert.equal(info.docCount, 100)
  assert.equal(info.partition, 'bridge-2')
  const { result: all } = await cloudant.postPartitionAllDocs({ db, partitionKey: 'bridge-2', includeDocs: true })
  assert.deepEqual(all.rows.map((row) => row.doc._id), mine)
  const pagination = Pagination.newPagination(cloudant, PagerType.POST_PARTITION_ALL_DOCS, { db, partitionKey: 'bridge-2', limit: 30 })
  const rows = []
  for await (const row of pagination.rows()) rows.push(row.id)
  assert.deepEqual(rows, mine)
  const { result: none } = await cloudant.getPartitionInformation({ db, partitionKey: 'nobody' })
  assert.equal(none.docCount, 0)
})

test('replication documents and the scheduler', async () => {
  const names = await fill('replicated', false, 20)
  const endpoint = (db) => ({ url: `${server.host}/${db}`, auth: { basic: server.credentials } })
  const { result: put } = await cloudant.putReplicationDocument({
    docId: 'one-off', replicationDocument: { source: endpoint('replicated'), target: endpoint('replica'), createTarget: true }
  })
  assert.equal(put.id, 'one-off')
  const row = await until('it is completed', async () => {
    const { result } = await cloudant.getSchedulerDocument({ docId: 'one-off' })
    return result.state === 'completed' && result
  })
  assert.equal(row.info.docsWritten, 20)
  assert.equal(row.source, `${server.host}/replicated/`)
  assert.equal((await cloudant.headSchedulerDocument({ docId: 'one-off' })).status, 200)
  // The scheduler knows first; it writes into the document then.
  await until('its document says so', async () => {
    const { result } = await cloudant.getReplicationDocument({ docId: 'one-off' })
    return (result._replication_state ?? result.replicationState) === 'completed'
  })
  assert.equal((await cloudant.headReplicationDocument({ docId: 'one-off' })).status, 200)
  const { result: replica } = await cloudant.postAllDocs({ db: 'replica' })
  assert.deepEqual(replica.rows.map((r) => r.id), names)

  const { result: posted } = await cloudant.postReplicator({
    replicationDocument: { source: endpoint('replicated'), target: endpoint('live'), createTarget: true, continuous: true, winningRevsOnly: true }
  })
  const { result: jobs } = await until('it runs', async () => {
    const answer = await cloudant.getSchedulerJobs({ limit: 10 })
    return answer.result.totalRows === 1 && answer.result.jobs[0].pid && answer
  })
  const job = jobs.jobs[0]
  assert.equal(job.docId, posted.id)
  assert.match(job.id, /\+continuous\+create_target$/)
  assert.ok(job.history.some((event) => event.type === 'started'))
  assert.equal((await cloudant.getSchedulerJob({ jobId: job.id })).result.id, job.id)
  assert.equal((await cloudant.headSchedulerJob({ jobId: job.id })).status, 200)
  const { result: running } = await cloudant.getSchedulerDocs({ states: ['running'], limit: 5 })
  assert.deepEqual(running.docs.map((d) => d.docId), [posted.id])
  assert.ok(!JSON.stringify([jobs, running]).includes('pass'))
  await until('it is among the tasks', async () => (await cloudant.getActiveTasks()).result.some((task) => task.type === 'replication'))
  await cloudant.deleteReplicationDocument({ docId: posted.id, rev: posted.rev })
  await until('it has ended', async () => (await cloudant.getSchedulerJobs()).result.totalRows === 0)
  // Of several servers the one that runs it may be the last to know.
  await until('it is no job', () => cloudant.getSchedulerJob({ jobId: job.id }).then(() => false, (e) => e.status === 404))
  await assert.rejects(cloudant.putReplicationDocument({ docId: 'bad', replicationDocument: { source: endpoint('x') } }), (e) => e.status === 403 || /target/.test(e.message))
})

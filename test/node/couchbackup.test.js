// @cloudant/couchbackup: a backup to a file and its restoration.

import assert from 'node:assert/strict'
import { createReadStream, createWriteStream } from 'node:fs'
import { join } from 'node:path'
import { after, before, test } from 'node:test'
import couchbackup from '@cloudant/couchbackup'
import { Server } from './server.js'

let server

before(async () => { server = await Server.start() })
after(() => server.remove())

// finished waits for couchbackup's callback.
function finished (start) {
  return new Promise((resolve, reject) => start((err, data) => err ? reject(err) : resolve(data)))
}

async function everything (db) {
  const { body } = await server.request('GET', `/${db}/_all_docs?include_docs=true&conflicts=true&attachments=true`)
  return body.rows
}

for (const partitioned of [false, true]) {
  test(`backup and restore, partitioned: ${partitioned}`, async () => {
    const source = `source-${partitioned}`
    const target = `target-${partitioned}`
    for (const db of [source, target]) {
      assert.equal((await server.request('PUT', `/${db}${partitioned ? '?partitioned=true' : ''}`)).status, 201)
    }
    const docs = Array.from({ length: 1200 }, (_, n) => ({ _id: `user-${n % 50}:${n}`, n, text: 'ä€𝄞'.repeat(n % 7) }))
    docs[3]._attachments = { 'note.txt': { content_type: 'text/plain', data: Buffer.from('a note').toString('base64') } }
    assert.equal((await server.request('POST', `/${source}/_bulk_docs`, { docs })).status, 201)
    // A conflict and a deletion, so that more than the plain case is carried over.
    const { body: conflict } = await server.request('POST', `/${source}/_bulk_docs`, {
      new_edits: false, docs: [{ _id: 'user-1:1', _rev: '1-ffffffffffffffffffffffffffffffff', n: 'other' }]
    })
    assert.deepEqual(conflict, [])
    const { body: last } = await server.request('GET', `/${source}/user-2:2`)
    await server.request('DELETE', `/${source}/user-2:2?rev=${last._rev}`)

    const file = join(server.directory, `${source}.backup`)
    const log = join(server.directory, `${source}.log`)
    const written = await finished((callback) => couchbackup.backup(`${server.url}/${source}`, createWriteStream(file),
      { log, attachments: true, bufferSize: 100 }, callback))
    assert.equal(written.total, 1201, 'every document, the tombstone, and the conflict')
    // couchbackup decodes each chunk by itself, so it is given text: a chunk of bytes may end inside a character.
    await finished((callback) => couchbackup.restore(createReadStream(file, 'utf8'), `${server.url}/${target}`,
      { attachments: true, bufferSize: 100 }, callback))
    const rows = await everything(target)
    assert.equal(rows.length, 1199)
    assert.deepEqual(rows, await everything(source))
  })
}

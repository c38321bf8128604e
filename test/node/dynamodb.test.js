// AWS's SDK for JavaScript, unchanged but for the endpoint and the credentials that the server gave.

import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import {
  ConditionalCheckFailedException, CreateTableCommand, DeleteTableCommand, DescribeTableCommand, DynamoDBClient, ListTablesCommand,
  ResourceNotFoundException, UpdateTableCommand, paginateScan, waitUntilTableExists, waitUntilTableNotExists
} from '@aws-sdk/client-dynamodb'
import {
  DescribeStreamCommand, DynamoDBStreamsClient, GetRecordsCommand, GetShardIteratorCommand, ListStreamsCommand
} from '@aws-sdk/client-dynamodb-streams'
import { DynamoDBDocumentClient, DeleteCommand, GetCommand, PutCommand, QueryCommand, UpdateCommand, paginateQuery } from '@aws-sdk/lib-dynamodb'
import { Server, until } from './server.js'

let server, client, documents

// address returns where the DynamoDB API listens.
async function address () {
  return until('the DynamoDB API listens', () => /The DynamoDB API listens on (\S+)/.exec(server.output)?.[1])
}

// connect returns a client with the access key of a user.
async function connect (user, body) {
  const answer = await fetch(`${server.host}/_access_keys/${user}`, {
    method: 'POST', headers: { Authorization: 'Basic ' + btoa('adm:pass'), 'Content-Type': 'application/json' }, body: JSON.stringify(body ?? {})
  })
  assert.equal(answer.status, 201)
  const { id, secret } = await answer.json()
  return new DynamoDBClient({ endpoint: await address(), region: 'eu-central-1', credentials: { accessKeyId: id, secretAccessKey: secret } })
}

before(async () => {
  server = await Server.start('--dynamodb', '127.0.0.1:0')
  client = await connect('adm')
  documents = DynamoDBDocumentClient.from(client)
})

after(async () => {
  client?.destroy()
  await server?.remove()
})

const projects = {
  TableName: 'Projects',
  AttributeDefinitions: ['organisation_id', 'name', 'last_updated', 'owner'].map((name) => ({ AttributeName: name, AttributeType: 'S' })),
  KeySchema: [{ AttributeName: 'organisation_id', KeyType: 'HASH' }, { AttributeName: 'name', KeyType: 'RANGE' }],
  BillingMode: 'PAY_PER_REQUEST',
  LocalSecondaryIndexes: [{
    IndexName: 'by_time',
    KeySchema: [{ AttributeName: 'organisation_id', KeyType: 'HASH' }, { AttributeName: 'last_updated', KeyType: 'RANGE' }],
    Projection: { ProjectionType: 'INCLUDE', NonKeyAttributes: ['name'] }
  }],
  GlobalSecondaryIndexes: [{ IndexName: 'by_owner', KeySchema: [{ AttributeName: 'owner', KeyType: 'HASH' }], Projection: { ProjectionType: 'KEYS_ONLY' } }]
}

test('a table is made, used and dropped', async () => {
  await client.send(new CreateTableCommand(projects))
  await waitUntilTableExists({ client, maxWaitTime: 30, minDelay: 0.05, maxDelay: 0.2 }, { TableName: 'Projects' })
  assert.deepEqual((await client.send(new ListTablesCommand({}))).TableNames, ['Projects'])
  for (const [organisation, name, owner, updated] of [
    ['abc123', 'Foo Project', 'jane', '2018-08-02'], ['abc123', 'Other Foo Project', 'john', '2018-03-02'],
    ['def456', 'Bar Project', 'jane', '2018-03-12'], ['def456', 'Other Bar Project', 'sarah', '2017-12-06']
  ]) {
    await documents.send(new PutCommand({ TableName: 'Projects', Item: { organisation_id: organisation, name, owner, last_updated: updated } }))
  }
  const query = (input) => documents.send(new QueryCommand({ TableName: 'Projects', ...input })).then((answer) => answer.Items)
  assert.deepEqual((await query({ KeyConditionExpression: 'organisation_id = :o', ExpressionAttributeValues: { ':o': 'abc123' } })).map((item) => item.name), ['Foo Project', 'Other Foo Project'])
  assert.deepEqual(await query({
    IndexName: 'by_time', KeyConditionExpression: 'organisation_id = :o AND last_updated >= :t', ExpressionAttributeValues: { ':o': 'abc123', ':t': '2018-07-27' }
  }), [{ organisation_id: 'abc123', name: 'Foo Project', last_updated: '2018-08-02' }])
  assert.deepEqual((await query({
    IndexName: 'by_owner', KeyConditionExpression: '#o = :o', ExpressionAttributeNames: { '#o': 'owner' }, ExpressionAttributeValues: { ':o': 'jane' }
  })).map((item) => item.name).sort(), ['Bar Project', 'Foo Project'])
  const described = (await client.send(new DescribeTableCommand({ TableName: 'Projects' }))).Table
  assert.equal(described.ItemCount, 4)
  assert.equal(described.GlobalSecondaryIndexes[0].IndexStatus, 'ACTIVE')
})

test('items have all types, and are documents', async () => {
  const item = {
    organisation_id: 'types', name: 'all', text: 'ä', number: 1.5, bytes: new Uint8Array([0, 255]), yes: true, nothing: null,
    list: [1, 'x', [true]], map: { deep: { $er: 1 } }, words: new Set(['a', 'b']), numbers: new Set([1, 2]), $odd: 1, _own: 'x'
  }
  await documents.send(new PutCommand({ TableName: 'Projects', Item: item }))
  const got = (await documents.send(new GetCommand({ TableName: 'Projects', Key: { organisation_id: 'types', name: 'all' }, ConsistentRead: true }))).Item
  assert.deepEqual(got, item)
  const document = await (await fetch(`${server.url.replace(/\/\/.*@/, '//')}/p$rojects/${encodeURIComponent('Stypes!:Sall')}`, { headers: { Authorization: 'Basic ' + btoa('adm:pass') } })).json()
  assert.deepEqual(document.bytes, { $b: 'AP8=' })
  assert.equal(document.$_own, 'x')
})

test('conditions, updates and their errors', async () => {
  const key = { organisation_id: 'counters', name: 'hits' }
  const add = (by) => documents.send(new UpdateCommand({ TableName: 'Projects', Key: key, UpdateExpression: 'ADD hits :n', ExpressionAttributeValues: { ':n': by }, ReturnValues: 'UPDATED_NEW' }))
  await Promise.all(Array.from({ length: 200 }, () => add(1)))
  assert.equal((await add(0)).Attributes.hits, 200)
  await assert.rejects(documents.send(new PutCommand({
    TableName: 'Projects', Item: key, ConditionExpression: 'attribute_not_exists(hits)', ReturnValuesOnConditionCheckFailure: 'ALL_OLD'
  })), (err) => err instanceof ConditionalCheckFailedException && err.Item.hits.N === '200')
  const gone = await documents.send(new DeleteCommand({ TableName: 'Projects', Key: key, ReturnValues: 'ALL_OLD' }))
  assert.equal(gone.Attributes.hits, 200)
  await assert.rejects(documents.send(new GetCommand({ TableName: 'nowhere', Key: { id: 1 } })), ResourceNotFoundException)
  await assert.rejects(documents.send(new PutCommand({ TableName: 'Projects', Item: { name: 'x' } })), { name: 'ValidationException' })
})

test('pages', async () => {
  for (let i = 0; i < 50; i++) {
    await documents.send(new PutCommand({ TableName: 'Projects', Item: { organisation_id: 'pages', name: String(i).padStart(3, '0'), filler: 'x'.repeat(100) } }))
  }
  const names = []
  for await (const page of paginateQuery({ client: documents, pageSize: 7 }, {
    TableName: 'Projects', KeyConditionExpression: 'organisation_id = :o', ExpressionAttributeValues: { ':o': 'pages' }, ScanIndexForward: false
  })) {
    names.push(...page.Items.map((item) => item.name))
  }
  assert.deepEqual(names, Array.from({ length: 50 }, (_, i) => String(49 - i).padStart(3, '0')))
  const seen = new Set()
  for (const Segment of [0, 1, 2]) {
    for await (const page of paginateScan({ client, pageSize: 5 }, { TableName: 'Projects', Segment, TotalSegments: 3 })) {
      for (const item of page.Items) seen.add(item.organisation_id.S + '/' + item.name.S)
    }
  }
  assert.equal(seen.size, 55)
})

test('a key that is bound to reading', async () => {
  const reader = DynamoDBDocumentClient.from(await connect('adm', { tables: ['Projects'], read_only: true }))
  const key = { organisation_id: 'abc123', name: 'Foo Project' }
  assert.equal((await reader.send(new GetCommand({ TableName: 'Projects', Key: key }))).Item.owner, 'jane')
  await assert.rejects(reader.send(new PutCommand({ TableName: 'Projects', Item: key })), { name: 'AccessDeniedException' })
  await assert.rejects(reader.send(new GetCommand({ TableName: 'others', Key: { id: 1 } })), /ResourceNotFound|AccessDenied/)
  const stranger = new DynamoDBClient({ endpoint: await address(), region: 'x', credentials: { accessKeyId: 'AKIAIOSFODNN7EXAMPLE', secretAccessKey: 'x' } })
  await assert.rejects(stranger.send(new ListTablesCommand({})), { name: 'UnrecognizedClientException' })
})

test('a stream has every change, also after a kill', async () => {
  const of = async (client) => new DynamoDBStreamsClient({ endpoint: await address(), region: 'eu-central-1', credentials: await client.config.credentials() })
  let streams = await of(client)
  assert.deepEqual((await streams.send(new ListStreamsCommand({}))).Streams, [])
  await client.send(new UpdateTableCommand({ TableName: 'Projects', StreamSpecification: { StreamEnabled: true, StreamViewType: 'NEW_AND_OLD_IMAGES' } }))
  const { LatestStreamArn: StreamArn } = (await client.send(new DescribeTableCommand({ TableName: 'Projects' }))).Table
  assert.equal((await streams.send(new ListStreamsCommand({ TableName: 'Projects' }))).Streams[0].StreamArn, StreamArn)
  const key = { organisation_id: 'streams', name: 'x' }
  for (const n of [1, 2]) await documents.send(new PutCommand({ TableName: 'Projects', Item: { ...key, n } }))
  await documents.send(new DeleteCommand({ TableName: 'Projects', Key: key }))

  const { StreamDescription } = await streams.send(new DescribeStreamCommand({ StreamArn }))
  assert.equal(StreamDescription.StreamStatus, 'ENABLED')
  const [{ ShardId }] = StreamDescription.Shards
  const read = async (ShardIteratorType, SequenceNumber) => {
    const { ShardIterator } = await streams.send(new GetShardIteratorCommand({ StreamArn, ShardId, ShardIteratorType, SequenceNumber }))
    return streams.send(new GetRecordsCommand({ ShardIterator }))
  }
  const { Records, NextShardIterator } = await read('TRIM_HORIZON')
  assert.deepEqual(Records.map((r) => [r.eventName, r.dynamodb.OldImage?.n.N, r.dynamodb.NewImage?.n.N]), [['INSERT', undefined, '1'], ['MODIFY', '1', '2'], ['REMOVE', '2', undefined]])
  assert.deepEqual(Records[0].dynamodb.Keys, { organisation_id: { S: 'streams' }, name: { S: 'x' } })
  assert.ok(Math.abs(Records[0].dynamodb.ApproximateCreationDateTime - Date.now()) < 3_600_000)
  assert.deepEqual((await read('LATEST')).Records, [])
  await assert.rejects(read('AT_SEQUENCE_NUMBER', '9'.repeat(22)), { name: 'ValidationException' })
  await assert.rejects(streams.send(new GetRecordsCommand({ ShardIterator: NextShardIterator.slice(0, -2) })), { name: 'ValidationException' })

  await server.kill()
  await server.resume()
  client = await connect('adm')
  documents = DynamoDBDocumentClient.from(client)
  streams = await of(client)
  await documents.send(new PutCommand({ TableName: 'Projects', Item: { ...key, n: 3 } }))
  assert.deepEqual((await read('AFTER_SEQUENCE_NUMBER', Records[1].dynamodb.SequenceNumber)).Records.map((r) => r.eventName), ['REMOVE', 'INSERT'])
  assert.deepEqual((await streams.send(new GetRecordsCommand({ ShardIterator: NextShardIterator }))).Records.map((r) => r.dynamodb.NewImage.n.N), ['3'])
})

test('what was acknowledged is there after a kill', async () => {
  await documents.send(new PutCommand({ TableName: 'Projects', Item: { organisation_id: 'kept', name: 'x', n: 1 } }))
  await server.kill()
  await server.resume()
  const again = DynamoDBDocumentClient.from(await connect('adm'))
  assert.equal((await again.send(new GetCommand({ TableName: 'Projects', Key: { organisation_id: 'kept', name: 'x' } }))).Item.n, 1)
  await again.send(new DeleteTableCommand({ TableName: 'Projects' }))
  await waitUntilTableNotExists({ client: again, maxWaitTime: 30, minDelay: 0.05, maxDelay: 0.2 }, { TableName: 'Projects' })
})

// AWS's SDK for JavaScript, unchanged but for the endpoint and the credentials that the server gave.

import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import {
  ConditionalCheckFailedException, CreateTableCommand, DeleteTableCommand, DescribeTableCommand, DynamoDBClient, ListTablesCommand,
  DuplicateItemException, ExecuteStatementCommand, IdempotentParameterMismatchException, ResourceNotFoundException, TransactionCanceledException, UpdateTableCommand,
  paginateScan, waitUntilTableExists, waitUntilTableNotExists
} from '@aws-sdk/client-dynamodb'
import {
  DescribeStreamCommand, DynamoDBStreamsClient, GetRecordsCommand, GetShardIteratorCommand, ListStreamsCommand
} from '@aws-sdk/client-dynamodb-streams'
import {
  BatchExecuteStatementCommand, BatchGetCommand, BatchWriteCommand, DynamoDBDocumentClient, DeleteCommand, ExecuteStatementCommand as Execute, ExecuteTransactionCommand,
  GetCommand, PutCommand, QueryCommand, TransactGetCommand, TransactWriteCommand, UpdateCommand, paginateQuery
} from '@aws-sdk/lib-dynamodb'
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

test('batches and transactions', async () => {
  const key = (name) => ({ organisation_id: 'several', name })
  const write = (requests) => documents.send(new BatchWriteCommand({ RequestItems: { Projects: requests } }))
  assert.deepEqual((await write(['a', 'b', 'c'].map((name) => ({ PutRequest: { Item: { ...key(name), n: 1 } } })))).UnprocessedItems, {})
  const batch = await documents.send(new BatchGetCommand({ RequestItems: { Projects: { Keys: [key('a'), key('none')] } } }))
  assert.deepEqual(batch.Responses.Projects, [{ ...key('a'), n: 1 }])

  const move = (from, to) => documents.send(new TransactWriteCommand({
    TransactItems: [
      { Delete: { TableName: 'Projects', Key: key(from), ConditionExpression: 'attribute_exists(n)' } },
      { Put: { TableName: 'Projects', Item: { ...key(to), n: 1 }, ConditionExpression: 'attribute_not_exists(n)', ReturnValuesOnConditionCheckFailure: 'ALL_OLD' } }
    ]
  }))
  await move('a', 'd')
  await assert.rejects(move('b', 'c'), (err) => {
    assert.ok(err instanceof TransactionCanceledException)
    assert.deepEqual(err.CancellationReasons.map((reason) => reason.Code), ['None', 'ConditionalCheckFailed'])
    assert.equal(err.CancellationReasons[1].Item.n.N, '1')
    return true
  })
  const { Responses } = await documents.send(new TransactGetCommand({ TransactItems: ['a', 'b', 'd'].map((name) => ({ Get: { TableName: 'Projects', Key: key(name) } })) }))
  assert.deepEqual(Responses.map((response) => response.Item?.n), [undefined, 1, 1])
  await write(['b', 'c', 'd'].map((name) => ({ DeleteRequest: { Key: key(name) } })))
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

test('statements of PartiQL', async () => {
  const execute = (Statement, Parameters, more) => documents.send(new Execute({ Statement, Parameters, ...more }))
  const insert = "INSERT INTO \"Projects\" VALUE {'organisation_id': ?, 'name': ?, 'owner': ?, 'n': ?, 'tags': ?, 'more': ?}"
  for (const [i, name] of ['a', 'b', 'c', 'd', 'e'].entries()) {
    const { Items } = await execute(insert, ['ql', name, 'jöhn\'s "own"', i, new Set(['x', 'y']), { bytes: new Uint8Array([0, 255]), list: [1, null, true] }])
    assert.deepEqual(Items, [])
  }
  await assert.rejects(execute(insert, ['ql', 'a', 'x', 1, 'x', 'x']), DuplicateItemException)
  await assert.rejects(execute(insert, ['ql']), /Number of parameters in request and statement don't match/)
  assert.deepEqual((await execute("SELECT * FROM Projects WHERE organisation_id = ? AND name = 'b'", ['ql'], { ConsistentRead: true })).Items, [{
    organisation_id: 'ql', name: 'b', owner: 'jöhn\'s "own"', n: 1, tags: new Set(['x', 'y']), more: { bytes: new Uint8Array([0, 255]), list: [1, null, true] }
  }])
  assert.equal((await execute(`SELECT name FROM "Projects"."by_owner" WHERE owner = 'jöhn''s "own"'`)).Items.length, 5)

  // Pages, from the client that knows no types.
  const page = (NextToken) => client.send(new ExecuteStatementCommand({
    Statement: 'SELECT name FROM Projects WHERE organisation_id = ? ORDER BY name DESC', Parameters: [{ S: 'ql' }], Limit: 2, NextToken, ReturnConsumedCapacity: 'TOTAL'
  }))
  const names = []
  let pages = 0
  for (let token; pages === 0 || token; pages++) {
    const answer = await page(token)
    assert.equal(answer.ConsumedCapacity.TableName, 'Projects')
    names.push(...answer.Items.map((item) => item.name.S))
    token = answer.NextToken
  }
  assert.deepEqual([names, pages], [['e', 'd', 'c', 'b', 'a'], 3])
  const { NextToken } = await page()
  await assert.rejects(execute('SELECT * FROM Projects', undefined, { NextToken }), { name: 'ValidationException', message: 'NextToken does not match request' })

  // What changes return.
  const where = "WHERE organisation_id = 'ql' AND name = ?"
  assert.deepEqual((await execute(`UPDATE Projects SET n = n + 10 SET tags = set_add(tags, ?) REMOVE more.list[0] ${where} AND n = 0 RETURNING MODIFIED NEW *`, [new Set(['z']), 'a'])).Items,
    [{ n: 10, tags: new Set(['x', 'y', 'z']), more: { list: [null] } }])
  assert.equal((await execute(`UPDATE Projects SET n = ? ${where} RETURNING ALL OLD *`, [11, 'a'])).Items[0].n, 10)
  await assert.rejects(execute(`UPDATE Projects SET n = 1 ${where} AND n = 1`, ['a'], { ReturnValuesOnConditionCheckFailure: 'ALL_OLD' }),
    (err) => err instanceof ConditionalCheckFailedException && err.Item.n.N === '11')
  await assert.rejects(execute(`UPDATE Projects SET n = 1 ${where}`, ['none']), ConditionalCheckFailedException)
  assert.equal((await execute(`DELETE FROM Projects ${where} RETURNING ALL OLD *`, ['e'])).Items[0].n, 4)
})

test('batches of statements', async () => {
  const batch = (...Statements) => documents.send(new BatchExecuteStatementCommand({ Statements, ReturnConsumedCapacity: 'TOTAL' }))
  const read = (name) => ({ Statement: "SELECT name, n FROM Projects WHERE organisation_id = 'ql' AND name = ?", Parameters: [name] })
  const { Responses, ConsumedCapacity } = await batch(read('a'), read('none'), { Statement: 'SELECT * FROM Projects' }, { Statement: 'SELECT' }, read('b'))
  assert.deepEqual(Responses.map((r) => r.Item), [{ name: 'a', n: 11 }, undefined, undefined, undefined, { name: 'b', n: 1 }])
  assert.deepEqual(Responses.map((r) => r.Error?.Code), [undefined, undefined, 'ValidationError', 'ValidationError', undefined])
  assert.equal(ConsumedCapacity[0].TableName, 'Projects')
  const insert = { Statement: "INSERT INTO Projects VALUE {'organisation_id': 'ql', 'name': 'f'}" }
  const written = (await batch(insert, insert, { Statement: "UPDATE Projects SET n = 1 WHERE organisation_id = 'ql' AND name = 'f' RETURNING ALL NEW *" },
    { Statement: "DELETE FROM Projects WHERE organisation_id = 'ql' AND name = 'a' AND n = 0", ReturnValuesOnConditionCheckFailure: 'ALL_OLD' })).Responses
  assert.deepEqual(written.map((r) => r.Error?.Code), [undefined, 'DuplicateItem', undefined, 'ConditionalCheckFailed'])
  assert.deepEqual(written[2].Item, { organisation_id: 'ql', name: 'f', n: 1 })
  assert.equal(written[3].Error.Item.n, 11)
  await assert.rejects(batch(read('a'), insert), { name: 'ValidationException' })
})

test('transactions of statements', async () => {
  const transact = (TransactStatements, more) => documents.send(new ExecuteTransactionCommand({ TransactStatements, ...more }))
  const one = (Statement, ...Parameters) => Parameters.length ? { Statement, Parameters } : { Statement }
  const where = "WHERE organisation_id = 'ql' AND name = ?"
  const pay = [one(`UPDATE Projects SET n = n - 5 ${where} AND n >= 5`, 'a'), one(`UPDATE Projects SET n = n + 5 ${where}`, 'b'), one(`EXISTS(SELECT * FROM Projects ${where} AND n = 2)`, 'c')]
  for (let i = 0; i < 2; i++) {
    const { Responses, ConsumedCapacity } = await transact(pay, { ClientRequestToken: 'pay', ReturnConsumedCapacity: 'TOTAL' })
    assert.deepEqual(Responses, [])
    assert.equal(ConsumedCapacity[0][i ? 'ReadCapacityUnits' : 'WriteCapacityUnits'], ConsumedCapacity[0].CapacityUnits)
  }
  await assert.rejects(transact(pay.slice(1), { ClientRequestToken: 'pay' }), IdempotentParameterMismatchException)
  const read = (name) => one(`SELECT n FROM Projects ${where}`, name)
  const sums = async () => (await transact(['a', 'b', 'none'].map(read))).Responses.map((r) => r.Item)
  assert.deepEqual(await sums(), [{ n: 6 }, { n: 6 }, undefined])
  await assert.rejects(transact([
    ...pay, one("INSERT INTO Projects VALUE {'organisation_id': 'ql', 'name': 'd'}"),
    { ...one(`DELETE FROM Projects ${where} AND n = 7`, 'f'), ReturnValuesOnConditionCheckFailure: 'ALL_OLD' }, one(`UPDATE Projects SET n = 0 ${where}`, 'g')
  ]), (err) => {
    assert.ok(err instanceof TransactionCanceledException)
    assert.deepEqual(err.CancellationReasons.map((r) => r.Code), ['None', 'None', 'None', 'DuplicateItem', 'ConditionalCheckFailed', 'ConditionalCheckFailed'])
    assert.equal(err.CancellationReasons[4].Item.n.N, '1')
    return true
  })
  assert.deepEqual(await sums(), [{ n: 6 }, { n: 6 }, undefined])
  await assert.rejects(transact([read('a'), pay[0]]), { message: 'ExecuteTransaction API does not support both read and write operations in the same request.' })
})

test('a key that is bound to reading', async () => {
  const reader = DynamoDBDocumentClient.from(await connect('adm', { tables: ['Projects'], read_only: true }))
  const key = { organisation_id: 'abc123', name: 'Foo Project' }
  assert.equal((await reader.send(new GetCommand({ TableName: 'Projects', Key: key }))).Item.owner, 'jane')
  await assert.rejects(reader.send(new PutCommand({ TableName: 'Projects', Item: key })), { name: 'AccessDeniedException' })
  assert.equal((await reader.send(new Execute({ Statement: "SELECT owner FROM Projects WHERE organisation_id = 'abc123' AND name = 'Foo Project'" }))).Items[0].owner, 'jane')
  const write = { Statement: "UPDATE Projects SET n = 1 WHERE organisation_id = 'abc123' AND name = 'Foo Project'" }
  await assert.rejects(reader.send(new Execute(write)), { name: 'AccessDeniedException' })
  await assert.rejects(reader.send(new ExecuteTransactionCommand({ TransactStatements: [write] })), { name: 'AccessDeniedException' })
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

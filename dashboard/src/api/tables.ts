import { send } from './http'

/** Value is an attribute of an item as the wire has it: one member, which is its type. */
export type Value = { [type: string]: unknown }

export type Item = Record<string, Value>

interface KeyPart {
  AttributeName: string
  KeyType: 'HASH' | 'RANGE'
}

export interface Index {
  IndexName: string
  KeySchema: KeyPart[]
  Projection: { ProjectionType: string; NonKeyAttributes?: string[] }
  IndexStatus?: string
}

export interface Table {
  TableName: string
  TableStatus: string
  KeySchema: KeyPart[]
  AttributeDefinitions: { AttributeName: string; AttributeType: string }[]
  ItemCount: number
  TableSizeBytes: number
  LocalSecondaryIndexes?: Index[]
  GlobalSecondaryIndexes?: Index[]
  StreamSpecification?: { StreamEnabled: boolean; StreamViewType?: string }
}

/** operate asks for an operation of the DynamoDB API, as whoever has logged in. */
async function operate<T>(operation: string, body: unknown, signal?: AbortSignal): Promise<T> {
  const headers = { 'Content-Type': 'application/x-amz-json-1.0', 'X-Amz-Target': 'DynamoDB_20120810.' + operation }
  return (await send('_dynamodb', { method: 'POST', headers, body, signal })).json() as Promise<T>
}

export const tables = (from: string | undefined, limit: number, signal?: AbortSignal) =>
  operate<{ TableNames: string[]; LastEvaluatedTableName?: string }>('ListTables', { ExclusiveStartTableName: from, Limit: limit }, signal)

export const table = async (name: string, signal?: AbortSignal) => (await operate<{ Table: Table }>('DescribeTable', { TableName: name }, signal)).Table

/** Page is what a statement found, and where the next page begins if there is one. */
export interface Page {
  Items?: Item[]
  NextToken?: string
}

export const execute = (statement: string, next?: string) => operate<Page>('ExecuteStatement', { Statement: statement, Limit: 100, NextToken: next })

/** written writes a value for people: a number with all its digits, sets and lists in brackets. */
export function written(v: Value): string {
  const [type, of] = Object.entries(v)[0]!
  switch (type) {
    case 'S':
    case 'N':
      return of as string
    case 'NULL':
      return 'null'
    case 'L':
      return `[${(of as Value[]).map(written).join(', ')}]`
    case 'M':
      return `{${Object.entries(of as Item).map(([n, x]) => `${n}: ${written(x)}`).join(', ')}}`
    case 'SS':
    case 'NS':
    case 'BS':
      return `<<${(of as string[]).join(', ')}>>`
  }
  return String(of)
}

/** keyOf writes what a key is made of. */
export const keyOf = (of: { KeySchema: KeyPart[] }) => of.KeySchema.map((k) => k.AttributeName).join(', ')

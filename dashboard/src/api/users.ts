import { ask, at, get, part, query } from './http'

/** Security says who may what in a database. */
export interface Security {
  admins?: People
  members?: People
  partitions?: unknown[]
  [other: string]: unknown
}

export interface People {
  names?: string[]
  roles?: string[]
}

export const security = (db: string, signal?: AbortSignal) => get<Security>(at(db) + '/_security', signal)

export const secure = (db: string, s: unknown) => ask('PUT', at(db) + '/_security', s)

/** Account is a user's document, without what proves the password. */
export interface Account {
  _id: string
  _rev?: string
  name: string
  roles: string[]
}

const prefix = 'org.couchdb.user:'

/** accounts lists users by name, from one on. */
export async function accounts(from: string, limit: number, signal?: AbortSignal): Promise<Account[]> {
  const q = { include_docs: true, limit, startkey: JSON.stringify(prefix + from), endkey: JSON.stringify(prefix + '\ufff0') }
  return (await get<{ rows: { doc: Account }[] }>('_users/_all_docs' + query(q), signal)).rows.map((r) => r.doc)
}

/** createAccount makes a user. */
export const createAccount = (name: string, password: string, roles: string[]) =>
  ask('PUT', `_users/${part(prefix + name)}`, { name, password, roles, type: 'user' })

/** changeAccount changes members of a user's document, whatever was changed meanwhile: making an access key does too. */
export const changeAccount = (a: Account, change: { password?: string; roles?: string[] }) => ask('PATCH', `_users/${part(a._id)}`, change)

/** deleteAccount deletes a user, whatever was changed meanwhile. */
export async function deleteAccount(a: Account): Promise<void> {
  const { _rev } = await get<Account>(`_users/${part(a._id)}`)
  await ask('DELETE', `_users/${part(a._id)}${query({ rev: _rev })}`)
}

/** AccessKey is a key with which a user signs requests to the DynamoDB API. The secret is there of a new one alone. */
export interface AccessKey {
  id: string
  created: string
  tables?: string[]
  read_only?: boolean
  secret?: string
}

const keysOf = (user: string) => `_access_keys/${part(user)}`

export const accessKeys = async (user: string, signal?: AbortSignal) => (await get<{ access_keys: AccessKey[] }>(keysOf(user), signal)).access_keys

export const createKey = (user: string, tables: string[], readOnly: boolean) => ask<AccessKey>('POST', keysOf(user), { read_only: readOnly, ...(tables.length ? { tables } : {}) })

export const revokeKey = (user: string, key: string) => ask('DELETE', `${keysOf(user)}/${part(key)}`)

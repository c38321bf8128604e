import { members, objectOf } from '../ui/jsontext'
import { ApiError, ask, at, get, idPath, part, query, send } from './http'

/** Info is what a database says of itself. */
export interface Info {
  db_name: string
  doc_count: number
  doc_del_count: number
  update_seq: string
  sizes: { active: number; external: number; file: number }
  props?: { partitioned?: boolean }
}

/** Row is one of a list of documents; doc is there if it was asked for. */
export interface Row {
  id: string
  key: unknown
  value: { rev: string; deleted?: boolean }
  doc?: Record<string, unknown>
}

export const isPartitioned = (i: Info) => i.props?.partitioned === true

/** databases returns the information of all databases, by name. */
export async function databases(signal?: AbortSignal): Promise<Info[]> {
  const names = await get<string[]>('_all_dbs', signal)
  const all: Info[] = []
  for (let from = 0; from < names.length; from += 100) {
    const answers = await ask<{ key: string; info?: Info }[]>('POST', '_dbs_info', { keys: names.slice(from, from + 100) }, signal)
    for (const a of answers) if (a.info) all.push(a.info)
  }
  return all
}

export const info = (db: string, signal?: AbortSignal) => get<Info>(at(db), signal)

export const create = (db: string, partitioned: boolean) => ask('PUT', at(db) + query({ partitioned: partitioned || undefined }))

export const drop = (db: string) => ask('DELETE', at(db))

/** Listing says which documents of a database, or of one partition. */
export interface Listing {
  partition?: string
  from?: string
  prefix?: string
  limit: number
  designs?: boolean
  /** bodies says that the documents themselves are wanted too. */
  bodies?: boolean
}

/** list returns documents by id, one more than the limit if there are more. */
export async function list(db: string, l: Listing, signal?: AbortSignal): Promise<Row[]> {
  const end = l.prefix ? JSON.stringify(l.prefix + '\ufff0') : undefined
  const path = l.designs ? at(db) + '/_design_docs' : at(db) + (l.partition ? `/_partition/${part(l.partition)}` : '') + '/_all_docs'
  const start = l.from ?? l.prefix
  const q = { limit: l.limit + 1, include_docs: l.bodies || undefined, startkey: start === undefined ? undefined : JSON.stringify(start), endkey: end }
  return (await get<{ rows: Row[] }>(path + query(q), signal)).rows
}

/** partitionInfo is what one partition says of itself, in the form of a database. */
export const partitionInfo = (db: string, partition: string, signal?: AbortSignal) => get<Info>(`${at(db)}/_partition/${part(partition)}`, signal)

/** PartitionRow is a partition with its numbers. */
export interface PartitionRow {
  partition: string
  doc_count: number
  doc_del_count: number
  sizes: { active: number; external: number }
  writes_per_hour: number
  last_write: string | null
}

export const partitions = (db: string, q: { sort?: string; descending?: boolean; limit?: number; bookmark?: string }, signal?: AbortSignal) =>
  get<{ rows: PartitionRow[]; bookmark: string }>(at(db) + '/_partitions' + query(q), signal)

/** Advice is how documents would lie in the partitions of a key. */
export interface Advice {
  by: string
  documents: number
  sampled: number
  sampled_partitions: number
  estimated_partitions: number
  effective_partitions: number
  unfit: number
  unfit_examples: { id: string; reason: string }[]
  largest: { partition: string; documents: number; bytes: number; part: number }[]
  histogram: { from: number; to: number; partitions: number; part: number }[]
  warnings: { code: string; reason: string }[]
}

export const advice = (db: string, by: string, signal?: AbortSignal) => get<Advice>(at(db) + '/_partition_advice' + query({ by, sample: 3000 }), signal)

export const dropPartition = (db: string, partition: string, tombstones: boolean) =>
  ask('DELETE', `${at(db)}/_partition/${part(partition)}${query({ tombstones: tombstones || undefined })}`)

/** document returns a document's text, as it is stored. */
export async function document(db: string, id: string, q: Record<string, string | boolean | undefined>, signal?: AbortSignal): Promise<string> {
  return (await send(idPath(db, id) + query(q), { signal })).text()
}

/** Leaf is one of the revisions that a document ends in: its text, and the revisions that lead to it, itself first. */
export interface Leaf {
  rev: string
  deleted: boolean
  text: string
  path: string[]
}

/** leaves returns all leaves of a document, the winner first. */
export async function leaves(db: string, id: string, signal?: AbortSignal): Promise<Leaf[]> {
  const winner = JSON.parse(await document(db, id, { conflicts: true, deleted_conflicts: true }, signal)) as { _rev: string; _deleted?: boolean; _conflicts?: string[]; _deleted_conflicts?: string[] }
  const revs = [winner._rev, ...(winner._conflicts ?? []), ...(winner._deleted_conflicts ?? [])]
  return Promise.all(
    revs.map(async (rev) => {
      const of = members(await document(db, id, { rev, revs: true }, signal))
      const { start, ids } = JSON.parse(of.get('_revisions')!) as { start: number; ids: string[] }
      of.delete('_revisions')
      return { rev, deleted: of.get('_deleted') === 'true', text: objectOf(of), path: ids.map((hash, i) => `${start - i}-${hash}`) }
    }),
  )
}

/** Written is what the server says of a document that it stored. */
export interface Written {
  id: string
  rev: string
}

export const put = (db: string, id: string, text: string) => ask<Written>('PUT', idPath(db, id), text)

/** post stores a document under an id that the server makes, or that text names. */
export const post = (db: string, text: string) => ask<Written>('POST', at(db), text)

/** attach stores a file as an attachment of a document, under its own name. */
export const attach = (db: string, id: string, rev: string, file: File) =>
  send(`${idPath(db, id)}/${part(file.name)}${query({ rev })}`, { method: 'PUT', body: file, headers: { 'Content-Type': file.type || 'application/octet-stream' } })

export const detach = (db: string, id: string, rev: string, name: string) => ask<Written>('DELETE', `${idPath(db, id)}/${part(name)}${query({ rev })}`)

export const remove = (db: string, id: string, rev: string) => ask<Written>('DELETE', idPath(db, id) + query({ rev }))

/** Refused is a document that was not written, and why. */
export interface Refused {
  id: string
  error: string
  reason: string
}

/** removeAll deletes documents and returns those that can't be deleted: each for itself, or with atomic all or none. */
export async function removeAll(db: string, rows: Row[], atomic: boolean): Promise<Refused[]> {
  const docs = rows.map((r) => ({ _id: r.id, _rev: r.value.rev, _deleted: true }))
  const results = await ask<(Written | Refused)[]>('POST', at(db) + '/_bulk_docs', { docs, atomic: atomic || undefined }).catch((error: Error) => {
    const said = error instanceof ApiError ? (error.body as { results?: (Written | Refused)[] } | null)?.results : undefined
    if (!said) throw error
    return said
  })
  return results.filter((r): r is Refused => 'error' in r)
}

/** ofOnePartition reports whether documents of a partitioned database are all of one partition; design documents are of none. */
export function ofOnePartition(rows: Row[]): boolean {
  const partitions = new Set(rows.map((r) => (r.id.startsWith('_') ? '' : r.id.slice(0, r.id.indexOf(':')))))
  return partitions.size === 1 && !partitions.has('')
}

/** resolve makes text the only live leaf of a document, over the winner that it names, and deletes the other revisions. */
export async function resolve(db: string, id: string, text: string, others: string[]): Promise<void> {
  const tombstones = others.map((rev) => `{"_id":${JSON.stringify(id)},"_rev":${JSON.stringify(rev)},"_deleted":true}`)
  await ask('POST', at(db) + '/_bulk_docs', `{"docs":[${[text, ...tombstones].join(',')}]}`)
}

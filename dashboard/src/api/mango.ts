import { ask, at, get, part } from './http'

/** Fields of an index: names with the way they are ordered. */
export type Field = Record<string, 'asc' | 'desc'>

export interface Index {
  ddoc: string | null
  name: string
  type: string
  partitioned?: boolean
  def: { fields: (Field | string)[]; partial_filter_selector?: unknown }
}

/** Plan is one range of one access path that a query reads. */
export interface Plan {
  index: string
  direction: string
  covering: boolean
  ranges: string[]
  rows: number
  exact: boolean
}

export interface Explained {
  index: Index | null
  plan?: Plan[]
  covering?: boolean
  selector: unknown
  partitioned: string | boolean
  index_candidates?: { index: Index; analysis: { usable: boolean; reasons: { name: string }[]; ranking: number } }[]
}

export interface Stats {
  total_keys_examined: number
  total_docs_examined: number
  results_returned: number
  partitions: number
  bytes: number
  execution_time_ms: number
}

export interface Found {
  docs?: Record<string, unknown>[]
  groups?: { key: unknown[]; value: Record<string, unknown> }[]
  count?: number
  bookmark?: string
  warning?: string
  execution_stats?: Stats
}

const scope = (db: string, partition: string) => at(db) + (partition && `/_partition/${part(partition)}`)

export const find = (db: string, partition: string, request: unknown, signal?: AbortSignal) => ask<Found>('POST', scope(db, partition) + '/_find', request, signal)

export const explain = (db: string, partition: string, request: unknown, signal?: AbortSignal) => ask<Explained>('POST', scope(db, partition) + '/_explain', request, signal)

export const indexes = async (db: string, signal?: AbortSignal) => (await get<{ indexes: Index[] }>(at(db) + '/_index', signal)).indexes

export const createIndex = (db: string, definition: unknown) => ask<{ result: string; id: string; name: string }>('POST', at(db) + '/_index', definition)

export const deleteIndex = (db: string, i: Index) => ask('DELETE', `${at(db)}/_index/_design/${at((i.ddoc ?? '').replace(/^_design\//, ''), i.type, i.name)}`)

/** fieldNames are the names of an index's fields in order. */
export const fieldNames = (i: Index): string[] => i.def.fields.map((f) => (typeof f === 'string' ? f : Object.keys(f).join()))

const ranges = new Set(['$gt', '$gte', '$lt', '$lte', '$beginsWith', '$in', '$ne', '$exists', '$type'])

/** suggest returns the fields of an index that would serve a request: those with one value, then those that are sorted by,
 * then one with a range. It is undefined where no index of fields would help. */
export function suggest(request: { selector?: unknown; sort?: unknown }): Field[] | undefined {
  const equal: string[] = []
  const ranged: string[] = []
  const walk = (selector: unknown, path: string) => {
    for (const [name, condition] of Object.entries((selector ?? {}) as Record<string, unknown>)) {
      if (name === '$and') (condition as unknown[]).forEach((c) => walk(c, path))
      else if (name === '$eq') equal.push(path)
      else if (ranges.has(name)) ranged.push(path)
      else if (name.startsWith('$')) continue
      else if (condition !== null && typeof condition === 'object' && !Array.isArray(condition)) walk(condition, path + (path && '.') + name)
      else equal.push(path + (path && '.') + name)
    }
  }
  walk(request.selector, '')
  const sorts = (Array.isArray(request.sort) ? request.sort : []).map((s): Field => (typeof s === 'string' ? { [s]: 'asc' } : (s as Field)))
  const taken = new Set(sorts.flatMap((s) => Object.keys(s)))
  const fields = [...equal.filter((f) => !taken.has(f)).map((f): Field => ({ [f]: 'asc' })), ...sorts]
  const named = new Set(fields.flatMap((f) => Object.keys(f)))
  const range = ranged.find((f) => !named.has(f))
  if (range) fields.push({ [range]: 'asc' })
  const usable = fields.filter((f) => !Object.keys(f)[0]!.startsWith('_id'))
  return usable.length ? usable : undefined
}

/** serves reports whether an index begins with these fields in this order. */
export function serves(i: Index, fields: Field[]): boolean {
  const names = fieldNames(i)
  return i.type === 'json' && fields.every((f, n) => names[n] === Object.keys(f)[0])
}

import { at, get, part, query } from './http'

/** Definition is a function of a design document that can be asked: a view, a full-text index, a geo index. */
export interface Definition {
  ddoc: string
  kind: 'view' | 'search' | 'geo'
  name: string
  text: string
  reduces: boolean
  partitioned: boolean
}

interface Design {
  _id: string
  language?: string
  options?: { partitioned?: boolean }
  views?: Record<string, { map?: unknown; reduce?: string }>
  indexes?: Record<string, { index?: unknown; analyzer?: unknown }>
  st_indexes?: Record<string, { index?: unknown; field?: unknown }>
}

/** definitions returns what can be asked in a database. partitioned says whether the database is. */
export async function definitions(db: string, partitioned: boolean, signal?: AbortSignal): Promise<Definition[]> {
  const { rows } = await get<{ rows: { doc: Design }[] }>(at(db) + '/_design_docs?include_docs=true', signal)
  return rows.flatMap(({ doc }) => {
    if (doc.language === 'query') return []
    const of = (kind: Definition['kind'], all: Record<string, object> | undefined) =>
      Object.entries(all ?? {}).map(([name, d]) => ({
        ddoc: doc._id.replace('_design/', ''),
        kind,
        name,
        text: Object.entries(d)
          .map(([k, v]) => `// ${k}\n${typeof v === 'string' ? v : JSON.stringify(v, null, 2)}`)
          .join('\n\n'),
        reduces: 'reduce' in d && !!d.reduce,
        partitioned: partitioned && doc.options?.partitioned !== false,
      }))
    return [...of('view', doc.views), ...of('search', doc.indexes), ...of('geo', doc.st_indexes)].filter((d) => !(d.kind === 'view' && d.name === 'lib'))
  })
}

const paths = { view: '_view', search: '_search', geo: '_geo' }

/** address is where a function is asked. */
export const address = (db: string, d: Definition, partition: string) =>
  `${at(db)}${d.partitioned ? `/_partition/${part(partition)}` : ''}/_design/${part(d.ddoc)}/${paths[d.kind]}/${part(d.name)}`

export interface ViewRow {
  id?: string
  key: unknown
  value: unknown
}

export const view = (db: string, d: Definition, partition: string, q: Record<string, string | number | boolean | undefined>, signal?: AbortSignal) =>
  get<{ total_rows?: number; offset?: number; rows: ViewRow[] }>(address(db, d, partition) + query(q), signal)

export interface SearchRow {
  id: string
  order: unknown[]
  fields: Record<string, unknown>
  highlights?: Record<string, string[]>
}

export interface Searched {
  total_rows: number
  bookmark: string
  rows: SearchRow[]
  counts?: Record<string, Record<string, number>>
}

export const search = (db: string, d: Definition, partition: string, q: Record<string, string | number | undefined>, signal?: AbortSignal) =>
  get<Searched>(address(db, d, partition) + query(q), signal)

export interface GeoRow {
  id: string
  geometry: { type: string; coordinates: unknown }
}

export const geo = (db: string, d: Definition, partition: string, q: Record<string, string | number | undefined>, signal?: AbortSignal) =>
  get<{ bookmark: string; rows: GeoRow[] }>(address(db, d, partition) + query(q), signal)

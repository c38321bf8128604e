import { ask, at, get, send } from './http'

/** Expiry says which documents expire, and how far the server is with looking at them. */
export interface Expiry {
  field?: string | null
  ttl_field?: string | null
  ttl?: number | null
  ready?: boolean
  unreadable?: number
  examples?: string[]
}

export const expiry = (db: string, signal?: AbortSignal) => get<Expiry>(at(db) + '/_expiry', signal)

export const setExpiry = (db: string, e: Expiry | undefined) => (e ? ask('PUT', at(db) + '/_expiry', e) : send(at(db) + '/_expiry', { method: 'DELETE' }))

/** AutoPurge says after which time deletion markers are dropped. */
export interface AutoPurge {
  deleted_document_ttl?: string | number | null
}

export const autoPurge = (db: string, signal?: AbortSignal) => get<AutoPurge>(at(db) + '/_auto_purge', signal)

export const setAutoPurge = (db: string, a: AutoPurge) => ask('PUT', at(db) + '/_auto_purge', a)

export const revsLimit = (db: string, signal?: AbortSignal) => get<number>(at(db) + '/_revs_limit', signal)

export const setRevsLimit = (db: string, limit: number) => ask('PUT', at(db) + '/_revs_limit', limit)

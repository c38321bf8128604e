import { ask, at, get, part } from './http'

/** Subscription sends changes to a URL. */
export interface Subscription {
  id: string
  url: string
  paused?: boolean
  include_docs?: boolean
  selector?: unknown
  state: {
    status: string
    reason?: string
    pending: number
    delivered: number
    dead: number
    attempts: number
    last_error?: string
    last_success?: string
    retry_at?: string
  }
  [other: string]: unknown
}

export interface DeadLetter {
  entry: number
  reason: string
  attempts: number
  dead_lettered_at: string
  changes: { id: string }[]
}

const below = (db: string, ...parts: string[]) => [at(db), '_subscriptions', ...parts.map(part)].join('/')

export const subscriptions = async (db: string, signal?: AbortSignal) => (await get<{ subscriptions: Subscription[] }>(below(db), signal)).subscriptions

export const subscribe = (db: string, s: unknown) => ask('POST', below(db), s)

/** change replaces a subscription. The secret, which is not shown, stays. */
export const change = (db: string, s: Subscription, to: object) => {
  const { id, state, ...rest } = s
  void state
  return ask('PUT', below(db, id), { ...rest, ...to })
}

export const unsubscribe = (db: string, id: string) => ask('DELETE', below(db, id))

export const deadLetters = async (db: string, id: string, signal?: AbortSignal) => (await get<{ rows: DeadLetter[] }>(below(db, id, '_dead'), signal)).rows

export const retry = (db: string, id: string) => ask('POST', below(db, id, '_retry'), {})

export const forget = (db: string, id: string) => ask('DELETE', below(db, id, '_dead'))

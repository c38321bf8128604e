import { get, part, query } from './http'

/** Task is work that runs: an index build, a replication, a drop. */
export interface Task {
  type: string
  node: string
  pid: string
  database?: string
  design_document?: string
  progress?: number
  started_on: number
  updated_on: number
  [member: string]: unknown
}

export const tasks = (signal?: AbortSignal) => get<Task[]>('_active_tasks', signal)

/** Replication is a replication that a document asks for. */
export interface Replication {
  database: string
  doc_id: string
  id: string | null
  source: string
  target: string
  state: string
  error_count: number
  last_updated: string
  info: { error?: string; docs_read?: number; docs_written?: number; doc_write_failures?: number; changes_pending?: number | null } | null
}

export const replications = async (signal?: AbortSignal) => (await get<{ docs: Replication[] }>('_scheduler/docs?limit=100', signal)).docs

/** Failure is a revision that could not be replicated. */
export interface Failed {
  id: string
  rev: string
  side: string
  status: number
  error: string
  reason: string
  time: string
}

export const failures = async (r: Replication, signal?: AbortSignal) =>
  (await get<{ failures: Failed[] }>(`_scheduler/docs/${part(r.database)}/${part(r.doc_id)}/failures`, signal)).failures

/** Act is what an administrator did, or tried to. */
export interface Act {
  time: string
  user: string
  peer: string
  method: string
  route: string
  database?: string
  object?: string
  status: number
}

/** acts reads those of a server, the newest, or those before a page. */
export const acts = (node: string, before: string, signal?: AbortSignal) =>
  get<{ acts: Act[]; bookmark?: string }>(`_node/${part(node)}/_audit${query({ limit: 50, bookmark: before || undefined })}`, signal)

/** nodes are the names of the servers of the store. */
export const nodes = async (signal?: AbortSignal) => (await get<{ all_nodes: string[] }>('_membership', signal)).all_nodes

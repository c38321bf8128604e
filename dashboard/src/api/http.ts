// Requests to the server that the dashboard came from.

/** Unreachable says that there was no answer. */
export class Unreachable extends Error {
  constructor() {
    super("The server can't be reached: it has stopped, or the network has.")
  }
}

/** root is the server's address, with a slash at its end: the dashboard lies at `_utils/` below it. */
export const root = new URL('..', new URL(location.pathname, location.origin))

/** ApiError is a refusal in the API's form: a status, an error's name, a reason for people. */
export class ApiError extends Error {
  constructor(
    readonly status: number,
    readonly error: string,
    readonly reason: string,
    readonly body: unknown,
  ) {
    super(reason || error)
  }
}

export type Json = null | boolean | number | string | Json[] | { [name: string]: Json }

export interface Asked {
  method?: string
  /** body is sent as JSON, a string as it is: digits beyond 2^53 stay what they are. */
  body?: unknown
  headers?: Record<string, string>
  signal?: AbortSignal
}

/** asking is what goes with each request: as whom an administrator looks, who sees all otherwise. */
export const asking: { as?: string } = {}

/** onUnauthorized is told when the server says that nobody is logged in. */
export const listeners: { unauthorized: () => void } = { unauthorized: () => {} }

/** send asks and returns the answer, whatever it is but a refusal. */
export async function send(path: string, asked: Asked = {}): Promise<Response> {
  const headers: Record<string, string> = { Accept: 'application/json', ...asked.headers }
  if (asking.as) headers['X-Sectional-As'] = encodeURIComponent(asking.as)
  let body: BodyInit | undefined
  if (asked.body instanceof Blob) {
    body = asked.body
  } else if (asked.body !== undefined) {
    headers['Content-Type'] ??= 'application/json'
    body = typeof asked.body === 'string' ? asked.body : JSON.stringify(asked.body)
  }
  const answer = await fetched(new URL(path, root), {
    method: asked.method ?? 'GET',
    headers,
    body,
    signal: asked.signal,
    credentials: 'same-origin',
    cache: 'no-store',
  })
  if (answer.ok) return answer
  const refusal = await refusalOf(answer)
  if (answer.status === 401 && !path.startsWith('_session')) listeners.unauthorized()
  throw refusal
}

/** fetched is fetch, whose errors differ from browser to browser. */
async function fetched(address: URL, init: RequestInit): Promise<Response> {
  try {
    return await fetch(address, init)
  } catch (error) {
    throw init.signal?.aborted ? error : new Unreachable()
  }
}

async function refusalOf(answer: Response): Promise<ApiError> {
  const text = await answer.text()
  try {
    const said = JSON.parse(text)
    const name = said.error ?? said.__type?.replace(/^.*#/, '') ?? answer.statusText // the latter is DynamoDB's
    return new ApiError(answer.status, String(name), String(said.reason ?? said.message ?? said.Message ?? ''), said)
  } catch {
    return new ApiError(answer.status, answer.statusText, text.slice(0, 500), null)
  }
}

/** get asks for JSON. */
export async function get<T>(path: string, signal?: AbortSignal): Promise<T> {
  return (await send(path, { signal })).json() as Promise<T>
}

/** ask sends a body and returns JSON. */
export async function ask<T>(method: string, path: string, body?: unknown, signal?: AbortSignal): Promise<T> {
  return (await send(path, { method, body, signal })).json() as Promise<T>
}

/** part escapes a part of a path. Browsers take one of dots alone for a step in the path, however it is escaped:
 * deleting the partition `..` would delete the database. So it is an error. */
export function part(text: string): string {
  if (text === '.' || text === '..') throw new ApiError(400, 'bad_request', `Browsers can't ask for what is named "${text}"; use another client.`, null)
  return encodeURIComponent(text)
}

/** at joins the parts of a path, each escaped. */
export function at(...parts: string[]): string {
  return parts.map(part).join('/')
}

/** idPath is where a document lies: the slash after `_design` and `_local` is none of the id. */
export function idPath(db: string, id: string): string {
  const m = /^(_design|_local)\/(.*)$/s.exec(id)
  return m ? `${at(db)}/${m[1]}/${part(m[2]!)}` : at(db, id)
}

/** query makes the part of an address after the question mark; what is undefined is left out. Values that are not
 * strings are written as JSON, which is what parameters of lists take. */
export function query(parameters: Record<string, string | number | boolean | undefined>): string {
  const q = new URLSearchParams()
  for (const [name, value] of Object.entries(parameters)) {
    if (value !== undefined) q.set(name, String(value))
  }
  const text = q.toString()
  return text && '?' + text
}

/** lines calls each with the objects of an answer that has one on each line and may never end, until the signal. */
export async function lines(path: string, asked: Asked, each: (line: unknown) => void): Promise<void> {
  const answer = await send(path, asked)
  const reader = answer.body!.pipeThrough(new TextDecoderStream()).getReader()
  let rest = ''
  for (;;) {
    const { done, value } = await reader.read()
    if (done) return
    const parts = (rest + value).split('\n')
    rest = parts.pop()!
    for (const part of parts) {
      if (part.trim()) each(JSON.parse(part))
    }
  }
}

import { signal } from '@preact/signals'
import { hasUnsaved } from '../route'
import { ask, ApiError, asking, get, listeners, send } from './http'

/** User is who is logged in; name is null for nobody. */
export interface User {
  name: string | null
  roles: string[]
}

interface SessionAnswer {
  userCtx: User
}

/** Server is what the server says of itself to everybody. */
export interface Server {
  version: string
  uuid?: string
  vendor: { name: string; version?: string }
  features?: string[]
}

/** user is who is logged in, undefined until the server has told. */
export const user = signal<User | undefined>(undefined)
export const server = signal<Server | undefined>(undefined)

/** isAdmin reports whether the user is an administrator of the server. */
export const isAdmin = () => user.value?.roles.includes('_admin') ?? false

/** seenAs is as whom an administrator looks at everything, undefined for as himself. A window keeps it until it is closed. */
export const seenAs = signal<string | undefined>(sessionStorage.getItem('as') ?? undefined)
asking.as = seenAs.value

function as(name: string | undefined): void {
  asking.as = seenAs.value = name
  if (name === undefined) sessionStorage.removeItem('as')
  else sessionStorage.setItem('as', name)
}

/** seeAs has an administrator see what a user sees, or, with undefined, what he sees himself. */
export async function seeAs(name: string | undefined): Promise<void> {
  as(name)
  await learn()
}

listeners.unauthorized = () => {
  void learn().catch(() => {})
}

/** ended says that the user's session has ended while there is unsaved text: the page stays, and asks for the password. */
export const ended = signal(false)

/** forget has nobody be logged in. */
export function forget(): void {
  ended.value = false
  user.value = { name: null, roles: [] }
}

/** learn asks who is logged in. */
export async function learn(): Promise<void> {
  const answer = await session()
  ended.value = answer.userCtx.name === null && user.value?.name != null && hasUnsaved()
  if (ended.value) return
  const same = user.value && user.value.name === answer.userCtx.name && String(user.value.roles) === String(answer.userCtx.roles)
  if (!same) user.value = answer.userCtx
}

/** session asks as whom one looks, as oneself if that user is gone or one administers the server no more. */
async function session(): Promise<SessionAnswer> {
  try {
    return await get<SessionAnswer>('_session')
  } catch (error) {
    if (seenAs.value === undefined || !(error instanceof ApiError) || error.status >= 500) throw error
    as(undefined)
    return get<SessionAnswer>('_session')
  }
}

/** learnServer asks what server this is. */
export async function learnServer(): Promise<void> {
  server.value = await get<Server>('')
}

/** logIn gets a cookie for name and password. */
export async function logIn(name: string, password: string): Promise<void> {
  as(undefined)
  await ask('POST', '_session', { name, password })
  await learn()
}

/** logOut drops the cookie. */
export async function logOut(): Promise<void> {
  as(undefined)
  await send('_session', { method: 'DELETE' })
  forget()
}

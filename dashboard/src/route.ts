import { signal } from '@preact/signals'

// The address after the # says what is shown, so that every page has an address of its own, reload and back work, and
// the server needs no rule for them: `#/db/orders/doc/o1%3Aa?rev=2-…`.

export interface Route {
  parts: string[]
  query: URLSearchParams
}

/** parse takes an address after the # apart. */
export function parse(hash: string): Route {
  const [path = '', query = ''] = hash.replace(/^#?\/?/, '').split('?', 2)
  return { parts: path.split('/').filter(Boolean).map(decode), query: new URLSearchParams(query) }
}

function decode(part: string): string {
  try {
    return decodeURIComponent(part)
  } catch {
    return part
  }
}

/** href is the address of a page, for links. */
export function href(parts: string[], query: Record<string, string | undefined> = {}): string {
  const q = new URLSearchParams()
  for (const [name, value] of Object.entries(query)) {
    if (value !== undefined && value !== '') q.set(name, value)
  }
  const text = q.toString()
  return '#/' + parts.map(encodeURIComponent).join('/') + (text && '?' + text)
}

export const route = signal(parse(location.hash))

// Entries of the browser's history are numbered in their state, so that a step can be taken back whichever way it went.
const numbered = (): number | undefined => (history.state as { n?: number } | null)?.n
if (numbered() === undefined) history.replaceState({ n: 0 }, '')
let here = numbered()!
let settled = false // the step that comes was decided on, or takes one back
let mayLeave: (() => boolean) | undefined

/** guard has ask decide whether the page may be left for another one, by a link or by the browser's Back. */
export function guard(ask: (() => boolean) | undefined): void {
  mayLeave = ask
}

addEventListener('hashchange', () => {
  const to = numbered() ?? here + 1
  if (!settled && mayLeave && !mayLeave()) {
    settled = true
    history.go(here - to)
    return
  }
  settled = false
  if (numbered() === undefined) history.replaceState({ n: to }, '')
  if (to === here) return // a step was taken back
  here = to
  route.value = parse(location.hash)
})

/** go shows a page, whatever the one before has. */
export function go(parts: string[], query: Record<string, string | undefined> = {}): void {
  const to = href(parts, query)
  if (to === location.hash) return
  settled = true
  location.hash = to
}

/** refine changes what a page shows without a new entry in the browser's history. */
export function refine(query: Record<string, string | undefined>): void {
  const all: Record<string, string | undefined> = Object.fromEntries(route.value.query)
  history.replaceState(history.state, '', href(route.value.parts, { ...all, ...query }))
  route.value = parse(location.hash)
}

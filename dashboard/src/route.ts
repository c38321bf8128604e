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

addEventListener('hashchange', () => {
  route.value = parse(location.hash)
})

/** go shows a page. */
export function go(parts: string[], query: Record<string, string | undefined> = {}): void {
  location.hash = href(parts, query)
}

/** refine changes what a page shows without a new entry in the browser's history. */
export function refine(query: Record<string, string | undefined>): void {
  const all: Record<string, string | undefined> = Object.fromEntries(route.value.query)
  history.replaceState(null, '', href(route.value.parts, { ...all, ...query }))
  route.value = parse(location.hash)
}

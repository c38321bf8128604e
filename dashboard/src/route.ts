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

// The browser says that somebody went back or forward when it has done so. Each entry of its history has a number, so that
// one who leaves text that is not saved can be taken to where that is, and be asked there.
let shown = numberOf() ?? 0
let address = location.hash
history.replaceState({ at: shown }, '')

function numberOf(): number | undefined {
  return (history.state as { at?: number } | null)?.at
}

/** unsaved is what was typed and is not saved: each editor with such text has an entry. */
const unsaved = new Set<object>()

/** holdUnsaved asks before another page is shown, or the browser's tab is closed, until what it returns is called. */
export function holdUnsaved(): () => void {
  const held = {}
  unsaved.add(held)
  return () => void unsaved.delete(held)
}

/** hasUnsaved reports whether there is such text. */
export const hasUnsaved = () => unsaved.size > 0

/** leaving is what shall happen once it is confirmed that unsaved text may be lost, undefined if nothing is asked. */
export const leaving = signal<(() => void) | undefined>(undefined)

/** leave does something by which unsaved text would be lost, after a question if there is any. */
export function leave(then: () => void): void {
  if (unsaved.size === 0) then()
  else leaving.value = then
}

function show(at: number): void {
  shown = at
  address = location.hash
  route.value = parse(address)
}

// A link to what is shown takes the number from its entry; two entries of one address differ by their number alone.
addEventListener('popstate', () => {
  if (location.hash !== address) return
  shown = numberOf() ?? shown
  history.replaceState({ at: shown }, '')
})

addEventListener('hashchange', () => {
  const at = numberOf() ?? shown + 1
  if (numberOf() === undefined) history.replaceState({ at }, '')
  if (location.hash === address) return void (shown = at)
  const steps = at - shown
  if (unsaved.size === 0 || steps === 0) return show(at)
  history.go(-steps)
  leave(() => {
    unsaved.clear()
    history.go(steps)
  })
})

addEventListener('beforeunload', (e) => {
  if (unsaved.size > 0) e.preventDefault()
})

// Links are asked about before they are followed, which keeps the entries that one could go forward to.
document.addEventListener(
  'click',
  (e) => {
    const link = (e.target as Element).closest<HTMLAnchorElement>('a[href^="#"]')
    if (unsaved.size === 0 || !link || e.button !== 0 || e.ctrlKey || e.metaKey || e.shiftKey) return
    e.preventDefault()
    e.stopPropagation()
    leave(() => {
      unsaved.clear()
      location.hash = link.hash
    })
  },
  true,
)

/** go shows a page. Whoever calls it has saved what was typed, or was told to leave it. */
export function go(parts: string[], query: Record<string, string | undefined> = {}): void {
  const to = href(parts, query)
  if (to === location.hash) return
  unsaved.clear()
  history.pushState({ at: shown + 1 }, '', to)
  show(shown + 1)
}

/** refine changes what a page shows without a new entry in the browser's history. */
export function refine(query: Record<string, string | undefined>): void {
  const all: Record<string, string | undefined> = Object.fromEntries(route.value.query)
  history.replaceState(history.state, '', href(route.value.parts, { ...all, ...query }))
  show(shown)
}

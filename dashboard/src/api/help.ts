import { get } from './http'
import { anchors } from '../ui/markdown'

// The documentation, which the server has in one file.

/** Pages are Markdown by the pages' names, such as guides/start.md. */
export type Pages = Record<string, string>

let loaded: Promise<Pages> | undefined

/** pages asks for the documentation, once. */
export function pages(): Promise<Pages> {
  loaded ??= get<Pages>('_utils/help.json').catch((error: Error) => {
    loaded = undefined
    throw error
  })
  return loaded
}

/** Found is a part of a page, below one heading, in which all words of a search are. */
export interface Found {
  page: string
  title: string
  heading: string
  anchor?: string
  text: string
  worth: number
}

/** search returns the parts of pages that have all words of a query, the best first: those with words in their headings. */
export function search(all: Pages, query: string): Found[] {
  const words = query.toLowerCase().split(/\s+/).filter(Boolean)
  if (words.length === 0) return []
  const found = Object.entries(all).flatMap(([page, text]) => parts(page, text))
  for (const f of found) {
    for (const word of words) {
      const heading = f.heading.toLowerCase().includes(word)
      const title = f.title.toLowerCase().includes(word)
      const times = f.text.toLowerCase().split(word).length - 1
      if (!heading && !title && times === 0) f.worth = -Infinity
      f.worth += (heading ? 20 : 0) + (title ? 10 : 0) + Math.min(times, 5)
    }
    if (f.page.startsWith('guides/')) f.worth += 3 // before references, which have every word
  }
  return found.filter((f) => f.worth > 0).sort((a, b) => b.worth - a.worth)
}

/** parts are what is below each heading of a page. */
function parts(page: string, text: string): Found[] {
  const all: Found[] = []
  const name = anchors()
  let fenced = false
  let title = page
  for (const line of text.split('\n')) {
    if (line.trimStart().startsWith('```')) fenced = !fenced
    const heading = fenced ? null : /^#{1,6} (.*)$/.exec(line)
    if (heading) {
      if (all.length === 0) title = heading[1]!
      const anchor = name(heading[1]!)
      all.push({ page, title, heading: heading[1]!, anchor: all.length === 0 ? undefined : anchor, text: '', worth: 0 })
    } else if (all.length > 0 && !/^\s*(<!--|```)/.test(line)) {
      all[all.length - 1]!.text += line + '\n'
    }
  }
  return all
}

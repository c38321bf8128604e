import { useEffect } from 'preact/hooks'
import { pages, search, type Found, type Pages } from '../api/help'
import { href, refine, route } from '../route'
import { count } from '../ui/format'
import { useLoad } from '../ui/load'
import { here, Line, Markdown } from '../ui/markdown'
import { Head, Show, Text } from '../ui/pieces'

const contents = 'README.md'
const most = 30

const hrefOf = (page: string, at?: string) => href(page === contents ? ['help'] : ['help', ...page.split('/')], { at })

/** leadsFrom is where the links of a page lead: to other pages here, and to other servers. */
function leadsFrom(page: string, all: Pages) {
  return (link: string) => {
    if (/^https?:/.test(link)) return here(link)
    const to = new URL(link, `http://docs/docs/${page}`)
    const name = to.pathname.replace(/^\/docs\//, '')
    return name in all ? hrefOf(name, decodeURIComponent(to.hash.slice(1)) || undefined) : undefined
  }
}

/** Help is the documentation: a page of it, and a search in all. */
export default function Help({ path }: { path: string }) {
  const all = useLoad(pages, [])
  const page = path || contents
  return <Show of={all}>{(of) => <Page page={page} all={of} />}</Show>
}

function Page({ page, all }: { page: string; all: Pages }) {
  const query = route.value.query.get('q') ?? ''
  const at = route.value.query.get('at')
  const text = all[page]
  useEffect(() => {
    if (query) return // somebody types
    const place = at ? document.getElementById(at) : document.querySelector<HTMLElement>('main h1')
    place?.focus({ preventScroll: true })
    if (at) place?.scrollIntoView()
    else scrollTo(0, 0)
  }, [page, at])
  if (text === undefined) return <Head title="There is no such page" crumbs={<a href={hrefOf(contents)}>Help</a>} />
  const title = page === contents ? 'Help' : (/^# (.*)$/m.exec(text)?.[1] ?? page)
  const leads = leadsFrom(page, all)
  const ask = (q: string) => refine({ q, at: undefined })
  return (
    <>
      <Head title={<Line text={title} leads={leads} />} crumbs={page !== contents && <a href={hrefOf(contents)}>Help</a>} />
      <div role="search">
        <Text label="Search the documentation" type="search" value={query} onChange={ask} />
      </div>
      {query.trim() ? <Results all={all} query={query} /> : <article class="manual"><Markdown text={text} leads={leads} /></article>}
    </>
  )
}

function Results({ all, query }: { all: Pages; query: string }) {
  const found = search(all, query)
  return (
    <>
      <p class="dim" aria-live="polite">
        {found.length === 0 ? 'Nothing has all of these words.' : `${count(found.length)} places${found.length > most ? `, the first ${most}` : ''}`}
      </p>
      <ul class="results">
        {found.slice(0, most).map((f) => (
          <li key={f.page + f.anchor}>
            <a href={hrefOf(f.page, f.anchor)}>
              <Line text={plain(f.heading)} leads={() => undefined} />
            </a>{' '}
            {f.heading !== f.title && <span class="dim">{plain(f.title)}</span>}
            <Around found={f} query={query} />
          </li>
        ))}
      </ul>
    </>
  )
}

/** plain is a text without the signs of Markdown. */
const plain = (text: string) => text.replace(/\[([^\]]*)\]\([^)]*\)/g, '$1').replace(/[`*|]+|-{3,}/g, ' ').replace(/\s+/g, ' ').trim()

/** Around is what stands around the first of the words. */
function Around({ found, query }: { found: Found; query: string }) {
  const text = plain(found.text)
  const words = query.toLowerCase().split(/\s+/).filter(Boolean)
  const first = Math.min(...words.map((w) => text.toLowerCase().indexOf(w)).filter((i) => i >= 0))
  if (!isFinite(first)) return <p class="dim">{text.slice(0, 160)}</p>
  const from = Math.max(0, first - 60)
  const around = text.slice(from, first + 140)
  const pattern = new RegExp(`(${words.map((w) => w.replace(/[.*+?^${}()|[\]\\]/g, '\\$&')).join('|')})`, 'i')
  return (
    <p class="dim">
      {from > 0 && '… '}
      {around.split(pattern).map((piece, i) => (i % 2 ? <mark key={i}>{piece}</mark> : piece))}
      {first + 140 < text.length && ' …'}
    </p>
  )
}

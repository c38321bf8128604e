import type { ComponentChildren } from 'preact'
import { useRef, useState } from 'preact/hooks'
import { root } from '../api/http'

// Markdown as the documentation is written: headings, paragraphs, lists, tables, blocks of code; and in lines code,
// strong, emphasis and links. Comments are for the tests of the pages, and left out.

export type Block =
  | { kind: 'heading'; level: number; text: string }
  | { kind: 'text'; text: string }
  | { kind: 'code'; text: string; prints: boolean }
  | { kind: 'list'; ordered: boolean; items: Block[][] }
  | { kind: 'table'; head: string[]; rows: string[][] }

const item = /^(\d+\.|[*-]) +/
const begins = (line: string) => /^(#{1,6} |\||\s*```|\s*<!--)/.test(line) || item.test(line)

/** blocks takes a text apart. */
export function blocks(text: string): Block[] {
  const lines = text.split('\n')
  const all: Block[] = []
  let i = 0
  const until = (ends: (line: string) => boolean) => {
    const from = i
    while (i < lines.length && !ends(lines[i]!)) i++
    return lines.slice(from, i)
  }
  while (i < lines.length) {
    const line = lines[i]!
    const heading = /^(#{1,6}) (.*)$/.exec(line)
    const fence = /^( *)```(\w*)/.exec(line)
    if (line.trim() === '') {
      i++
    } else if (/^\s*<!--/.test(line)) {
      until((l) => l.includes('-->'))
      i++
    } else if (heading) {
      all.push({ kind: 'heading', level: heading[1]!.length, text: heading[2]! })
      i++
    } else if (fence) {
      i++
      const inner = until((l) => l.trim() === '```')
      i++
      // What a command prints stands right after it.
      const prints = fence[2] === 'json' || (fence[2] === 'text' && all[all.length - 1]?.kind === 'code')
      all.push({ kind: 'code', prints, text: inner.map((l) => (l.startsWith(fence[1]!) ? l.slice(fence[1]!.length) : l)).join('\n') })
    } else if (line.startsWith('|')) {
      const [head, , ...rows] = until((l) => !l.startsWith('|')).map(cells)
      all.push({ kind: 'table', head: head!, rows })
    } else if (item.test(line)) {
      const ordered = /^\d/.test(line)
      const items: Block[][] = []
      while (i < lines.length && item.test(lines[i]!)) {
        const marker = item.exec(lines[i]!)![0]
        const own = [lines[i++]!.slice(marker.length)]
        // What belongs to the item: what is indented, also after an empty line, and the rest of its paragraph.
        while (i < lines.length) {
          const next = lines[i]!
          const indented = /^\s+\S/.test(next)
          if (next.trim() === '' ? !/^\s+\S/.test(lines[i + 1] ?? '') : !indented && begins(next)) break
          own.push(indented ? next.replace(new RegExp(`^ {0,${marker.length}}`), '') : next)
          i++
        }
        items.push(blocks(own.join('\n')))
        if (lines[i]?.trim() === '' && item.test(lines[i + 1] ?? '')) i++
      }
      all.push({ kind: 'list', ordered, items })
    } else {
      i++
      all.push({ kind: 'text', text: [line, ...until((l) => l.trim() === '' || begins(l))].join('\n') })
    }
  }
  return all
}

/** cells are those of a row of a table, in which `\|` is no border. */
function cells(row: string): string[] {
  const inner = row.trim().replace(/^\|/, '').replace(/(?<!\\)\|$/, '')
  return inner.split(/(?<!\\)\|/).map((c) => c.trim().replaceAll('\\|', '|'))
}

/** anchors names the places of a page by their headings, in turn, as links name them. */
export function anchors(): (heading: string) => string {
  const taken = new Map<string, number>()
  return (heading) => {
    const text = heading.replace(/\[([^\]]*)\]\([^)]*\)/g, '$1').toLowerCase()
    const name = text.replace(/[^\p{L}\p{N}_ -]/gu, '').replaceAll(' ', '-')
    const before = taken.get(name) ?? 0
    taken.set(name, before + 1)
    return before === 0 ? name : `${name}-${before}`
  }
}

/** Leads says where a link of a page leads, and nothing where it leads nowhere from here. */
export type Leads = (link: string) => string | undefined

const inlines = /(`+)(.+?)\1(?!`)|\*\*(.+?)\*\*|\*([^\s*](?:[^*]*[^\s*])?)\*|\[((?:`[^`]*`|[^[\]])*)\]\(([^)\s]+)\)|<(https?:[^>]+)>/gs

/** Line is text with its code, emphasis and links. */
export function Line({ text, leads }: { text: string; leads: Leads }) {
  const all: ComponentChildren[] = []
  let from = 0
  for (const m of text.matchAll(inlines)) {
    const [whole, , code, strong, emphasis, label, link, address] = m
    all.push(text.slice(from, m.index))
    from = m.index + whole.length
    if (code !== undefined) all.push(<code>{code.replace(/^ (.+) $/s, '$1')}</code>)
    else if (strong !== undefined) all.push(<strong><Line text={strong} leads={leads} /></strong>)
    else if (emphasis !== undefined) all.push(<em>{emphasis}</em>)
    else all.push(<Link to={(link ?? address)!} leads={leads}>{label === undefined ? here(address!) : <Line text={label} leads={leads} />}</Link>)
  }
  all.push(text.slice(from))
  return <>{all}</>
}

function Link({ to, leads, children }: { to: string; leads: Leads; children: ComponentChildren }) {
  const href = leads(to)
  if (href === undefined) return <span title={`In the repository: ${to}`}>{children}</span>
  return href.startsWith('#') ? <a href={href}>{children}</a> : <a href={href} rel="noreferrer" target="_blank">{children}</a>
}

/** Markdown is a text with its headings below the page's own. */
export function Markdown({ text, leads }: { text: string; leads: Leads }) {
  return <Blocks of={blocks(text)} leads={leads} name={anchors()} />
}

function Blocks({ of, leads, name }: { of: Block[]; leads: Leads; name: (heading: string) => string }) {
  let below = ''
  return (
    <>
      {of.map((b, i) => {
        switch (b.kind) {
          case 'heading': {
            below = b.text
            const H = `h${b.level}` as 'h2'
            const id = name(b.text)
            return b.level === 1 ? null : <H key={i} id={id} tabIndex={-1}><Line text={b.text} leads={leads} /></H>
          }
          case 'text':
            return <p key={i}><Line text={b.text} leads={leads} /></p>
          case 'code':
            return <Code key={i} text={b.text} prints={b.prints} />
          case 'list': {
            const L = b.ordered ? 'ol' : 'ul'
            return <L key={i}>{b.items.map((own, n) => <li key={n}><Blocks of={own} leads={leads} name={name} /></li>)}</L>
          }
          case 'table':
            return <Rows key={i} label={`${below}, table ${i}`} head={b.head} rows={b.rows} leads={leads} />
        }
      })}
    </>
  )
}

function Rows({ label, head, rows, leads }: { label: string; head: string[]; rows: string[][]; leads: Leads }) {
  return (
    <div class="scroll" tabIndex={0} role="region" aria-label={label}>
      <table>
        {head.some(Boolean) && (
          <thead>
            <tr>{head.map((c, i) => (c ? <th key={i} scope="col"><Line text={c} leads={leads} /></th> : <td key={i} />))}</tr>
          </thead>
        )}
        <tbody>
          {rows.map((r, i) => <tr key={i}>{r.map((c, n) => <td key={n}><Line text={c} leads={leads} /></td>)}</tr>)}
        </tbody>
      </table>
    </div>
  )
}

/** here puts this server's address where the documentation has that of a server just started. */
export const here = (text: string) =>
  text.replace(/http:\/\/((?:\w+:\w+@)?)127\.0\.0\.1:5984/g, (_, who: string) => `${root.protocol}//${who}${root.host}${root.pathname.replace(/\/$/, '')}`)

/** Code is a block of it, which can be copied unless it is what a command prints. */
function Code({ text, prints }: { text: string; prints: boolean }) {
  const [copied, setCopied] = useState(false)
  const pre = useRef<HTMLPreElement>(null)
  const copy = async () => {
    if (navigator.clipboard) {
      await navigator.clipboard.writeText(here(text))
    } else {
      getSelection()?.selectAllChildren(pre.current!) // without TLS browsers have no clipboard but at their own machine
      document.execCommand('copy')
    }
    setCopied(true)
    setTimeout(() => setCopied(false), 2000)
  }
  return (
    <div class="code">
      <pre ref={pre}>
        <code>{here(text)}</code>
      </pre>
      {!prints && <button class="quiet" onClick={() => void copy()}>{copied ? 'Copied' : 'Copy'}</button>}
    </div>
  )
}

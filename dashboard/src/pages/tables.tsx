import { useEffect, useState } from 'preact/hooks'
import { execute, keyOf, table, tables, written, type Index, type Item, type Page, type Table as TableInfo } from '../api/tables'
import { href, refine, route } from '../route'
import { bytes, count } from '../ui/format'
import { Editor } from '../ui/editor'
import { Found } from '../ui/found'
import { useAction, useLoad } from '../ui/load'
import { Facts, Failure, Head, Show, Table } from '../ui/pieces'

const perPage = 100

/** Tables are those of the DynamoDB API, with statements in PartiQL. With a name it is one of them. */
export function Tables({ name }: { name?: string }) {
  const crumbs = name === undefined ? undefined : <a href={href(['tables'])}>Tables</a>
  return (
    <>
      <Head title={name ?? 'Tables'} crumbs={crumbs} />
      {name === undefined ? <List /> : <One name={name} />}
      <Statement table={name} />
    </>
  )
}

function List() {
  const from = route.value.query.get('from') ?? undefined
  const loaded = useLoad((signal) => tables(from, perPage, signal), [from])
  return (
    <section class="card">
      <Show of={loaded}>
        {(l) => (
          <>
            <Table caption="Tables" columns={[{ name: 'Name' }]}>
              {l.TableNames.map((n) => (
                <tr key={n}>
                  <td class="id">
                    <a href={href(['tables', n])}>{n}</a>
                  </td>
                </tr>
              ))}
            </Table>
            {l.TableNames.length === 0 && <p class="empty">No tables yet. Create one by the DynamoDB API (CreateTable).</p>}
            {l.LastEvaluatedTableName && <a class="button" href={href(['tables'], { from: l.LastEvaluatedTableName })}>Next {perPage}</a>}
          </>
        )}
      </Show>
    </section>
  )
}

function One({ name }: { name: string }) {
  const loaded = useLoad((signal) => table(name, signal), [name])
  return <Show of={loaded}>{(t) => <About table={t} />}</Show>
}

function About({ table: t }: { table: TableInfo }) {
  const types = new Map(t.AttributeDefinitions.map((a) => [a.AttributeName, a.AttributeType]))
  const all: [string, Index][] = [...(t.LocalSecondaryIndexes ?? []).map((i): [string, Index] => ['local', i]), ...(t.GlobalSecondaryIndexes ?? []).map((i): [string, Index] => ['global', i])]
  return (
    <section class="card">
      <Facts
        of={[
          ['Key', t.KeySchema.map((k) => `${k.AttributeName} (${types.get(k.AttributeName)})`).join(', ')],
          ['Items', count(t.ItemCount)],
          ['Size', bytes(t.TableSizeBytes)],
          ['Status', t.TableStatus.toLowerCase()],
          ['Stream', t.StreamSpecification?.StreamEnabled ? (t.StreamSpecification.StreamViewType ?? 'on') : 'off'],
        ]}
      />
      {all.length > 0 && (
        <>
          <p />
          <Table caption="Secondary indexes" columns={[{ name: 'Index' }, { name: 'Kind' }, { name: 'Key' }, { name: 'Holds' }, { name: 'Status' }]}>
            {all.map(([kind, i]) => (
              <tr key={i.IndexName}>
                <td class="id">{i.IndexName}</td>
                <td>{kind}</td>
                <td>{keyOf(i)}</td>
                <td>{i.Projection.NonKeyAttributes?.join(', ') ?? i.Projection.ProjectionType.toLowerCase().replace('_', ' ')}</td>
                <td>{i.IndexStatus?.toLowerCase() ?? 'active'}</td>
              </tr>
            ))}
          </Table>
        </>
      )}
    </section>
  )
}

const quoted = (name: string) => `"${name.replaceAll('"', '""')}"`

/** Statement runs one, and shows what it found page by page. */
function Statement({ table }: { table?: string }) {
  const [text, setText] = useState(route.value.query.get('q') ?? `SELECT * FROM ${quoted(table ?? 'table')}`)
  const [page, setPage] = useState<Page>()
  const action = useAction()
  const run = (next?: string) =>
    action.run(async () => {
      const found = await execute(text, next)
      refine({ q: text })
      setPage(found)
    })
  useEffect(() => void (route.value.query.has('q') && /^\s*select\b/i.test(text) && run()), []) // nothing is written by an address
  return (
    <>
      <form class="card" onSubmit={(e) => (e.preventDefault(), void run())}>
        <h2>PartiQL</h2>
        <Editor label="The statement" value={text} onChange={setText} onSave={() => void run()} lines={4} language="partiql" />
        <p />
        <Failure error={action.error} />
        <button class="first" disabled={action.busy}>
          Run
        </button>
      </form>
      {page && <Items items={page.Items ?? []} />}
      {page?.NextToken && <button onClick={() => void run(page.NextToken)}>Next {perPage}</button>}
    </>
  )
}

function Items({ items }: { items: Item[] }) {
  const names = [...new Set(items.flatMap((i) => Object.keys(i)))].slice(0, 12)
  return <Found rows={items} names={names} cell={(item, n) => item[n] && written(item[n]).slice(0, 200)} raw="As DynamoDB JSON" none="No items." />
}

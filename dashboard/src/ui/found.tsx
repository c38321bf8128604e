import { useState } from 'preact/hooks'
import type { ComponentChildren } from 'preact'
import { Check, Table } from './pieces'

interface Rows<T> {
  rows: T[]
  /** names are those of the columns: the members that the first rows have. */
  names: string[]
  cell: (row: T, name: string) => ComponentChildren
  /** raw is what the box says that shows the rows as JSON; none what is said if there are none. */
  raw: string
  none: string
}

/** Found shows what a query found, as a table or as JSON. */
export function Found<T>({ rows, names, cell, raw, none }: Rows<T>) {
  const [asJSON, setAsJSON] = useState(false)
  return (
    <section class="card">
      <h2>Results</h2>
      <Check label={raw} value={asJSON} onChange={setAsJSON} />
      {rows.length === 0 && <p class="empty">{none}</p>}
      {asJSON && <pre>{JSON.stringify(rows, null, 2)}</pre>}
      {!asJSON && rows.length > 0 && (
        <Table caption="Results" columns={names.map((n) => ({ name: n }))}>
          {rows.map((row, i) => (
            <tr key={i}>
              {names.map((n) => (
                <td key={n} class={n === '_id' ? 'id' : undefined}>
                  {cell(row, n)}
                </td>
              ))}
            </tr>
          ))}
        </Table>
      )}
    </section>
  )
}

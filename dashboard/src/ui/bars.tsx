/** Bar is one of a chart of bars: its name, its length, and what is said about it. */
export interface Bar {
  name: string
  value: number
  text: string
  href?: string
}

/** Bars draws a histogram as a table: who can't see it hears it. */
export function Bars({ caption, bars, columns }: { caption: string; bars: Bar[]; columns: [string, string] }) {
  const most = Math.max(...bars.map((b) => b.value), 0) || 1
  return (
    <table>
      <caption class="hidden">{caption}</caption>
      <thead>
        <tr>
          <th scope="col">{columns[0]}</th>
          <th scope="col" class="number">{columns[1]}</th>
          <td aria-hidden="true" />
        </tr>
      </thead>
      <tbody>
        {bars.map((b) => (
          <tr key={b.name}>
            <td class="id">{b.href ? <a href={b.href}>{b.name}</a> : b.name}</td>
            <td class="number">{b.text}</td>
            <td style={{ width: '50%' }} aria-hidden="true">
              <span class="bar" style={{ width: `${(100 * b.value) / most}%` }} />
            </td>
          </tr>
        ))}
      </tbody>
    </table>
  )
}
